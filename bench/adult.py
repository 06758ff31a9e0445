"""The Adult extract as anonymisation problems, shared by benchmarks and tests on real data."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from sfumato.anonymize.tables.problem import Problem
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable

FOLDER = Path(__file__).resolve().parents[2] / "shared/data/adult"
QUASI = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass",
    "occupation",
)  # fmt: skip


def hierarchy(name):
    with (FOLDER / f"adult_hierarchy_{name}.csv").open() as file:
        return Hierarchy.from_rows(list(csv.reader(file, delimiter=";")), source=name)


def problem(definition, *, quasi=QUASI, suppression=0.0):
    """Return the problem with mean LM per cell as its price."""
    with (FOLDER / "adult.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    hierarchies = tuple(hierarchy(name) for name in quasi)
    quasi_codes = np.array(
        [[h.codes[row[name]] for row in rows] for name, h in zip(quasi, hierarchies, strict=True)],
        dtype=np.int32,
    ).T
    names = definition.sensitive
    values = tuple(tuple(sorted({row[name] for row in rows})) for name in names)
    index = [{v: i for i, v in enumerate(vs)} for vs in values]
    sensitive = np.zeros((len(rows), len(names)), dtype=np.int32)
    for s, name in enumerate(names):
        sensitive[:, s] = [index[s][row[name]] for row in rows]
    distinct, counts = np.unique(np.hstack([quasi_codes, sensitive]), axis=0, return_counts=True)
    table = FrequencyTable(
        quasi, names, np.ascontiguousarray(distinct[:, : len(quasi)]),
        np.ascontiguousarray(distinct[:, len(quasi) :]), counts.astype(np.int64), values,
    )  # fmt: skip
    share = 1 / len(quasi)
    return Problem(
        table, hierarchies, definition,
        costs=tuple(h.loss * share for h in hierarchies),
        suppressed=tuple(np.full(h.size, share) for h in hierarchies),
        suppression_limit=int(suppression * len(rows)),
    )  # fmt: skip
