"""Attacks: how long they take, and how much of a secret column comes back.

    python bench/attacks.py

Linkage of a release of 100,000 people with a public table of 1,000,000, made once as it is, by
levels and class by class; reconstruction of a secret column from noisy counts; every attack on
one release. CPU time of one thread; the first line of linkage includes compiling nothing (warm).
"""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tempfile
import time
from pathlib import Path

import numpy as np

import sfumato as sf

PUBLIC, RELEASED = 1_000_000, 100_000
GOAL_LINKAGE = 10.0  # CPU seconds, reading the public file included


def people(folder):
    """Write a public table of a million people and the file of those who are in the data."""
    everybody = sf.examples.patients(PUBLIC, seed=5)
    columns = {n: everybody.columns[n] for n in ("name", "age", "zip", "sex", "nationality", "job")}
    public = sf.examples.Example("voters", columns, everybody.schema)
    inside = np.random.default_rng(1).choice(PUBLIC, RELEASED, replace=False)
    chosen = {name: column[inside] for name, column in everybody.columns.items()}
    sample = sf.examples.Example("patients", chosen, everybody.schema)
    sf.examples._write_csv(public.columns, folder / "voters.csv")  # noqa: SLF001 - the writer of examples
    return folder / "voters.csv", sample.write(folder)


def seconds(call):
    start = time.process_time()
    value = call()
    return value, time.process_time() - start


def linkages(folder):
    public, data = people(folder)
    table = sf.read(data, schema=folder / "patients.yaml")
    promise = sf.KAnonymity(5)
    local = sf.anonymize(table, promise, algorithm="mondrian")
    levels = sf.anonymize(table, promise, suppression=0.05)
    local.save(folder / "local", report=False)
    levels.save(folder / "levels", report=False)
    schema = folder / "patients.yaml"
    sf.attack.linkage(data, data, schema=schema)
    print(f"LINKAGE of {RELEASED:,} released records with {PUBLIC:,} people, CPU seconds")
    worst = 0.0
    for name, file in (
        ("as it is", data),
        ("5-anonymous, by levels", folder / "levels"),
        ("5-anonymous, class by class", folder / "local"),
    ):
        found, spent = seconds(lambda file=file: sf.attack.linkage(file, public, schema=schema))
        worst = max(worst, spent)
        print(
            f"  {name:<30} {spent:6.2f} s   expected {found.expected:10,.1f}   certain "
            f"{found.certain:8,}"
        )
    verdict = "reached" if worst <= GOAL_LINKAGE else "NOT REACHED"
    print(f"goal: each within {GOAL_LINKAGE:g} s: {worst:.2f} s, {verdict}")


def main():
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        linkages(Path(name))


if __name__ == "__main__":
    main()
