"""This house beside one before it, of any commit: noise, tables, local recoding, asking.

    python bench/before.py [COMMIT or CHECKOUT] [ROUNDS] [CASE ...]

Each house works in a process of its own, warm, on one thread; they take turns, round by round, the
one that begins changing each time, and every few rounds both are started anew, because where things
lie in memory is worth some per cent. CPU seconds: the least, which other work on the machine touches
least, and the median. Where Python itself is what is paid for, calls are counted too: they are the same in
every run. Only public names, and the one place where questions meet DuckDB, are used, so old
commits can be measured by this very file.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timed_cursor import TimedCursor

HERE = Path(__file__).resolve().parent
COMMIT = "3520734"  # the last one before the house was rebuilt for every shape
ADULT = HERE.parents[1] / "shared" / "data" / "adult"
QUASI = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass",
    "occupation",
)  # fmt: skip
RESTART = 6
"""Rounds after which both processes are started anew."""
QUESTIONS = 20


# -- what one house is asked to do ---------------------------------------------------------------


def noise(kind, scale):
    from sfumato.dp import noise

    sampler = getattr(noise, kind)
    return lambda: [sampler(scale, 2_000_000) for _ in range(5)]


def anonymize(folder, **options):
    import sfumato as sf

    lines = ["attributes:"]
    lines += [f"  {name}: {{role: quasi, hierarchy: {{file: {ADULT}/adult_hierarchy_{name}.csv}}}}"
              for name in QUASI]  # fmt: skip
    schema = Path(folder) / "adult.yaml"
    schema.write_text("\n".join([*lines, "  salary-class: {role: sensitive}"]) + "\n")

    def work():
        people = sf.read(str(ADULT / "adult.csv"), schema=str(schema))
        sf.anonymize(people, sf.KAnonymity(5), **options).verify()

    return work


def session(folder, name, table, unit):
    import sfumato as sf

    places = sorted(set(table["place"]))
    return sf.Session(
        table, unit=unit, budget=sf.ApproxDP(10**6, 1e-3), name="visits",
        bounds={"value": (0, 100)}, keys={"place": places}, ledger=f"{folder}/{name}.sqlite",
    )  # fmt: skip


def asking(folder):
    import numpy as np

    import sfumato as sf

    draw = np.random.default_rng(7)
    rows = 200_000
    table = {
        "person": draw.integers(40_000, size=rows).tolist(),
        "place": [f"place {i}" for i in draw.integers(50, size=rows)],
        "value": draw.normal(50, 20, rows).tolist(),
    }
    unit = sf.Unit("person", groups=5, rows_per_group=3)
    asked, numbers = session(folder, "large", table, unit), iter(range(10**9))
    text = (
        "SELECT place, COUNT(*) AS n, SUM(value) AS s FROM visits WHERE value > {} GROUP BY place"
    )
    return lambda: asked.sql(text.format(next(numbers) / 10**6), epsilon=0.01)


class Questions:
    """Small questions: the CPU time of the asking thread outside DuckDB."""

    def __init__(self, folder, text, unit):
        from sfumato.ask.engines.duckdb import DuckDBEngine

        rows = 200
        table = {
            "person": list(range(rows)),
            "place": [f"place {i % 7}" for i in range(rows)],
            "value": [float(i % 90) for i in range(rows)],
        }
        self.asked, self.text = session(folder, f"small {unit}", table, unit), text
        self.numbers, self.inside = iter(range(10**9)), [0.0]
        cursor = DuckDBEngine._cursor  # noqa: SLF001 - measured from outside
        if not hasattr(cursor, "spent"):
            timed = lambda engine: TimedCursor(cursor(engine), timed.spent)  # noqa: E731 - it has an attribute
            timed.spent = self.inside
            DuckDBEngine._cursor = timed  # noqa: SLF001 - the same
        self.inside = DuckDBEngine._cursor.spent  # noqa: SLF001 - the same

    def ask(self):
        self.asked.sql(self.text.format(next(self.numbers)), epsilon="0.01")

    def seconds(self):
        spent = []
        for _ in range(QUESTIONS):
            self.inside[0], start = 0.0, time.thread_time()
            self.ask()
            spent.append(time.thread_time() - start - self.inside[0])
        return statistics.median(spent)

    def calls(self):
        counted = [0]

        def count(_frame, event, _argument):
            counted[0] += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            self.ask()
        finally:
            sys.setprofile(None)
        return counted[0]


COUNT = "SELECT COUNT(*) AS n FROM visits WHERE value > {}"
GROUPED = (
    "SELECT place, COUNT(*) AS n, SUM(value) AS s FROM visits WHERE value < {} AND value >= 0 "
    "GROUP BY place ORDER BY n DESC"
)


def person():
    import sfumato as sf

    return sf.Unit("person", groups=3, rows_per_group=2)


CASES = {
    "10 M Laplace, scale 10": lambda _: noise("discrete_laplace", 10),
    "10 M Gaussian, σ = 10": lambda _: noise("discrete_gaussian", 100),
    "10 M rounded Gaussian, σ = 10": lambda _: noise("rounded_gaussian", 100),
    "tables": lambda folder: anonymize(folder, suppression=0.05),
    "local": lambda folder: anonymize(folder, algorithm="local"),
    "asking": asking,
    "a question's own cost: a count": lambda folder: Questions(folder, COUNT, "row"),
    "a question's own cost: by a key": lambda folder: Questions(folder, GROUPED, person()),
}


def seconds(work):
    if isinstance(work, Questions):
        return work.seconds()
    start = time.process_time()
    work()
    return time.process_time() - start


def worker():
    """Measure whatever case is named on a line of the input; give it back as a line of JSON."""
    sys.path.pop(0)  # this folder, whose names are not those of the house
    with tempfile.TemporaryDirectory(prefix="sfumato-before-") as folder:
        works = {}
        for line in sys.stdin:
            name = line.strip()
            if name not in works:
                works[name] = CASES[name](folder)
                for _ in range(3):
                    seconds(works[name])
                calls = works[name].calls() if isinstance(works[name], Questions) else None
                print(json.dumps(calls), flush=True)
            else:
                print(json.dumps(seconds(works[name])), flush=True)


# -- two houses, turn by turn ----------------------------------------------------------------------


class House:
    """A process that works with the code of one folder."""

    def __init__(self, source):
        environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}
        environment |= dict.fromkeys(("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(Path(__file__).resolve()), "--work"], text=True,
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def measure(self, case):
        print(case, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def taken_out(commit, folder):
    """Write the source of a commit into a folder; or take a checkout, whose kernels are compiled."""
    if Path(commit).is_dir():
        return Path(commit).resolve() / "src"
    archive = subprocess.run(
        ["git", "-C", str(HERE.parent), "archive", commit, "src"], check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return Path(folder) / "src"


def compare(sources, rounds, cases):
    """Return seconds of each round and calls, by case and house."""
    found = {case: ([], []) for case in cases}
    calls = {}
    for first in range(0, rounds, RESTART):
        houses = [House(source) for source in sources]
        for case in cases:
            calls[case] = [house.measure(case) for house in houses]
        for number in range(first, min(first + RESTART, rounds)):
            for case in cases:
                for which in ((0, 1), (1, 0))[number % 2]:
                    found[case][which].append(houses[which].measure(case))
        for house in houses:
            house.close()
    return found, calls


def main():
    given = sys.argv[1:]
    commit = given.pop(0) if given else COMMIT
    rounds = int(given.pop(0)) if given else 12
    cases = [case for case in CASES if not given or any(word in case for word in given)]
    with tempfile.TemporaryDirectory(prefix="sfumato-before-") as folder:
        sources = (taken_out(commit, folder), HERE.parent / "src")
        found, calls = compare(sources, rounds, cases)
    print(f"CPU ms, {rounds} rounds; before: {commit}\n")
    print(f"{'':<34} {'before':>9} {'now':>9} {'least':>8} {'median':>8}   calls of Python")
    for case, times in found.items():
        least, middle = [min(one) for one in times], [statistics.median(one) for one in times]
        shown = [f"{100 * (now / before - 1):+7.1f}%" for before, now in (least, middle)]
        before, now = calls[case]
        count = f"{before:,} → {now:,} ({100 * (now / before - 1):+.1f}%)" if now else ""
        print(
            f"{case:<34} {1e3 * least[0]:9.2f} {1e3 * least[1]:9.2f} {shown[0]} {shown[1]}   {count}"
        )


if __name__ == "__main__":
    worker() if sys.argv[1:] == ["--work"] else main()
