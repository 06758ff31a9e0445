"""Attacks on answers: differencing, reconstruction, tracing, and what noise leaves of them."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pandas as pd
import pytest
from hangs import usually
from scipy.optimize import lsq_linear

import sfumato as sf
from sfumato.attack.queries.reconstruction import random_sets
from sfumato.errors import BudgetExceeded, ParameterError

FACULTY = [
    {"faculty": "maths", "hired": 2001, "sex": "f", "salary": 61_000},
    {"faculty": "maths", "hired": 2015, "sex": "m", "salary": 52_500},
    {"faculty": "maths", "hired": 2020, "sex": "f", "salary": 47_250},
    {"faculty": "maths", "hired": 2015, "sex": "f", "salary": 55_000},
    {"faculty": "law", "hired": 2020, "sex": "m", "salary": 70_000},
    {"faculty": "law", "hired": 2001, "sex": "m", "salary": 88_000},
]


def asked(where):
    return [person["salary"] for person in FACULTY if where(person)]


def mean(where):
    found = asked(where)
    return sum(found) / len(found) if found else None


def count(where):
    return len(asked(where))


# -- differencing ------------------------------------------------------------------------


def test_two_averages_reveal_the_salary_of_the_one_hired_in_2020():
    """The average of a faculty, and that of the faculty without the one hired in 2020."""
    maths = [person for person in FACULTY if person["faculty"] == "maths"]

    def average(where):
        found = [person["salary"] for person in maths if where(person)]
        return sum(found) / len(found)

    found = sf.attack.differencing(
        average, {"hired": 2020}, count=lambda where: sum(map(where, maths)), secret="salary"
    )
    assert found.succeeds
    (finding,) = found.findings
    assert finding.evidence["questions"] == ("true", 'NOT ("hired" = 2020)')
    assert float(finding.secret[0]) == pytest.approx(47_250)
    assert "47250" not in str(found)
    assert "47250" in found.told(reveal=True)


def test_the_pair_is_found_among_all_faculties():
    target = {"faculty": "maths", "hired": 2020}
    found = sf.attack.differencing(mean, target, count=count, secret="salary")
    frame = pd.DataFrame(FACULTY)
    answers = []
    for where in found.findings[0].evidence["questions"]:
        query = f"SELECT sum(salary), count(*) FROM frame WHERE {where}"
        answers += duckdb.sql(query).fetchall()
    whole, without = answers
    assert (whole[0] - without[0], whole[1] - without[1]) == (47_250, 1)
    assert float(found.findings[0].secret[0]) == pytest.approx(47_250)
    assert len(frame) == 6


def test_sums_work_too_and_small_sets_may_be_refused():
    def limited(answer):
        return lambda where: answer(where) if len(asked(where)) >= 3 else None

    def total(where):
        return sum(asked(where))

    target = {"hired": 2020, "faculty": "law", "sex": "m"}
    found = sf.attack.differencing(
        limited(total), target, count=limited(count), answers="sum", secret="salary"
    )
    assert float(found.findings[0].secret[0]) == 70_000
    whole, without = found.findings[0].evidence["questions"]
    assert whole == "true"  # the widest base: both sets are as large as can be
    assert without.startswith("NOT (")


def test_nobody_is_isolated_who_looks_like_somebody_else():
    twins = [*FACULTY, dict(FACULTY[2], salary=1)]
    found = sf.attack.differencing(
        lambda where: sum(p["salary"] for p in twins if where(p)),
        {"faculty": "maths", "hired": 2020, "sex": "f"},
        count=lambda where: sum(map(where, twins)),
        answers="sum",
    )
    assert not found.succeeds
    assert "isolates" in found.notes[0]


def test_noise_and_a_budget_stop_it():
    left = [10]

    def noisy(answer, sensitivity):
        def ask(where):
            if left[0] <= 0:
                raise BudgetExceeded("the budget is spent")
            left[0] -= 1
            return float(
                sf.dp.laplace(float(answer(where) or 0), sensitivity=sensitivity, epsilon=0.1)
            )

        return ask

    found = sf.attack.differencing(
        noisy(mean, 50_000),
        {"faculty": "maths", "hired": 2020},
        count=noisy(count, 1),
        secret="salary",
    )
    assert not found.succeeds


def test_noise_that_hides_only_the_answer_is_noticed():
    found = sf.attack.differencing(
        lambda where: float(sf.dp.laplace(float(mean(where) or 0), sensitivity=1000, epsilon=1)),
        {"faculty": "maths", "hired": 2020},
        count=count,
    )
    assert not found.succeeds
    assert "noisy" in found.notes[0]


def test_conditions_read_as_sql():
    frame = pd.DataFrame(FACULTY)
    assert len(frame) == 6
    where = sf.attack.Condition((("faculty", "maths"),), (("hired", 2015), ("sex", "m")))
    rows = duckdb.sql(f"SELECT count(*) FROM frame WHERE {where.sql}").fetchall()[0][0]
    assert rows == sum(map(where, FACULTY)) == 3
    with pytest.raises(ParameterError, match="answers"):
        sf.attack.differencing(mean, {"a": 1}, count=count, answers="max")
    with pytest.raises(ParameterError, match="Nothing is known"):
        sf.attack.differencing(mean, {}, count=count)


# -- reconstruction ----------------------------------------------------------------------


def secret_of(n, seed=1):
    return np.random.default_rng(seed).permutation(np.arange(n) % 2)


def test_the_solver_agrees_with_scipy():
    secret = secret_of(40)
    sets = random_sets(40, 100, 3)
    answers = sets @ secret + np.random.default_rng(2).normal(0, 4, 100)
    found = sf.attack.reconstruct(sets, answers, steps=5_000)
    wanted = lsq_linear(sets, answers, bounds=(0, 1), tol=1e-12)
    assert np.sum((sets @ found.belief - answers) ** 2) == pytest.approx(2 * wanted.cost, rel=1e-6)


def test_small_errors_reveal_nearly_everybody():
    n = 200
    secret = secret_of(n)
    noise = np.random.default_rng(5)

    def query(mask):
        return secret[mask].sum() + noise.uniform(-0.2, 0.2) * math.sqrt(n)

    with usually(1):
        found = sf.attack.reconstruction(query, n, secret=secret)
    assert found.succeeds
    assert found.figures["share recovered"] > 0.97
    assert found.prior == 0.5
    assert found.findings[0].secret[0] not in str(found)


def test_exact_counts_reveal_everybody_and_a_budget_nobody():
    n = 100
    secret = secret_of(n)
    exact = sf.attack.reconstruction(lambda mask: secret[mask].sum(), n, secret=secret)
    assert exact.figures["share recovered"] == 1
    epsilon = 1 / (4 * n)  # one budget of 1 for all questions
    mechanism = sf.dp.Geometric(sensitivity=1, epsilon=epsilon)
    private = sf.attack.reconstruction(
        lambda mask: float(mechanism.release(int(secret[mask].sum()))), n, secret=secret
    )
    assert not private.succeeds
    # ε-DP bounds what can be recovered of a random bit: e^ε/(1 + e^ε) = 0.73 on average.
    assert private.figures["share recovered"] < 0.8


def test_curves_fall_with_noise_and_rise_with_queries():
    secret = secret_of(80)
    few, many = sf.attack.reconstruction_curves(secret, noise=[0, 4, 60], queries=[40, 320])
    assert many.share[0] == 1
    assert many.share[1] > few.share[1]
    assert many.share[2] < 0.85
    assert few.share[0] < 1
    again, _ = sf.attack.reconstruction_curves(secret, noise=[0, 4, 60], queries=[40, 320])
    assert again == few


def test_reconstruction_refuses_what_does_not_fit():
    with pytest.raises(ParameterError, match="one answer per set"):
        sf.attack.reconstruct(np.ones((3, 2)), [1, 2])
    with pytest.raises(ParameterError, match="entries"):
        sf.attack.reconstruct(np.ones((3, 2)), [1, 2, 1]).share([1])
    with pytest.raises(ParameterError, match="zeros and ones"):
        sf.attack.reconstruction_curves([0, 2], noise=[1], queries=[2])


# -- membership and attribute from answers -----------------------------------------------


def genomes(seed, n, d):
    rng = np.random.default_rng(seed)
    usual = rng.uniform(0.1, 0.9, d)
    return lambda people: (rng.random((people, d)) < usual).astype(float)


def test_exact_averages_betray_their_members():
    draw = genomes(1, 100, 3_000)
    inside, outside, others = draw(100), draw(600), draw(300)
    published = inside.mean(axis=0)
    found = sf.attack.membership_from_answers(published, inside, outside)
    assert found.succeeds
    assert found.figures["flagged"] > 0.9
    assert found.posterior > 0.95
    assert sf.attack.membership_from_answers(published, others, outside).figures["flagged"] < 0.05


def test_private_averages_betray_at_most_as_many_as_epsilon_allows():
    draw = genomes(2, 100, 1_000)
    inside, outside = draw(100), draw(2_000)
    epsilon, alarms = 1.0, 0.05
    noisy = np.asarray(sf.dp.laplace(inside.mean(axis=0), sensitivity=1_000 / 100, epsilon=epsilon))
    found = sf.attack.membership_from_answers(noisy, inside, outside, false_alarms=alarms)
    bound = math.exp(epsilon) * alarms
    assert found.figures["flagged"] <= bound + 4 * math.sqrt(bound / 100)
    with pytest.raises(ParameterError, match="false-alarm"):
        sf.attack.membership_from_answers(noisy, inside, outside[:50])
    with pytest.raises(ParameterError, match="columns"):
        sf.attack.membership_from_answers(noisy, inside[:, :3], outside)


def test_the_odds_change_by_at_most_epsilon_per_answer():
    candidates = {"no": 0.0, "yes": 1.0}
    certain = sf.attack.attribute_from_answers([41.0], candidates, rest=40, scale=0)
    assert certain.succeeds
    assert certain.findings[0].secret == ("yes",)
    assert "yes" not in str(certain)
    for answers in ([41.0], [44.0, 39.0], [100.0] * 5, [-3.0] * 4):
        epsilon = 0.3
        found = sf.attack.attribute_from_answers(answers, candidates, rest=40, scale=1 / epsilon)
        change = found.figures["largest change of odds"]
        assert change <= math.exp(epsilon * len(answers)) * (1 + 1e-9)
        density = [math.prod(math.exp(-abs(a - 40 - v) * epsilon) for a in answers) for v in (0, 1)]
        assert found.posterior == pytest.approx(max(density) / sum(density))
    averaged = sf.attack.attribute_from_answers([41.0] * 200, candidates, rest=40, scale=2)
    assert averaged.succeeds  # many answers without a budget
    with pytest.raises(ParameterError, match="two candidates"):
        sf.attack.attribute_from_answers([1.0], {"no": 0.0}, rest=0, scale=1)


# -- interfaces that refuse, and numbers that are none -------------------------------------


@pytest.mark.parametrize("refusal", [KeyError, RuntimeError, PermissionError, BudgetExceeded])
def test_a_refusal_in_any_form_is_no_error_of_ours(refusal):
    def refuses(where):
        raise refusal("not with me")

    found = sf.attack.differencing(refuses, {"hired": 2020}, count=refuses)
    assert not found.succeeds
    rebuilt = sf.attack.reconstruction(refuses, 10, secret=[0, 1] * 5)
    assert not rebuilt.succeeds
    assert "40 of 40 questions were refused" in str(rebuilt)


def test_refused_answers_are_left_out_of_a_reconstruction():
    secret = secret_of(40)
    asked = []

    def sometimes(mask):
        asked.append(1)
        return None if len(asked) % 3 == 0 else float(secret[mask].sum())

    found = sf.attack.reconstruction(sometimes, 40, secret=secret)
    assert found.figures["share recovered"] == 1
    assert "53 of 160 questions were refused" in found.notes


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ParameterError, match="finite"):
        sf.attack.reconstruct(np.ones((2, 2)), [1, math.nan])
    with pytest.raises(ParameterError, match="finite"):
        sf.attack.attribute_from_answers([math.nan], {"a": 0, "b": 1}, rest=0, scale=1)
    with pytest.raises(ParameterError, match="finite"):
        sf.attack.membership_from_answers([math.nan] * 2, np.zeros((2, 2)), np.zeros((300, 2)))
    schema = sf.Schema(quasi=["age"], sensitive=["ill"])
    with pytest.raises(ParameterError, match="factor"):
        sf.attack.skewness({"age": ["1"], "ill": ["x"]}, factor="2", schema=schema)
