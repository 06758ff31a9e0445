"""A small made-up table of visits, and an engine that fails when it is told to."""

from __future__ import annotations

import pandas as pd

import sfumato as sf

COUNT = "SELECT COUNT(*) FROM visits"
BOUNDS = {"cost": (0, 10)}
KEYS = {"ward": ["north", "south"]}


def visits(people=40, each=3):
    """Every person has the same visits; costs are 0 to 9."""
    rows = [
        (f"p{person:03}", ("north", "south")[visit % 2], (person + visit) % 10, 20 + person)
        for person in range(people)
        for visit in range(each)
    ]
    return pd.DataFrame(rows, columns=["person", "ward", "cost", "age"])


def session(source=None, **given):
    """Open a session on the visits with a pure budget of 10, unless other things are given."""
    facts = {"unit": "row", "budget": sf.PureDP(10), "name": "visits", "public_types": True}
    if "limits" in given:
        del facts["budget"]
    if not given.pop("bare", False):
        facts |= {"bounds": BOUNDS, "keys": KEYS}
    return sf.Session(visits() if source is None else source, **{**facts, **given})


class Failing:
    """An engine that holds what another holds and fails when it is asked, quoting a cell."""

    dialect = "duckdb"

    def __init__(self, engine, error=RuntimeError):
        self.engine, self.error, self.asked = engine, error, 0

    def tables(self):
        return self.engine.tables()

    def fingerprint(self):
        return self.engine.fingerprint()

    def aggregate(self, request):
        self.asked += 1
        raise self.error("could not convert string 'p007 has measles' to INT32")


def charges(one):
    """Count the charges in the ledger of a session."""
    return sum(entry.kind == "charged" for entry in one.ledger.entries())
