"""The kit itself: the reference passes it, broken engines fail it, excuses need a reason."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from chance import seeds

sys.path.insert(0, str(Path(__file__).parent))

from test_duckdb import PlanOnly, add_rows, maker

from sfumato.ask.language.request import GroupsBound, RowBound, RowsBound
from sfumato.ask.plan.relations import Relations
from sfumato.testing import check_engine, engine_rules, engines, reference_engine
from sfumato.testing.engine_joins import rows_added_later_multiply_nothing
from sfumato.testing.engine_random import random_cases
from sfumato.testing.engines import Bench
from sfumato.testing.reference_engine import ReferenceEngine

EXCUSED = {
    "facts are those of the tables": "the reference does not look for rows that repeat",
    "what is not covered is refused": "the reference computes whatever it is asked",
    "messages hold no cell": "the reference has no messages of its own",
}


def test_the_reference_passes():
    found = check_engine(ReferenceEngine, examples=2, notimpl=EXCUSED)
    assert len(found.passed) >= 40
    assert found.requests > 100


class OneGroupLess(ReferenceEngine):
    """Keeps k − 1 groups."""

    def aggregate(self, request):
        bound = request.bound
        if isinstance(bound, GroupsBound) and bound.groups > 1:
            request = type(request)(
                **{**vars(request), "bound": GroupsBound(bound.groups - 1, bound.rows)}
            )
        return super().aggregate(request)


class Saltless(ReferenceEngine):
    """Chooses by a salt of its own."""

    def aggregate(self, request):
        return super().aggregate(type(request)(**{**vars(request), "salt": b"fixed"}))


class Forgetful(ReferenceEngine):
    """Gives 0 for every total."""

    def aggregate(self, request):
        found = super().aggregate(request)
        return type(found)(
            found.keys, found.people, tuple(t * 0 for t in found.totals), found.spread
        )


class Unbounded(ReferenceEngine):
    """Keeps everything."""

    def aggregate(self, request):
        if not isinstance(request.bound, RowBound):
            request = type(request)(**{**vars(request), "bound": RowsBound(10**9)})
        return super().aggregate(request)


class Twice(ReferenceEngine):
    """Gives a group twice."""

    def aggregate(self, request):
        f = super().aggregate(request)
        return type(f)(
            f.keys * 2, np.tile(f.people, 2), tuple(np.tile(t, 2) for t in f.totals),
            tuple(np.tile(s, 2) for s in f.spread),
        )  # fmt: skip


class Careless(ReferenceEngine):
    """Has a fingerprint that never changes."""

    def fingerprint(self):
        return "always"


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (OneGroupLess, "differ from the reference"),
        (Saltless, "differ from the reference"),
        (Forgetful, "differ from the reference"),
        (Unbounded, "differ from the reference"),
        (Twice, "a group must be given once"),
        # which passes all checks before that one: another test runs that one alone
        pytest.param(Careless, "the fingerprint misses new rows", marks=pytest.mark.soak),
    ],
)
def test_broken_engines_fail(broken, why):
    with pytest.raises(AssertionError, match=why):
        check_engine(broken, examples=3, notimpl=EXCUSED)


def test_the_same_groups_for_everybody_are_noticed(monkeypatch):
    """Even where the reference chooses badly too: the rules need no reference."""
    everybody = reference_engine.person_numbers(b"", "everybody")
    monkeypatch.setattr(reference_engine, "person_numbers", lambda salt, person: everybody)
    rules = engine_rules.RULES
    for name in ("groups", "rows"):
        with pytest.raises(AssertionError, match="not chosen evenly"):
            rules[f"not the same {name} for everybody"](Bench(ReferenceEngine))


def test_public_rows_that_multiply_private_ones_are_noticed(monkeypatch):
    """As where uniqueness is remembered from the opening and not asserted in the statement."""
    bench = Bench(maker(PlanOnly), add_rows=add_rows)
    rows_added_later_multiply_nothing(bench)
    monkeypatch.setattr(Relations, "_at_most", lambda self, most, public, relation: public)
    with pytest.raises(AssertionError, match="multiply private rows"):
        rows_added_later_multiply_nothing(bench)


def test_excuses_need_a_reason_and_must_be_true(monkeypatch):
    name = "the fingerprint follows the rows"
    whole = engines.all_checks
    monkeypatch.setattr(engines, "all_checks", lambda bench: {name: whole(bench)[name]})
    excused = {name: "the store keeps no versions"}
    found = check_engine(Careless, notimpl=excused)
    assert (found.passed, found.notimpl) == ((), excused)
    with pytest.raises(AssertionError, match="the fingerprint misses new rows"):
        check_engine(Careless)
    assert check_engine(ReferenceEngine).passed == (name,)
    with pytest.raises(AssertionError, match="no reason"):
        check_engine(Careless, notimpl={name: " "})
    with pytest.raises(AssertionError, match="no check"):
        check_engine(Careless, notimpl={"flying": "it cannot"})
    with pytest.raises(AssertionError, match="does not belong in notimpl"):
        check_engine(ReferenceEngine, notimpl=excused)


@seeds(100, few=4)
def test_random_tables_and_requests(seed):
    """Other tables beside the fixed ones of the kit."""
    tables, requests = random_cases(4, 1 + seed)
    bench = Bench(maker(PlanOnly))
    pair = bench.pair("random", tables)
    for request in requests:
        bench.agree(request, pair)
