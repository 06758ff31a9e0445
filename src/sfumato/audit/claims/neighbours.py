"""Are two data sets neighbours? Decided here, for every pair that is tried.

Contract: ``require_neighbours`` raises unless one data set turns into the other by one step of the
claim's relation. Data sets are sequences, and the rest stays in its order, so that a function
which depends on the order is not accused for a mere shuffle. A pair that is not neighbouring
could refute a true claim; no family, search or user may bring one in.

* A row, a person, a transaction, a tree or an edge is one record: unbounded neighbours differ by
  one record inserted, bounded ones by one record replaced in its place.
* ``Unit("user")`` is all records that agree in that key: those of one value are inserted, or
  replaced by other records with the same value, and no more of them than the unit's limit.
* A group of g such units is up to g of these steps.
* Answers (``inputs="answers"``) are the results of queries of sensitivity 1: each may move by at
  most 1 (and by any direction).

Other units have no one shape as a list; such pairs are the user's word, and the verdict says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.dp.neighbours import (
    Edge,
    Group,
    Neighbours,
    Person,
    PrivacyUnit,
    Row,
    Transaction,
    Tree,
    Unit,
)
from sfumato.errors import ParameterError

RECORD_UNITS = (Row, Person, Transaction, Tree, Edge)


def require_neighbours(
    first: Any, second: Any, relation: Neighbours, *, answers: bool = False
) -> bool:
    """Raise unless the two are neighbours; return whether that could be decided at all."""
    sequences = [records_of(data) for data in (first, second)]
    if answers:
        if not _answers_are_close(first, second):
            raise ParameterError(
                "Two lists of answers are neighbours when they are equally long and no answer "
                "moves by more than 1, and a given pair is not; scale the answers by their "
                "sensitivity."
            )
        return True
    if sequences[0] is None or sequences[1] is None or not decidable(relation.unit):
        return False
    if not are_neighbours(sequences[0], sequences[1], relation):
        raise ParameterError(
            f"A given pair of data sets is not neighbouring under the claim ({relation}): such "
            "neighbours differ by exactly that, and all other records stay in their order. Change "
            "the pair, or the neighbours of the claim."
        )
    return True


def decidable(unit: PrivacyUnit) -> bool:
    """Tell whether neighbours for this unit can be recognised in lists of records."""
    if isinstance(unit, Group):
        return isinstance(unit.unit, RECORD_UNITS)
    return isinstance(unit, (*RECORD_UNITS, Unit))


def records_of(data: Any) -> list[Any] | None:
    """Give the records of a data set, or None where it is no sequence of records."""
    if isinstance(data, np.ndarray):
        return list(data) if data.ndim else None
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return list(data)
    return None


def are_neighbours(first: list[Any], second: list[Any], relation: Neighbours) -> bool:
    """Tell whether one step of the relation leads from one data set to the other."""
    unit = relation.unit
    if isinstance(unit, Unit):
        return _one_unit_apart(first, second, unit, bounded=relation.bounded)
    steps = unit.size if isinstance(unit, Group) else 1
    if relation.bounded:
        if len(first) != len(second):
            return False
        changed = sum(not same(a, b) for a, b in zip(first, second, strict=True))
        return 1 <= changed <= steps
    return 1 <= _insertions(first, second, steps) <= steps


def _insertions(first: list[Any], second: list[Any], most: int) -> int:
    """Count insertions and deletions from one to the other; more than ``most`` gives most + 1.

    What both begin and end with is set aside, and of the table of the longest common subsequence
    only the diagonals that ``most`` steps can reach are filled.
    """
    if abs(len(first) - len(second)) > most:
        return most + 1
    start, shorter = 0, min(len(first), len(second))
    while start < shorter and same(first[start], second[start]):
        start += 1
    end = 0
    while end < shorter - start and same(first[-1 - end], second[-1 - end]):
        end += 1
    a, b = first[start : len(first) - end], second[start : len(second) - end]
    row = {j: j for j in range(min(len(b), most) + 1)}
    for i, x in enumerate(a, start=1):
        above, row = row, {}
        for j in range(max(0, i - most), min(len(b), i + most) + 1):
            steps = [above[j] + 1] if j in above else []
            steps += [row[j - 1] + 1] if j - 1 in row else []
            if j and j - 1 in above and same(x, b[j - 1]):
                steps.append(above[j - 1])
            row[j] = min(steps, default=most + 1)
        if min(row.values()) > most:
            return most + 1
    return min(row[len(b)], most + 1)


def _one_unit_apart(first: list[Any], second: list[Any], unit: Unit, *, bounded: bool) -> bool:
    """Tell whether only the records of one unit differ, and the others stay in their order."""
    rows: dict[Key, tuple[list[Any], list[Any]]] = {}
    for side, data in enumerate((first, second)):
        for record in data:
            rows.setdefault(Key(key_of(record, unit)), ([], []))[side].append(record)
    changed = [key for key, own in rows.items() if not same(own[0], own[1])]
    if len(changed) != 1:
        return False
    own = rows[changed[0]]
    rest = [
        [r for r in data if not same(key_of(r, unit), changed[0].value)] for data in (first, second)
    ]
    few = unit.max_rows is None or max(map(len, own)) <= unit.max_rows
    return few and same(rest[0], rest[1]) and all(own) is bounded


def key_of(record: Any, unit: Unit) -> Any:
    """Give the value by which a record belongs to its unit."""
    if isinstance(record, Mapping) and unit.name in record:
        return record[unit.name]
    if hasattr(record, unit.name):
        return getattr(record, unit.name)
    raise ParameterError(
        f"The claim protects {unit}, so every record needs the key or attribute {unit.name!r}; "
        "pass such records with records= or datasets=."
    )


def same(a: Any, b: Any) -> bool:
    """Tell whether two records are the same, in type too: 1, 1.0 and True are three records."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    return bool(a == b)


class Key:
    """A unit's value as a member of a set, even where it cannot be hashed."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(repr(self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and same(self.value, other.value)


def _answers_are_close(first: Any, second: Any) -> bool:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return False
    return bool(np.abs(a - b).max(initial=0.0) <= 1.0)
