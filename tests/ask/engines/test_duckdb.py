"""DuckDB passes the conformance kit, by its plan and with the kernel, and reads what it should."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from frames import arrow

from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.plan.dialects import SCHEMA
from sfumato.testing.engines import Bench, all_checks


class PlanOnly(DuckDBEngine):
    """The engine without its kernel."""

    def aggregate(self, request):
        return self.aggregate_by_plan(request)


def maker(engine):
    """Give a function that makes engines of tables."""

    def make(tables):
        first, *others = [(n, t) for n, t in tables.items() if t.private]
        bounds = {f"{n}.{c}": pair for n, t in tables.items() for c, pair in t.bounds.items()}
        return engine.open(
            arrow(first[1]),
            name=first[0],
            person=first[1].person,
            bounds=bounds,
            private={n: (arrow(t), t.person) for n, t in others},
            public={n: arrow(t) for n, t in tables.items() if not t.private},
        )

    return make


def add_rows(engine, name, table):
    """Add rows to the engine's own copy, as to a file that is scanned in place."""
    added = arrow(table)  # noqa: F841 - DuckDB finds it by its name
    cursor = engine._cursor()
    cursor.execute(f'INSERT INTO "{SCHEMA}"."{name}" SELECT * FROM added')


BENCHES = {
    "plan": Bench(maker(PlanOnly), 40, add_rows=add_rows),
    "kernel": Bench(maker(DuckDBEngine), 40, add_rows=add_rows),
}
CHECKS = {
    (path, name): check for path, b in BENCHES.items() for name, check in all_checks(b).items()
}


@pytest.mark.parametrize(("path", "name"), CHECKS, ids=lambda part: part.replace(" ", "_"))
def test_conformance(path, name):
    CHECKS[path, name]()
