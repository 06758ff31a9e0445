"""Every command and algorithm with nothing compiled but what the package ships, and again.

    python bench/cold.py [word …] [--python PYTHON]

Each runs in fresh processes: cold, with an empty folder for what numba compiles, and warm, with
what the cold run left there. CPU seconds of the process and its children. Words choose the lines whose
names hold one of them; `--python` tries another installation, such as one of the wheel.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SHARED = Path(__file__).resolve().parents[1] / "../shared/data"
MOST = 1.5
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
ADULT = "-s adult.yaml --delimiter ; -q -o {folder}"
PATIENTS = "patients.csv -s patients.yaml --unit row --budget 1000 --budget-delta .1 -e 1"

COMMANDS = {
    "inspect": "inspect adult.csv --delimiter ; -o {folder}.yaml",
    "hierarchy": "hierarchy adult.csv age --rule intervals --width 5 --delimiter ; -o {folder}.csv",
    "compare": "compare adult.csv -s adult.yaml --delimiter ; --ks 5",
    "anonymize, optimal": f"anonymize adult.csv {ADULT} -k 5 --suppression .02",
    "anonymize, optimal, l and t": f"anonymize adult.csv {ADULT} -k 5 -l 2:salary-class "
    "-t .3:salary-class --suppression .02",
    "anonymize, auto": f"anonymize adult.csv {ADULT} -k 5 --algorithm auto",
    "anonymize, local": f"anonymize adult.csv {ADULT} -k 5 --algorithm local",
    "anonymize, local, entropy": f"anonymize adult.csv {ADULT} -k 5 -l 1.5:salary-class:entropy "
    "--algorithm local",
    "anonymize, mondrian": f"anonymize adult.csv {ADULT} -k 5 --algorithm mondrian",
    "anonymize, mondrian, t": f"anonymize adult.csv {ADULT} -k 5 -t .3:salary-class "
    "--algorithm mondrian",
    "anonymize, cluster": "anonymize patients.csv -s patients.yaml -q -o {folder} -k 5 "
    "--algorithm cluster",
    "anonymize, topdown": f"anonymize adult.csv {ADULT} -k 5 --algorithm topdown",
    "anonymize, cells": "anonymize patients.csv -s patients.yaml -q -o {folder} -k 5 "
    "--algorithm cells --suppression .1",
    "anonymize, perturbed": "anonymize patients.csv -s patients.yaml -q -o {folder} -k 5 "
    "--microaggregate age:5 --suppression .1",
    "anonymize, swapped": "anonymize patients.csv -s patients.yaml -q -o {folder} -k 5 "
    "--swap age:.2 --suppression .1",
    "apply": "apply base/policy.yaml patients.csv -s patients.yaml -q -o {folder}",
    "verify": "verify base",
    "loss": "loss patients.csv base/release.csv -s patients.yaml",
    "overlap": "overlap base/release.csv base/release.csv -s patients.yaml",
    "attack": "attack base -s patients.yaml --original patients.csv",
    "audit": "audit trial:noisy_count --epsilon 1 --samples 20000 --processes 1 --seed 1",
    "ask, count": f"ask {PATIENTS} -L {{fresh}} 'SELECT COUNT(*) FROM patients'",
    "ask, average": f"ask {PATIENTS} -L {{fresh}} 'SELECT AVG(age) FROM patients' --bounds age=0,110",
    "histogram": f"histogram patients.csv age -b 0,20,40,60,80,110 {PATIENTS[12:]} -L {{fresh}}",
    "histogram, ordered": f"histogram patients.csv age --ordered 128 --quantiles .25,.5 "
    f"{PATIENTS[12:]} -L {{fresh}} -o {{folder}} --bounds age=0,110",
    "kmeans": f"kmeans patients.csv age -k 3 {PATIENTS[12:]} -L {{fresh}} --bounds age=0,110 -o "
    "{folder}",
    "topk": f"topk patients.csv diagnosis -k 3 {PATIENTS[12:]} -L {{fresh}} --delta 1e-6 -o {{folder}}",
    "synthesize": f"synthesize {PATIENTS} --delta 1e-6 -L {{fresh}} --bounds age=0,110 -o {{folder}}",
    "train, additive": f"train patients.csv sex --classes female,male {PATIENTS[12:]} --delta 1e-6 -L {{fresh}} "
    "--bounds age=0,110 -o {folder}",
    "train, logistic": f"train patients.csv sex -m logistic --classes female,male {PATIENTS[12:]} --delta 1e-6 -L {{fresh}} "
    "--bounds age=0,110 -o {folder}",
    "train, linear": f"train patients.csv salary -m linear --bounds salary=0,200000 {PATIENTS[12:]} --delta 1e-6 -L {{fresh}} "
    "--bounds age=0,110 -o {folder}",
    "cloak": "cloak cabs.csv -k 5 -o {folder}.csv -q",
    "cloak, casper": "cloak cabs.csv -k 5 --method casper -o {folder}.csv -q",
    "cloak, stream": "cloak requests.csv --stream -k 3 --wait 60 "
    "--bounds=-122.52,-122.36,37.70,37.82 -o {folder}.csv -q",
    "cloak, stream, memory": "cloak requests.csv --stream -k 3 --wait 60 --memory "
    "--bounds=-122.52,-122.36,37.70,37.82 -o {folder}.csv -q",
    "sets, k": "anonymize baskets.dat --shape sets -k 5 -o {folder} -q",
    "sets, k²": "anonymize baskets.dat --shape sets --km 5:2 -o {folder} -q",
    "sets, k² local": "anonymize baskets.dat --shape sets --km 5:2 --algorithm local -o {folder} -q",
    "sets, disassociation": "anonymize baskets.dat --shape sets --km 5:2 --algorithm disassociation "
    "-o {folder} -q",
    "trees, k": "anonymize trees.jsonl --shape trees -s trees.yaml -k 5 -o {folder} -q",
    "trees, 3²¹": "anonymize trees.jsonl --shape trees -s trees.yaml --kmn 3:2:1 -o {folder} -q",
    "graph, k-degree": "anonymize friends.edges --shape graph --k-degree 5 -o {folder} -q",
    "graph, groups": "anonymize friends.edges --shape graph --node-k 5:degree -o {folder} -q",
    "traces, k": "anonymize traces.csv --shape trajectories --person cab "
    "--bounds=-122.52,-122.36,37.70,37.82 --km 3:2 -o {folder} -q",
    "traces, k-delta": "anonymize traces.csv --shape trajectories --person cab "
    "--bounds=-122.52,-122.36,37.70,37.82 --k-delta 3:500 -o {folder} -q",
    "sets, verify": "verify base-sets --shape sets",
    "sets, attack": "attack base-sets --shape sets --original baskets.dat",
    "traces, attack": "attack base-traces --shape trajectories --original traces.csv --person cab",
    "trees, verify": "verify base-trees --shape trees -s trees.yaml",
    "explain": "explain laplace -e 1 -o {folder}.html",
    "explain, oue": "explain oue -e 1 --size 8 -o {folder}.html",
    "example": "example {folder} -n 2000",
}
SNIPPETS = {
    "noise, a million": "import numpy as np; from sfumato import dp; "
    "dp.laplace(np.zeros(10**6), sensitivity=1, epsilon=1)",
}
PREPARE = """
import csv, gzip, os, sys
from pathlib import Path
import sfumato as sf
from sfumato.cli import run
shared = Path(sys.argv[1])
def do(line):
    assert not run(line.split()), line
do("example clinic -n 5000")
for path in Path("clinic").iterdir():
    path.rename(path.name)
do("anonymize patients.csv -s patients.yaml -k 5 --suppression .05 -o base -q --seed 1")
Path("trial.py").write_text(
    "import random\\ndef noisy_count(records):\\n"
    "    return len(records) + random.expovariate(1) - random.expovariate(1)\\n")
adult = shared / "adult"
Path("adult.csv").write_bytes((adult / "adult.csv").read_bytes())
lines = ["attributes:"]
for name in sys.argv[2].split(","):
    lines.append(f"  {name}: {{role: quasi, hierarchy: '{adult}/adult_hierarchy_{name}.csv'}}")
lines.append("  salary-class: sensitive")
lines.append("  occupation: insensitive")
Path("adult.yaml").write_text("\\n".join(lines) + "\\n")
baskets = gzip.open(shared / "transactions" / "BMS1.dat.gz", "rt").read().splitlines()
Path("baskets.dat").write_text("\\n".join(baskets[:20000]) + "\\n")
trees = gzip.open(shared / "trees" / "synthea_r4_trees.jsonl.gz", "rt").read()
Path("trees.jsonl").write_text("\\n".join(trees.splitlines()[:200]) + "\\n")
Path("trees.yaml").write_text("attributes:\\n" + "".join(
    f"  {name}: {told}\\n" for name, told in {
        "gender": "quasi", "birth": "{role: quasi, type: date}", "zip": "quasi", "race": "quasi",
        "deceased": "insensitive", "city": "insensitive", "marital": "insensitive",
        "encounters.class": "quasi", "encounters.type": "quasi",
        "encounters.start": "{role: quasi, type: date}", "encounters.conditions": "sensitive",
        "encounters.procedures": "insensitive", "encounters.medications": "insensitive",
    }.items()))
edges = gzip.open(shared / "graphs" / "CA-GrQc.edges.gz", "rt").read()
Path("friends.edges").write_text(edges)
cabs = shared / "trajectories" / "cabs_dataset_20080608_0700_0715.csv"
rows = list(csv.DictReader(cabs.open()))
def write(name, rows, **columns):
    with open(name, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows([row[column] for column in columns.values()] for row in rows)
inside = [r for r in rows if 37.7 < float(r["lat"]) < 37.82 and -122.52 < float(r["lon"]) < -122.36]
inside.sort(key=lambda row: row["timestamp"])
for row in inside:
    row["timestamp"] = row["timestamp"].replace("/", "-")
write("requests.csv", inside, person="user_id", lon="lon", lat="lat", time="timestamp")
write("traces.csv", inside, cab="user_id", lon="lon", lat="lat", time="timestamp")
last = list({row["user_id"]: row for row in inside}.values())
write("cabs.csv", last, person="user_id", lon="lon", lat="lat")
do("anonymize baskets.dat --shape sets --km 5:2 -o base-sets -q")
do("anonymize trees.jsonl --shape trees -s trees.yaml -k 5 -o base-trees -q")
do("anonymize traces.csv --shape trajectories --person cab "
   "--bounds=-122.52,-122.36,37.70,37.82 --k-delta 3:500 -o base-traces -q")
"""


def run(words, folder, python, kept):
    """Return the CPU seconds of one run, and its exit code."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(kept),
        "NUMBA_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "XDG_DATA_HOME": str(folder / "home"),
    }
    with (folder / "said").open("w+") as said:
        begun = subprocess.Popen(
            [python, *words], cwd=folder, env=environment, stdout=said, stderr=said
        )
        _, status, used = os.wait4(begun.pid, 0)
        begun.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        told = said.read()
    if begun.returncode:
        print(f"FAILED with {begun.returncode}: {' '.join(words[:9])}\n{told[-600:]}")
    return used.ru_utime + used.ru_stime, begun.returncode


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--python", default=sys.executable)
    chosen = parser.parse_args()
    lines = {name: ["-m", "sfumato", *shlex.split(line)] for name, line in COMMANDS.items()}
    lines |= {name: ["-c", code] for name, code in SNIPPETS.items()}
    late = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        kept = folder / "prepared"
        run(["-c", PREPARE, str(SHARED.resolve()), ",".join(QUASI)], folder, chosen.python, kept)
        print(f"{'CPU s':30} {'cold':>7} {'warm':>7} {'ratio':>6}")
        for number, (name, words) in enumerate(lines.items()):
            if chosen.words and not any(word in name for word in chosen.words):
                continue
            seconds = []
            for attempt in range(4):  # twice cold, twice warm: the better of both counts
                kept = folder / f"compiled{number}{min(attempt, 1)}"
                own = {"folder": f"made{number}{attempt}", "fresh": f"{number}{attempt}.sqlite"}
                told = [word.format(**own) if "{f" in word else word for word in words]
                seconds.append(run(told, folder, chosen.python, kept))
            cold, warm = min(seconds[:2])[0], min(seconds[2:])[0]
            bad = cold > MOST * warm or any(code for _, code in seconds)
            late += [name] * bad
            note = "  LATE" if bad else ""
            print(f"{name:30} {cold:7.2f} {warm:7.2f} {cold / warm:6.2f}{note}", flush=True)
    if late:
        sys.exit(f"failed, or more than {MOST} times as long: {', '.join(late)}")


if __name__ == "__main__":
    main()
