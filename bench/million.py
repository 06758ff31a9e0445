"""Attacks and the page of a release of a million rows, beside reading and grouping the files.

    python bench/million.py

`precheck` with and without the original people, linkage alone, and the report, each beside what
DuckDB takes to read the same files and group them by the columns that are judged. CPU time of one
thread, kernels compiled. The goal is twice the time of reading and grouping.
"""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import tempfile
import time
from pathlib import Path

import duckdb

import sfumato as sf
from sfumato.report.release_page import write_report

ROWS = 1_000_000
GOAL = 2.0
COLUMNS = ("age", "zip", "sex", "nationality", "job", "diagnosis", "salary")


def main():
    rows = int(sys.argv[1]) if sys.argv[1:] else ROWS
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        measure(Path(name), rows)


def measure(folder, rows):
    """Print each task beside reading and grouping."""
    data = sf.examples.patients(rows, seed=5).write(folder)
    schema = folder / "patients.yaml"
    table = sf.read(data, schema=schema)
    release = sf.anonymize(table, sf.KAnonymity(5), suppression=0.05)
    saved = folder / "release"
    release.save(saved, report=False)
    after, before = group(saved / "release.csv"), group(data)
    print(f"{rows:,} rows; read and grouped: the release {after:.2f} s, the data {before:.2f} s")
    tasks = {
        "precheck": (after, lambda: sf.attack.precheck(saved, schema=schema)),
        "precheck with the original": (
            after + before,
            lambda: sf.attack.precheck(saved, schema=schema, original=data),
        ),
        "linkage with the original": (
            after + before,
            lambda: sf.attack.linkage(saved, data, schema=schema),
        ),
        "report, verification included": (
            after + before,
            lambda: write_report(release, folder / "report.html"),
        ),
    }
    for name, (base, task) in tasks.items():
        spent = cpu(task)
        verdict = "reached" if spent <= GOAL * base else "NOT REACHED"
        print(f"  {name:<32} {spent:6.2f} s   {spent / base:4.1f} ×   {verdict}", flush=True)


def group(path):
    """Return the CPU seconds of reading a file and counting its distinct lines."""

    def count():
        engine = duckdb.connect()
        engine.execute("SET threads = 1")
        engine.execute(
            f"SELECT {', '.join(COLUMNS)}, count(*) FROM read_csv('{path}', all_varchar = true) "
            "GROUP BY ALL"
        ).fetchnumpy()

    return cpu(count)


def cpu(task):
    """Return the CPU seconds of the second of two runs."""
    task()
    start = time.process_time()
    task()
    return time.process_time() - start


if __name__ == "__main__":
    main()
