"""Small random trees, and the plainest checks: every permutation, every combination."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, permutations

import sfumato as sf

SCHEMA = sf.Schema(
    quasi={
        "town": sf.Hierarchy.tree({"*": {"north": ["a", "b"], "south": ["c", "d"]}}),
        "visits.ward": sf.Hierarchy.tree({"*": {"in": ["1", "2"], "out": ["3"]}}),
        "visits.drugs": sf.Hierarchy.tree({"*": {"strong": ["x", "y"], "weak": ["z"]}}),
    },
    sensitive=["visits.illness"],
    insensitive=["visits.tests"],
)


def random_records(seed, most=9):
    chance = random.Random(seed)

    def visit():
        return {
            "ward": chance.choice("123"),
            "illness": chance.choice(["flu", "cold", "cough", "gout"]),
            "drugs": [chance.choice("xyz") for _ in range(chance.randint(0, 2))],
            "tests": [chance.choice("pq") for _ in range(chance.randint(0, 1))],
        }

    records = [
        {
            "name": f"person {number}",
            "town": chance.choice("abcd"),
            "visits": [visit() for _ in range(chance.randint(0, 3))],
        }
        for number in range(chance.randint(4, most))
    ]
    records[0]["visits"].append(visit())
    records[0]["visits"][0]["drugs"].append("x")
    records[0]["visits"][0]["tests"].append("p")
    return records


def known(record):
    """What others may know of a record."""
    visits = record.get("visits") or []
    loose = record.get("visits.drugs") or []
    shown = [(v.get("ward"), v.get("drugs") or [], len(v.get("tests") or [])) for v in visits]
    return record.get("town"), shown, loose


def same(a, b):
    """Isomorphic, found by trying every order of the children."""
    (town, visits, loose), (other, theirs, also) = known(a), known(b)
    if town != other or len(visits) != len(theirs) or sorted(loose) != sorted(also):
        return False
    return any(
        all(
            x[0] == y[0] and x[2] == y[2] and sorted(x[1]) == sorted(y[1])
            for x, y in zip(visits, order, strict=True)
        )
        for order in permutations(theirs)
    )


def classes(records):
    found = []
    for record in records:
        home = next((group for group in found if same(group[0], record)), None)
        if home is None:
            found.append([record])
        else:
            home.append(record)
    return found


def illnesses_by_likeness(group):
    """Illnesses at visits that look alike, over all members of a class."""
    found = {}
    for record in group:
        for visit in record["visits"] or []:
            look = (visit["ward"], tuple(sorted(visit["drugs"])), len(visit["tests"]))
            found.setdefault(look, []).append(visit["illness"])
    return found


def points(record):
    """(label, vertex, vertices above); the root is vertex 0."""
    found = [(("town", record["town"]), 0, ())]
    vertex = 0
    for visit in record.get("visits") or []:
        vertex += 1
        here = vertex
        found.append((("ward", visit["ward"]), here, (0,)))
        for drug in visit.get("drugs") or []:
            vertex += 1
            found.append((("drug", drug), vertex, (0, here)))
    for drug in record.get("visits.drugs") or []:
        vertex += 1
        found.append((("drug", drug), vertex, (0,)))
    return found


def fact_sets(record, m, n):
    """Every set of at most m labels with at most n relations that a record shows."""
    found = set()
    mine = points(record)
    for size in range(1, m + 1):
        for chosen in combinations(mine, size):
            chosen = sorted(chosen)  # noqa: PLW2901 - only its order
            labels = tuple(p[0] for p in chosen)
            holds = [
                (i, j)
                for i, j in combinations(range(size), 2)
                if chosen[i][1] == chosen[j][1]
                or chosen[i][1] in chosen[j][2]
                or chosen[j][1] in chosen[i][2]
            ]
            for count in range(min(n, len(holds)) + 1):
                found.update((labels, renamed(labels, r)) for r in combinations(holds, count))
    return found


def renamed(labels, relations):
    """The relations in one writing, by trying every order of equal labels."""
    orders = [o for o in permutations(range(len(labels)))
              if all(labels[i] == labels[j] for i, j in enumerate(o))]  # fmt: skip
    return min(tuple(sorted(tuple(sorted((o[a], o[b]))) for a, b in relations)) for o in orders)


def least_support(records, m, n):
    counted = Counter(fact for record in records for fact in fact_sets(record, m, n))
    return min(counted.values(), default=None)


def cheapest_matching(costs):
    """The least total of one entry per row and column, by trying all."""
    rows, columns = len(costs), len(costs[0])
    return min(
        sum(costs[i][j] for i, j in enumerate(chosen))
        for chosen in permutations(range(columns), rows)
    )
