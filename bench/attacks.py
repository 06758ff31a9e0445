"""Attacks: how long they take, and how much of a secret column comes back.

    python bench/attacks.py

Linkage of a release of 100,000 people with a public table of 1,000,000, made once as it is, by
levels and class by class; reconstruction of a secret column from noisy counts; every attack on
one release. CPU time of one thread, kernels compiled. No other tool in Python offers these attacks
on tables to compare with (Anonymeter attacks synthetic data only, ARX estimates risk).
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


def reconstructions():
    """Share of a random column recovered by errors in units of √n, four queries per person."""
    print("\nRECONSTRUCTION of n random bits from 4n counts: share recovered (CPU seconds)")
    factors = (0.0, 0.2, 0.5, 1.0, 3.0)
    print(
        f"  {'n':>6} " + " ".join(f"{f'±{f:g}√n':>14}" for f in factors) + f" {'ε = 1 in all':>14}"
    )
    for n in (100, 400, 1_000):
        secret = np.random.default_rng(n).integers(0, 2, n)
        cells = []
        for factor in factors:
            curves, spent = seconds(
                lambda f=factor, s=secret, n=n: sf.attack.reconstruction_curves(
                    s, noise=[f * n**0.5], queries=[4 * n]
                )
            )
            cells.append(f"{curves[0].share[0]:.3f} ({spent:.1f} s)")
        mechanism = sf.dp.Geometric(sensitivity=1, epsilon=1 / (4 * n))
        private, spent = seconds(
            lambda s=secret, m=mechanism, n=n: sf.attack.reconstruction(
                lambda mask: float(m.release(int(s[mask].sum()))), n, secret=s
            )
        )
        cells.append(f"{private.figures['share recovered']:.3f} ({spent:.1f} s)")
        print(f"  {n:>6} " + " ".join(f"{cell:>14}" for cell in cells), flush=True)


def prechecks():
    """Every attack on one release, original and public table given."""
    print("\nPRECHECK, every attack that fits, before and after: CPU seconds")
    for n in (2_000, 20_000):
        people = sf.examples.patients(n, seed=2)
        for algorithm in ("optimal", "mondrian", "local"):
            release = sf.anonymize(
                people.columns, sf.KAnonymity(5) & sf.DistinctLDiversity(2, "diagnosis"),
                schema=people.schema, algorithm=algorithm, suppression=0.02,
            )  # fmt: skip
            checked, spent = seconds(
                lambda r=release, p=people: sf.audit.precheck(
                    r, original=p.columns, public=p.columns
                )
            )
            found = f"{len(checked.succeeding)} of {len(checked.tried)} attacks succeed"
            print(f"  {n:>7,} patients, {algorithm:<9} {spent:6.2f} s   {found}", flush=True)


def main():
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        linkages(Path(name))
    reconstructions()
    prechecks()


if __name__ == "__main__":
    main()
