"""Anonymising tables: the optimum and its cost, whole commands, and the rivals in the same run.

Times are CPU seconds of this process (or of the child process), measured warm unless said.
ARX's figures were measured on the same kind of machine, warmed, on one core.
"""

from __future__ import annotations

import csv
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import adult
import rivals
import sfumato
from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.tables.algorithms.full_domain import lattice

RUNS = 10
NINE = (*adult.QUASI, "salary-class")
CASES = (
    ("k=5, no suppression", adult.QUASI, 0.0, "0,4,0,2,3,2,2,1", 0, 0.660842, 0.04),
    ("k=5, at most 5 % suppressed", adult.QUASI, 0.05, "0,3,0,1,2,1,1,1", 1248, 0.261757, 0.68),
    ("9 QIs, no suppression", NINE, 0.0, "0,4,1,1,3,2,2,1,0", 0, 0.635544, 0.05),
    ("9 QIs, at most 5 %", NINE, 0.05, "0,3,0,0,2,1,1,2,0", 1346, 0.269635, 1.4),
)


def main():
    if not adult.FOLDER.exists():
        print(f"Adult is not in {adult.FOLDER}; nothing to measure.")
        return
    optimum()
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as folder:
        whole_commands(Path(folder))
        million_rows(Path(folder))
        others(Path(folder))


def optimum():
    import numba  # noqa: F401 - warm: with the compiler loaded, kernels run compiled

    print("\nOptimal full-domain generalisation on Adult (30,162 rows)")
    print(f"{'case':30} {'levels':18} {'suppr.':>6} {'mean LM':>9} {'checked':>8} {'ours s':>8} {'ARX s':>6} {'ratio':>6}")  # fmt: skip
    for name, quasi, share, levels, suppressed, loss, arx in CASES:
        problem = adult.problem(KAnonymity(5), quasi=quasi, suppression=share)
        seconds, found = best_of(5, lambda p=problem: lattice.search(p))
        rows = int(problem.table.counts[found.suppressed].sum())
        shown = ",".join(map(str, found.levels))
        facts = found.record.facts
        assert (shown, rows, round(facts["loss"], 6)) == (levels, suppressed, loss), (
            "not the optimum"
        )
        checked = f"{facts['checked']}/{facts['nodes']}"
        print(f"{name:30} {shown:18} {rows:6,} {facts['loss']:9.6f} {checked:>8} {seconds:8.4f} {arx:6.2f} {arx / seconds:5.1f}×")  # fmt: skip


def best_of(n, work):
    work()
    best = float("inf")
    for _ in range(n):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def write_schema(folder):
    lines = ["attributes:"]
    for name in adult.QUASI:
        file = adult.FOLDER / f"adult_hierarchy_{name}.csv"
        lines.append(f"  {name}: {{role: quasi, hierarchy: {{file: {file}}}}}")
    lines.append("  salary-class: {role: sensitive}")
    (folder / "adult.yaml").write_text("\n".join(lines) + "\n")


def command(folder, data, *extra, cache=None):
    """Run the command in a fresh process; return wall and CPU seconds and peak memory in GB."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    if cache is not None:
        environment |= {"NUMBA_CACHE_DIR": str(cache / "numba")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", "from sfumato.cli import main; main()", "anonymize", str(data),
         "-s", str(folder / "adult.yaml"), "-k", "5", "-o", str(folder / "out"), "--force", "-q",
         *extra],
        check=True, env=environment,
    )  # fmt: skip
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1e6


def whole_commands(folder):
    """Measure with all that was compiled earlier at hand, by Python and by Numba, and without."""
    write_schema(folder)
    data = adult.FOLDER / "adult.csv"
    cache = folder / "cache"
    print("\nWhole command, fresh process: read, search, write, verify, report")
    for extra, goals in (
        (("--algorithm", "optimal", "--suppression", "0.05"), ("(goal 15)", "(goal 2)")),
        (("--algorithm", "local"), ("", "")),
    ):
        forget_bytecode()
        cold = command(folder, data, *extra, cache=cache)
        runs = [command(folder, data, *extra, cache=cache) for _ in range(RUNS)]
        wall, cpu = (statistics.median(run[i] for run in runs) for i in (0, 1))
        print(f"{extra[1]:8} nothing compiled yet {cold[0]:5.2f} s wall, {cold[1]:5.2f} CPU {goals[0]:9}   warm {wall:5.2f} s wall, {cpu:5.2f} CPU {goals[1]} (median of {RUNS})")  # fmt: skip


def forget_bytecode():
    """Remove what Python compiled of this package; what is installed beside it stays."""
    for found in Path(sfumato.__file__).parent.rglob("__pycache__"):
        for file in found.glob("*.pyc"):
            file.unlink(missing_ok=True)


def million_rows(folder):
    print("\nLarge files of the same kind (Adult resampled, 5 % of cells redrawn)")
    print(f"{'rows':>10} {'case':28} {'wall s':>7} {'CPU s':>6} {'GB':>5}   beside")
    for n in (1_000_000, 10_000_000):
        data = folder / f"{n}.csv"
        make_rows(n, data)
        base_wall, base_cpu = duckdb_alone(data, folder)
        for share in ("0", "0.05"):
            start = time.process_time()
            seconds = in_process(folder, data, float(share))
            cpu = time.process_time() - start
            wall, whole_cpu, memory = command(folder, data, "--suppression", share, "--no-report")
            arx = "ARX 1.8–2.9 CPU s" if n == 1_000_000 else "ARX 18–20 CPU s"
            goal = "" if n == 1_000_000 else " (goal 2×)"
            print(f"{n:10,} CSV in, search {share:>4}, CSV out {seconds:7.2f} {cpu:6.2f}         {arx}")  # fmt: skip
            print(f"{n:10,} {'whole command, verified':28} {wall:7.2f} {whole_cpu:6.2f} {memory:5.2f}   DuckDB alone {base_wall:.2f} wall, {base_cpu:.2f} CPU: {wall / base_wall:.2f}×{goal}")  # fmt: skip
        data.unlink()


def in_process(folder, data, share):
    """Anonymise without imports, verification and report; return wall seconds."""
    import sfumato as sf

    start = time.perf_counter()
    table = sf.read(data, schema=folder / "adult.yaml")
    release = sf.anonymize(table, KAnonymity(5), suppression=share)
    release.rows.write_csv(folder / "plain.csv", ";")
    return time.perf_counter() - start


def make_rows(n, path):
    generator = np.random.default_rng(1)
    with (adult.FOLDER / "adult.csv").open() as file:
        header, *rows = list(csv.reader(file, delimiter=";"))
    original = np.array(rows, dtype=object)
    engine = duckdb.connect()
    engine.execute("SET enable_progress_bar = false").fetchall()
    picked = generator.integers(0, len(rows), n)
    columns, joins, names = {}, [], []
    for c, name in enumerate(header):
        values, codes = np.unique(original[:, c], return_inverse=True)
        column = codes[picked]
        again = generator.random(n) < 0.05
        column[again] = codes[generator.integers(0, len(rows), int(again.sum()))]
        columns[f"c{c}"] = column.astype(np.int32)
        engine.register(f"v{c}", {"i": np.arange(len(values)), "v": values.astype(object)})
        joins.append(f"JOIN v{c} ON v{c}.i = r.c{c}")
        names.append(f'v{c}.v AS "{name}"')
    engine.register("r", columns)
    engine.execute(
        f"COPY (SELECT {', '.join(names)} FROM r {' '.join(joins)}) TO '{path}' "
        "(HEADER, DELIMITER ';')"
    ).fetchall()
    engine.close()


def duckdb_alone(data, folder):
    """Read the file, group it by the quasi-identifiers and write it back, with DuckDB only."""
    engine = duckdb.connect()
    engine.execute("SET enable_progress_bar = false").fetchall()
    quasi = ", ".join(f'"{name}"' for name in adult.QUASI)
    scan = f"read_csv('{data}', delim=';', header=true, all_varchar=true)"
    wall, cpu = time.perf_counter(), time.process_time()
    engine.execute(f"CREATE TABLE t AS SELECT * FROM {scan}").fetchall()
    engine.execute(f"SELECT {quasi}, count(*) FROM t GROUP BY ALL").fetchnumpy()
    engine.execute(f"COPY t TO '{folder / 'back.csv'}' (HEADER, DELIMITER ';')").fetchall()
    engine.close()
    return time.perf_counter() - wall, time.process_time() - cpu


def mean_loss(path, total):
    """Mean LM of a table some other program released; a missing record counts 1 per cell."""
    prices = {}
    for name in adult.QUASI:
        h = adult.hierarchy(name)
        prices[name] = {
            h.label(i, v): float(h.loss[i, v]) for i in range(h.size) for v in range(h.height)
        }
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    lost = sum(prices[name].get(row[name], 1.0) for row in rows for name in adult.QUASI)
    return (lost / len(adult.QUASI) + total - len(rows)) / total


def others(folder):
    print("\nRivals from PyPI on the same data and promise (k=5)")
    canon = rivals.python_with("anjana", "anjana", "pycanon")
    crowd = rivals.python_with("crowds", "crowds")
    quasi = ",".join(adult.QUASI)
    for name, python, script, share in (
        ("anjana (Datafly), no suppression", canon, "anjana_k.py", 0),
        ("anjana (Datafly), 5 %", canon, "anjana_k.py", 0.05),
        ("crowds (OLA), no suppression", crowd, "crowds_ola.py", 0),
    ):
        target = folder / "rival.csv"
        answer = rivals.ask(python, script, adult.FOLDER, quasi, share, target, seconds=90)
        if isinstance(answer, str):
            print(f"{name:36} {answer}")
        else:
            print(f"{name:36} mean LM {mean_loss(target, 30_162):.4f}, {answer['rows']:,} rows, {answer['seconds']:.1f} CPU s")  # fmt: skip
    checking(folder, canon, quasi)


def checking(folder, python, quasi):
    import sfumato as sf

    command(folder, adult.FOLDER / "adult.csv", "--suppression", "0.05", "--no-report")
    path = folder / "out" / "release.csv"
    seconds, found = best_of(3, lambda: sf.verify(path, folder / "adult.yaml"))
    print(f"\nChecking a release: ours {seconds:.3f} CPU s, k={found.found['k']:.0f}, t={found.found['t (equal) of salary-class']:.4f}")  # fmt: skip
    answer = rivals.ask(python, "pycanon_check.py", path, quasi, "salary-class")
    if isinstance(answer, str):
        print(f"pycanon: {answer}")
    else:
        print(f"pycanon {answer['seconds']:.3f} CPU s, {answer['found']}")


if __name__ == "__main__":
    main()
