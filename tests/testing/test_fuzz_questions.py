"""The fuzzer of questions finds nothing in the system as it is, and every mutant of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.request import GroupsBound, RowsBound
from sfumato.ask.price import allocation, noise, preparation, quantiles
from sfumato.ask.session import desk, together
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.neighbours import Row, Unit
from sfumato.testing import fuzz_questions

ROWS = (Row(),)
PEOPLE = (Unit("id", rows=3), Unit("id", groups=2, rows_per_group=2))


@pytest.mark.slow("many questions on neighbouring tables")
def test_no_question_loses_more_than_it_is_charged():
    found = fuzz_questions(questions=4, seed=17)
    assert found.compared >= 20
    assert found.worst == 1  # somewhere all of a charge is used up: the bounds are tight


@pytest.mark.soak
def test_no_question_loses_more_for_many_seeds():
    found = fuzz_questions(seconds=240, seed=101)
    assert found.answered > 30
    print(found)


def sensitivity_one_percent_too_small(patch):
    honest = allocation.sensitivity_of

    def smaller(*arguments):
        size = honest(*arguments)
        return replace(size, l1=size.l1 * 0.99, l2=size.l2 * 0.99)

    patch.setattr(allocation, "sensitivity_of", smaller)


def one_row_too_many(patch):
    honest = DuckDBEngine.aggregate

    def careless(engine, request):
        if isinstance(request.bound, RowsBound):
            request = replace(request, bound=RowsBound(request.bound.rows + 1))
        return honest(engine, request)

    patch.setattr(DuckDBEngine, "aggregate", careless)


def one_group_too_many(patch):
    honest = DuckDBEngine.aggregate

    def careless(engine, request):
        if isinstance(request.bound, GroupsBound):
            bound = GroupsBound(request.bound.groups + 1, request.bound.rows)
            request = replace(request, bound=bound)
        return honest(engine, request)

    patch.setattr(DuckDBEngine, "aggregate", careless)


def threshold_one_too_low(patch):
    honest = preparation.people_needed
    patch.setattr(preparation, "people_needed", lambda *a, **k: honest(*a, **k) - 1)


def noise_drawn_smaller_than_prepared(patch):
    honest = noise.Noise.draw

    def quieter(law, count):
        return honest(replace(law, size=law.size * Fraction(99, 100)), count)

    patch.setattr(noise.Noise, "draw", quieter)


def noise_forgotten_for_people(patch):
    honest = allocation.allocate
    patch.setattr(
        preparation, "allocate", lambda *arguments: replace(honest(*arguments), people=None)
    )


def charged_too_little(patch):
    honest = desk.Plan

    def cheaper(cost, *rest):
        part = Fraction(99, 100)
        less = Cost(cost.epsilon * part, cost.mu_squared * part, cost.delta)
        return honest(less, *rest)

    patch.setattr(desk, "Plan", cheaper)


def parts_called_disjoint(patch):
    patch.setattr(together, "disjoint", lambda *_: True)


def quantiles_scaled_to_one_row(patch):
    patch.setattr(quantiles, "rows_in_group", lambda _: 1)


MUTANTS = {
    sensitivity_one_percent_too_small: {"units": ROWS},
    one_row_too_many: {"units": (Unit("id", rows=3),)},
    one_group_too_many: {"units": (Unit("id", groups=2, rows_per_group=2),)},
    threshold_one_too_low: {"units": PEOPLE},
    noise_drawn_smaller_than_prepared: {"units": ROWS},
    noise_forgotten_for_people: {"units": PEOPLE},
    charged_too_little: {"units": ROWS},
    parts_called_disjoint: {"units": ROWS, "forms": ("together",)},
    quantiles_scaled_to_one_row: {"units": (Unit("id", groups=1, rows_per_group=6),)},
}


FOUND_LATE = {one_row_too_many, threshold_one_too_low, quantiles_scaled_to_one_row}
"""Mutants that only one question in twenty or so gives away."""


@pytest.mark.parametrize(
    "mutate",
    [
        pytest.param(mutate, marks=pytest.mark.soak if mutate in FOUND_LATE else ())
        for mutate in MUTANTS
    ],
    ids=lambda mutate: mutate.__name__,
)
@pytest.mark.slow("many questions on neighbouring tables")
def test_mutants_are_caught(mutate, monkeypatch):
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        fuzz_questions(questions=80, seed=7, **MUTANTS[mutate])
