"""What each family of algorithms loses and costs: Adult, and a million rows of the same kind.

Run with NUMBA_NUM_THREADS=1. CPU seconds are of the second run, when the kernels are
compiled. The million is Adult resampled, with values exchanged between records so that the
distinct tuples grow with it.
"""

from __future__ import annotations

import csv
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

import adult
import rivals
from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.diversity import DistinctLDiversity, EntropyLDiversity
from sfumato.anonymize.tables.algorithms.bottom_up.clustering import cluster
from sfumato.anonymize.tables.algorithms.cell_suppression import suppress_cells
from sfumato.anonymize.tables.algorithms.top_down.mondrian import partition
from sfumato.anonymize.tables.algorithms.top_down.specialization import specialize

FAMILIES = {
    "mondrian, strict": partition,
    "mondrian, relaxed": lambda p: partition(p, strict=False),
    "cluster": cluster,
    "topdown, loss": specialize,
    "topdown, fewest children": lambda p: specialize(p, steps="fewest-children"),
    "topdown, full-domain": lambda p: specialize(p, scope="full-domain"),
    "cells": suppress_cells,
}
SALARY = "salary-class"
DEFINITIONS = (
    KAnonymity(5),
    KAnonymity(5) & DistinctLDiversity(2, SALARY),
    KAnonymity(5) & EntropyLDiversity(1.5, SALARY),
    KAnonymity(5) & TCloseness(0.2, SALARY),
)


def with_ranges(problem):
    """Return the problem with age released as any range instead of a node of its tree."""
    hierarchies = tuple(
        replace(h, ordered=name == "age")
        for name, h in zip(problem.table.quasi_names, problem.hierarchies, strict=True)
    )
    return replace(problem, hierarchies=hierarchies)


def million(problem, rows=1_000_000, exchanged=1.0, seed=0):
    """Return a problem of `rows` records: Adult resampled, values exchanged at random."""
    rng = np.random.default_rng(seed)
    table = problem.table
    records = np.repeat(np.arange(table.distinct), table.counts)
    chosen = rng.choice(records, rows)
    quasi = table.quasi[chosen].copy()
    for a, name in enumerate(table.quasi_names):
        moved = rng.random(rows) < exchanged * (1.0 if name == "age" else 0.25)
        quasi[moved, a] = table.quasi[rng.choice(records, int(moved.sum())), a]
    tuples, counts = np.unique(quasi, axis=0, return_counts=True)
    return replace(
        problem,
        table=replace(
            table,
            quasi=np.ascontiguousarray(tuples, dtype=np.int32),
            sensitive=np.zeros((len(tuples), 0), dtype=np.int32),
            counts=counts.astype(np.int64),
        ),
    )


def measure(run, problem):
    """Return mean loss, classes and CPU seconds of one run."""
    before = time.process_time()
    recoding = run(problem)
    seconds = time.process_time() - before
    classes = getattr(recoding, "classes", None)
    if classes is None:
        keys = [
            h.levels[problem.table.quasi[:, a], recoding.levels[a]]
            for a, h in enumerate(problem.hierarchies)
        ]
        classes = len(np.unique(np.stack(keys), axis=1).T)
    return recoding.record.facts["loss"], classes, seconds


def show(title, rows):
    print(f"\n{title}\n{'':34}{'mean LM':>10}{'classes':>10}{'CPU s':>10}")
    for name, (loss, classes, seconds) in rows:
        print(f"{name:34}{loss:>10.4f}{classes:>10,}{seconds:>10.2f}")


def rival_mondrian():
    """Price anonypy's partition on the same hierarchies: by common ancestors, and as sets."""
    python = rivals.python_with("anonypy", "anonypy", "pandas")  # which it does not ask for
    found = rivals.ask(
        python, "anonypy_mondrian.py", adult.FOLDER / "adult.csv", 5, ",".join(adult.QUASI),
        seconds=600,
    )  # fmt: skip
    if isinstance(found, str):
        print(f"\nanonypy (Mondrian): {found}")
        return
    with (adult.FOLDER / "adult.csv").open() as file:
        records = list(csv.DictReader(file, delimiter=";"))
    part = np.array(found["part"])
    by_tree = by_set = 0.0
    order = np.argsort(part, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
    for name in adult.QUASI:
        h = adult.hierarchy(name)
        leaf = np.array([h.codes[record[name]] for record in records])
        for block in blocks:
            leaves = leaf[block]
            by_tree += h.loss[leaves, h.common_level(leaves)].sum()
            spread = np.ptp(leaves) if name == "age" else len(np.unique(leaves)) - 1
            by_set += len(leaves) * spread / (h.size - 1)
    cells = len(records) * len(adult.QUASI)
    show(
        "anonypy, k = 5",
        [
            ("anonypy, common ancestors", (by_tree / cells, len(blocks), found["seconds"])),
            ("anonypy, sets and ranges", (by_set / cells, len(blocks), found["seconds"])),
        ],
    )


def main():
    if not adult.FOLDER.exists():
        sys.exit(f"The Adult data is not in {adult.FOLDER}; nothing was measured.")
    warm = adult.problem(KAnonymity(5) & DistinctLDiversity(2, SALARY))
    for run in FAMILIES.values():
        run(warm)
    for definition in DEFINITIONS:
        problem = adult.problem(definition)
        rows = [(name, measure(run, problem)) for name, run in FAMILIES.items()]
        ranges = with_ranges(problem)
        rows += [
            (f"{name}, ranges of age", measure(FAMILIES[name], ranges))
            for name in ("mondrian, strict", "mondrian, relaxed")
        ]
        show(f"Adult, {definition}", rows)
    rival_mondrian()
    large = million(adult.problem(KAnonymity(5)))
    rows = [(name, measure(run, large)) for name, run in FAMILIES.items()]
    show(f"{large.rows:,} rows, {large.table.distinct:,} distinct tuples, 5-anonymity", rows)


if __name__ == "__main__":
    main()
