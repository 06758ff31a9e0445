"""Two averages give a person away on the raw table, and nothing beyond ε in a session."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

import sfumato as sf

STAFF = pd.DataFrame({
    "faculty": ["law"] * 12 + ["arts"] * 12,
    "hired": [2010 + i for i in range(12)] * 2,
    "salary": [30 + 3 * i for i in range(24)],
})  # fmt: skip
TARGET = {"faculty": "law", "hired": 2020}
SECRET = 60  # 30 + 3 · 10
QUESTIONS = (
    "SELECT AVG(salary) FROM staff WHERE faculty = 'law'",
    "SELECT AVG(salary) FROM staff WHERE faculty = 'law' AND hired <> 2020",
)


def raw(condition):
    chosen = [row for row in STAFF.to_dict("records") if condition(row)]
    return sum(row["salary"] for row in chosen) / len(chosen) if chosen else None


def size(condition):
    return sum(condition(row) for row in STAFF.to_dict("records"))


def session(table=STAFF, **given):
    facts = {"unit": "row", "budget": sf.PureDP(1), "name": "staff", "bounds": {"salary": (0, 120)}}
    return sf.Session(table, public_types=True, **{**facts, **given})


def test_two_averages_of_the_raw_table_give_a_salary_away():
    found = sf.attack.differencing(raw, TARGET, count=size, secret="salary")
    assert len(found.findings) == 1
    assert found.findings[0].secret == (str(SECRET),)
    whole, without = found.findings[0].evidence["questions"]
    assert "NOT" in without
    assert "NOT" not in whole


@pytest.mark.parametrize("epsilon", ["0.05", "0.01"])
def test_the_same_attack_on_a_session_finds_nothing(epsilon):
    with session() as one:

        def ask(what):
            def asked(condition):
                text = f"SELECT {what} FROM staff WHERE {condition.sql}"
                return one.sql(text, epsilon=epsilon).value

            return asked

        found = sf.attack.differencing(ask("AVG(salary)"), TARGET, count=ask("COUNT(*)"))
        assert one.spent.epsilon <= 1
        if found.findings:  # noisy counts may differ by one by chance; the secret is then wrong
            assert abs(float(found.findings[0].secret[0]) - SECRET) > 1


@pytest.mark.parametrize("runs", [40, pytest.param(1000, marks=pytest.mark.soak)])
def test_two_averages_of_a_session_tell_no_more_than_their_epsilons_allow(runs):
    """Who is in the table, or not, is guessed from the two answers hardly better than blindly.

    The attacker knows everybody else, computes the salary from the two averages as on the raw
    table, and says "here" if it is nearer to the truth than to nothing. Under 2·ε in all, a guess
    with false alarms p is right with probability at most e^(2ε)·p.
    """
    epsilon = 0.25
    without = STAFF.drop(index=10).reset_index(drop=True)
    said = dict.fromkeys(("in", "out"), 0)
    for name, table in (("in", STAFF), ("out", without)):
        with session(table, budget=sf.PureDP(10**6)) as one:
            for run in range(runs):
                one.desk = replace(
                    one.desk, analyst=f"attacker {run}"
                )  # everybody gets noise of their own
                whole, rest = (one.sql(q, epsilon=epsilon).value for q in QUESTIONS)
                guess = 0 if None in (whole, rest) else 12 * whole - 11 * rest
                said[name] += guess > SECRET / 2
    rates = {name: count / runs for name, count in said.items()}
    slack = 4 * math.sqrt(0.25 / runs)
    assert rates["in"] <= math.exp(2 * epsilon) * rates["out"] + slack
    assert 1 - rates["out"] <= math.exp(2 * epsilon) * (1 - rates["in"]) + slack
    assert abs(rates["in"] - rates["out"]) < 0.5  # the raw table tells with certainty
