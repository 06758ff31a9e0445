"""ARX's own test cases on Adult and FARS: the same optimum, and its cost beside ARX's.

Each case of `../shared/data/arx_cases.json` is searched once cold and then measured. Times are CPU
seconds of the search (counting, reading and writing are measured in `tables`); ARX's are wall
seconds of its whole anonymisation, on a busy machine. `python arx_cases.py TCloseness` takes the
cases whose name contains the word.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.likeness import BetaLikeness
from sfumato.anonymize.loss.measures import separable
from sfumato.anonymize.tables.algorithms.full_domain import lattice
from sfumato.anonymize.tables.problem import Problem
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable
from sfumato.errors import Unsatisfiable

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
LONGEST = 5.0
"""CPU seconds no case may take."""

OBJECTIVES = {"NUE": "NUE", "DM*": "DM", "LM (geometric mean)": "LM"}
"""What is minimised here for ARX's objectives. Its DM* squares the sizes of suppressed classes too,
which rewards suppressing; DM charges every suppressed record with the whole table. Its geometric
mean of LM over attributes is 0 as soon as one attribute is left alone; LM is the mean."""

CRITERIA = {
    "k": KAnonymity,
    "distinct": DistinctLDiversity,
    "entropy": EntropyLDiversity,
    "entropy-SHANNON": EntropyLDiversity,
    "recursive": RecursiveLDiversity,
    "beta": BetaLikeness,
    "beta-basic": lambda beta, name: BetaLikeness(beta, name, enhanced=False),
    "t-equal": TCloseness,
    "t-ordered": lambda t, name: TCloseness(t, name, "ordered"),
    "t-hierarchical": lambda t, name: TCloseness(t, name, "hierarchical"),
}


def main():
    cases = [c for c in read_cases() if not sys.argv[1:] or any(w in c["id"] for w in sys.argv[1:])]
    if not cases:
        print(f"No case in {FOLDER / 'arx_cases.json'}; nothing to measure.")
        return
    import numba  # noqa: F401 - warm: with the compiler loaded, kernels run compiled

    print(f"{'case':29} {'objective':9} {'levels':18} {'checked':>12} {'CPU s':>8} {'before':>8} {'ARX s':>7} {'ratio':>6}")  # fmt: skip
    missed = [case["id"] for case in cases if not measure(case)]
    print(f"\n{len(cases) - len(missed)} of {len(cases)} cases: the known optimum, at most {LONGEST:g} s and half of ARX's")  # fmt: skip
    if missed:
        print("missed:", ", ".join(missed))


def read_cases():
    path = FOLDER / "arx_cases.json"
    return json.loads(path.read_text()) if path.exists() else []


def measure(case, repeats=3):
    """Print a case beside ARX; return whether optimum and time are what they should be."""
    stated = problem(case)
    optimum(stated)
    seconds = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        found = optimum(stated)
        spent = time.process_time() - start
        seconds = min(seconds, spent)
        if spent > LONGEST:
            break
    levels, loss, checked, proven = found
    same = levels == case["levels_found"] or equally_good(stated, loss, case["levels_found"])
    arx = case["arx_wall_s"]
    reached = same and proven and seconds <= min(LONGEST, arx / 2 if arx else LONGEST)
    shown = "none holds" if levels is None else ",".join(map(str, levels))
    ratio = f"{arx / seconds:5.1f}×" if arx else ""
    print(f"{case['id']:29} {stated.objective:9} {shown:18} {checked:>12} {seconds:8.3f} {case['ours_cpu_s']:8.3f} {arx or float('nan'):7.2f} {ratio:>6} {'' if reached else 'MISSED' if same else 'ANOTHER OPTIMUM'}", flush=True)  # fmt: skip
    return reached


def optimum(stated):
    """Return levels, loss, nodes evaluated and whether the optimum is proven."""
    try:
        found = lattice.search(stated)
    except Unsatisfiable:
        return None, float("inf"), "", True
    facts = found.record.facts
    checked = f"{facts['checked']}/{facts['nodes']}"
    return list(found.levels), facts["loss"], checked, found.record.proven_optimal


def equally_good(stated, loss, levels):
    """Whether the known levels cost as much as what was found."""
    if levels is None:
        return False
    state = lattice.Lattice(stated)
    evaluation = state.evaluator.evaluate(tuple(levels))
    return abs(state.loss(evaluation) - loss) < 1e-9


@cache
def columns(data):
    """Return the columns of a data set, as arrays of texts."""
    path = FOLDER / data / f"{data}.csv"
    with path.open() if path.exists() else gzip.open(f"{path}.gz", "rt") as file:
        header, *rows = list(csv.reader(file, delimiter=";"))
    return {
        name: np.array(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)
    }


@cache
def hierarchy(data, name):
    with (FOLDER / data / f"{data}_hierarchy_{name}.csv").open() as file:
        return Hierarchy.from_rows(list(csv.reader(file, delimiter=";")), source=name)


def definition(case):
    parts = [CRITERIA[name](*given) for name, *given in case["criteria"]]
    promise = parts[0]
    for part in parts[1:]:
        promise &= part
    return promise


def problem(case):
    """State a case as a problem."""
    promise, data, quasi = definition(case), case["data"], tuple(case["quasi"])
    trees = tuple(hierarchy(data, name) for name in quasi)
    names = promise.sensitive
    values = tuple(sensitive_values(data, name) for name in names)
    codes = [encode(data, name, tree.leaves) for name, tree in zip(quasi, trees, strict=True)]
    codes += [encode(data, name, vs) for name, vs in zip(names, values, strict=True)]
    lines, counts = np.unique(np.stack(codes, axis=1), axis=0, return_counts=True)
    table = FrequencyTable(
        quasi, names, np.ascontiguousarray(lines[:, : len(quasi)]),
        np.ascontiguousarray(lines[:, len(quasi) :]), counts.astype(np.int64), values,
    )  # fmt: skip
    objective = OBJECTIVES[case["objective"]]
    weights = entropies(table) if objective == "NUE" else None
    costs, suppressed = separable("LM" if objective == "DM" else objective, trees, table, weights)
    return Problem(
        table, trees, promise, costs, suppressed, int(case["suppression"] * table.rows + 1e-9),
        {name: hierarchy(data, name) for name in names}, objective=objective,
    )  # fmt: skip


def entropies(table):
    """Return the entropy of each quasi-identifier: ARX adds up bits, we normalise per attribute."""
    found = []
    for column in table.quasi.T:
        counts = np.bincount(column, weights=table.counts)
        shares = counts[counts > 0] / table.rows
        found.append(float(-(shares * np.log(shares)).sum()))
    return found


def sensitive_values(data, name):
    """Return the values that occur, in alphabetical order."""
    return tuple(sorted(set(columns(data)[name])))


@cache
def encode(data, name, values):
    index = {value: i for i, value in enumerate(values)}
    return np.array([index[cell] for cell in columns(data)[name]], dtype=np.int32)


if __name__ == "__main__":
    main()
