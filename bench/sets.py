"""Baskets, clicks and mixed records: loss and CPU seconds beside what rivals reach.

    python bench/sets.py

k = 5, the fan-out-5 hierarchy over sorted item ids, NCP; CPU seconds of one thread for the search
alone (files are read before, and losses measured after), each in a process of its own, so that memory can be told. A deleted
item counts 1 in the NCP; what share of items is deleted stands beside it. Amnesia and He–Naughton delete nothing. The rivals'
figures are Amnesia 1.4.0's and those of a plain He–Naughton, measured on a machine like this one;
Amnesia does not finish k² of retail in 1,500 s.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sfumato as sf
from sfumato.anonymize.run import choose_algorithm
from sfumato.shape import find_shape

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared/data"
TINY = [[str((i * j) % 11) for j in range(1, 9)] for i in range(1, 25)]


def km(m):
    return sf.KmAnonymity(5, m=m)


CASES = (
    # name, data, promise, options, rival, loss to reach, seconds to reach
    ("k² global", "BMS1", km(2), {"algorithm": "global"}, "Amnesia .0400, 16 s", 0.026, 3),
    ("k² global, no deletion", "BMS1", km(2), {"algorithm": "global", "deletion": False}, "", None, 3),
    ("k² local", "BMS1", km(2), {"algorithm": "local"}, "Amnesia .0400, 16 s", 0.015, 3),
    ("k² merging, no hierarchy", "BMS1", km(2), {"algorithm": "merging"}, "", None, None),
    ("k³ global", "BMS1", km(3), {"algorithm": "global"}, "Amnesia .1081, 16 s", 0.06, 15),
    ("k² global", "BMS2", km(2), {"algorithm": "global"}, "Amnesia .0206, 97 s, 1.3 GB", 0.0165, 15),
    ("k² global", "retail", km(2), {"algorithm": "global"}, "Amnesia: not in 1,500 s", None, 60),
    ("k² local", "retail", km(2), {"algorithm": "local"}, "Amnesia: not in 1,500 s", None, 60),
    ("full k", "BMS1", sf.KAnonymity(5), {"algorithm": "partition"}, "He–Naughton .0413, 6 s", 0.037, 1),
    ("full k", "BMS2", sf.KAnonymity(5), {"algorithm": "partition"}, "He–Naughton .0565, 9 s", 0.051, 2),
    ("full k", "retail", sf.KAnonymity(5), {"algorithm": "partition"}, "He–Naughton .0575, 60 s", 0.052, 8),
    ("full k", "T10I4D100K", sf.KAnonymity(5), {"algorithm": "partition"}, "He–Naughton .0977, 66 s", 0.088, 8),
    ("disassociation", "BMS1", km(2), {"algorithm": "disassociation"}, "unrefined 66 % kept, 7 s", 0.15, 5),
    ("disassociation", "retail", km(2), {"algorithm": "disassociation"}, "unrefined 25 % kept, 140 s", 0.5, 30),
    ("(k, k²)", "MovieLens", sf.KAnonymity(5) & sf.KmAnonymity(5, m=2, attribute="films"), {}, "none", None, 30),
)  # fmt: skip


def movies():
    """People with what they rated: rows of age, sex, occupation and postcode, and films."""
    seen = defaultdict(list)
    with gzip.open(DATA / "hybrid/ml100k_u.data.gz", "rt") as lines:
        for line in lines:
            person, film, *_ = line.split()
            seen[person].append(film)
    with gzip.open(DATA / "hybrid/ml100k_u.user.gz", "rt") as lines:
        rows = [line.strip().split("|") for line in lines]
    rows = [row for row in rows if row[0].isdigit()]
    names = ("age", "sex", "occupation", "zip")
    table = {name: [row[i + 1] for row in rows] for i, name in enumerate(names)}
    table["films"] = ["|".join(seen[row[0]]) for row in rows]
    kinds = dict.fromkeys(names, "quasi") | {"films": {"role": "quasi", "type": "set"}}
    return sf.read(table, schema=sf.Schema(attributes=kinds))


def read(name):
    if name == "MovieLens":
        return movies()
    return sf.read(DATA / f"transactions/{name}.dat.gz", shape="sets", hierarchy=5)


def run_case(number):
    """Run one case in this process, compiled beforehand on a tiny one; print JSON."""
    _, name, promise, options, *_ = CASES[number]
    if name != "MovieLens":
        tiny = sf.read(TINY, shape="sets", hierarchy=2)
        sf.anonymize(tiny, promise, **options).verify()
    data = read(name)
    wanted = dict(options)
    form = find_shape(data.shape)
    _, search = choose_algorithm(form, wanted.pop("algorithm", None))
    start = time.process_time()
    decision = search(data, promise, **wanted)
    seconds = time.process_time() - start
    from sfumato.anonymize.run import assemble

    release = assemble(form, data, promise, decision, algorithm="bench")
    start = time.process_time()
    checked = release.verify()
    found = {
        "seconds": seconds,
        "verify": time.process_time() - start,
        "holds": checked.holds,
        "loss": dict(release.loss),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(found))


def main():
    print(f"{'task':26} {'data':11} {'loss':>7} {'CPU s':>6} {'verify':>6} {'MB':>5}  rival; goal")
    for number, (task, name, _, _, rival, goal, limit) in enumerate(CASES):
        done = subprocess.run(
            [sys.executable, __file__, str(number)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(f"{task:26} {name:11} FAILED {done.stderr[-300:]}")
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        first, loss = next(iter(found["loss"].items()))
        told = []
        if goal is not None:
            told.append(f"{'reached' if loss <= goal else 'MISSED'} (≤ {goal})")
        if limit is not None:
            told.append(f"{'in time' if found['seconds'] <= limit else 'LATE'} (≤ {limit} s)")
        verdict = "verified" if found["holds"] else "NOT VERIFIED"
        extra = "" if first == "NCP" else f"; {first}"
        extra += "".join(
            f", {key} {value:.3f}"
            for key, value in found["loss"].items()
            if key in {"deleted", "links cut", "pair error", "row NCP", "query error"}
        )
        print(
            f"{task:26} {name:11} {loss:7.4f} {found['seconds']:6.2f} {found['verify']:6.2f} "
            f"{found['memory']:5.0f}  {rival}; {', '.join(told)}; {verdict}{extra}",
            flush=True,
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run_case(int(sys.argv[1]))
    else:
        main()
