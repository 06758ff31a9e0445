"""Policies deal out what they say, limits and places are what they were stated as."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato import GDP, ZCDP, ApproxDP, PureDP, dp
from sfumato.dp.guarantee_json import guarantee_from_json, guarantee_to_json
from sfumato.errors import BudgetExceeded, GovernanceError, ParameterError
from sfumato.govern import EqualShares, Fixed, Free, Geometric, Limits, Registration, places
from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.policies import policy_from_json

BUDGETS = [PureDP(1.2), ApproxDP(1.2, 1e-6), ZCDP(1.2)]


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda one: type(one).__name__)
def test_policies_deal_out_exact_amounts(budget):
    assert Free().next(budget, 0, 0.1) == Fraction(1, 10)
    assert Fixed(0.05).next(budget, 7) == Fraction(1, 20)
    shares = [EqualShares(7).next(budget, k) for k in range(7)]
    assert shares == [Fraction(12, 70)] * 7
    assert sum(shares) == Fraction(12, 10)
    halves = [Geometric().next(budget, k) for k in range(4)]
    assert halves == [Fraction(12, 10 * 2**k) for k in (1, 2, 3, 4)]
    assert sum(Geometric().next(budget, k) for k in range(200)) < Fraction(12, 10)


def test_another_amount_is_refused_with_a_sentence():
    with pytest.raises(GovernanceError, match=r"question 3 exactly 0\.125, and 0\.5 was wanted"):
        Geometric().next(PureDP(1), 2, 0.5)
    with pytest.raises(GovernanceError, match=r"0\.05 per question"):
        Fixed(0.05).next(PureDP(1), 0, 0.06)
    assert Geometric().next(PureDP(1), 2, 0.125) == Fraction(1, 8)
    assert Fixed(0.05).next(PureDP(1), 0, 0.05) == Fraction(1, 20)
    with pytest.raises(ParameterError, match="leaves that to you"):
        Free().next(PureDP(1), 0)
    with pytest.raises(ParameterError, match="more than 0"):
        Free().next(PureDP(1), 0, 0)


def test_shares_end():
    with pytest.raises(BudgetExceeded, match="over 2 questions"):
        EqualShares(2).next(PureDP(1), 2)


@pytest.mark.parametrize(
    "bad", [lambda: Fixed(0), lambda: EqualShares(0), lambda: EqualShares(1.5)]
)
def test_impossible_policies_are_refused(bad):
    with pytest.raises(ParameterError):
        bad()


def test_a_policy_needs_a_budget_it_can_deal_out():
    with pytest.raises(ParameterError, match="GDP"):
        EqualShares(2).next(GDP(1), 0)


@pytest.mark.parametrize("policy", [Free(), Fixed("1/3"), EqualShares(4), Geometric()], ids=str)
def test_policies_read_back(policy):
    assert policy_from_json(policy.to_json()) == policy


@pytest.mark.parametrize(
    "guarantee",
    [
        PureDP(0.1),
        ApproxDP(1 / 3, 1e-300),
        ZCDP(5e-324, neighbours=dp.Unit("person", rows=7)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_guarantees_read_back(guarantee):
    assert guarantee_from_json(guarantee_to_json(guarantee)) == guarantee


def test_limits_that_cannot_be_kept_are_refused():
    with pytest.raises(ParameterError, match="GDP"):
        Limits(dataset=GDP(1))
    with pytest.raises(ParameterError, match="one relation"):
        Limits(dataset=PureDP(1, neighbours="bounded"), analyst=PureDP(1))
    with pytest.raises(ParameterError, match="'other'"):
        Registration("x", Limits(PureDP(1), purposes={"other": PureDP(1)}), purposes=("care",))
    with pytest.raises(ParameterError, match="list of names"):
        Registration("x", Limits(PureDP(1)), purposes="care")
    with pytest.raises(ParameterError, match="plain JSON"):
        Registration("x", Limits(PureDP(1)), rules={"a": {1, 2}})
    with pytest.raises(ParameterError, match="plain JSON"):
        Registration("x", Limits(PureDP(1)), rules={"a": float("nan")})


def test_a_table_that_several_reach_has_the_ledger_of_its_database_or_none(
    fresh_postgres_url, tmp_path, monkeypatch
):
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    table = f"{fresh_postgres_url}?table=public.visits&application_name=x"
    with pytest.raises(ParameterError, match="one that they share") as told:
        places.default_place(table)
    assert "sfumato" not in str(told.value.__context__)  # no message of the database
    Ledger(fresh_postgres_url).close()
    found = places.default_place(table)
    assert "table=" not in found
    with Ledger(found, create=False) as ledger:
        assert ledger.count() == 0
    before = tmp_path / "sfumato" / f"{places._key_of(table)}{places.SUFFIX}"
    before.parent.mkdir()
    before.touch()
    with pytest.raises(ParameterError, match="for you alone"):
        places.default_place(table)
    with pytest.raises(ParameterError, match="a table of Spark"):
        places.default_place(None, shared=True)
    monkeypatch.setenv("SFUMATO_LEDGER", "postgresql://host/ledger")
    assert places.default_place(None, shared=True) == "postgresql://host/ledger"


def test_addresses_of_one_table_are_one():
    one = places._key_of("postgresql://ann:secret@Host/clinic?table=visits")
    assert "secret" not in one
    same = ("postgres://bob@host:5432/clinic?table=public.visits",
            "postgresql:///clinic?host=host&table=visits&application_name=x")  # fmt: skip
    assert {places._key_of(address) for address in same} == {one}
    others = {
        places._key_of(f"postgresql://{address}")
        for address in ("host/other?table=visits", "host:5433/clinic?table=visits",
                        "else/clinic?table=visits", "host/clinic?table=old.visits",
                        "host/clinic?table=patients")
    }  # fmt: skip
    assert len(others | {one}) == 6


def test_links_lead_to_the_ledger_of_the_file(tmp_path, monkeypatch):
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    data, link = tmp_path / "people.csv", tmp_path / "elsewhere" / "others.csv"
    link.parent.mkdir()
    data.write_text("x\n1\n")
    link.symlink_to(data)
    assert places.default_place(link) == places.default_place(data)
    hard = link.with_name("hard.csv")
    hard.hardlink_to(data)
    with pytest.raises(ParameterError, match="several names"):
        places.default_place(hard)
    Ledger(f"{data}{places.SUFFIX}").close()
    assert places.default_place(data) == f"{data}{places.SUFFIX}"  # which has its ledger


def test_where_a_ledger_is_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    own = str(tmp_path / "own" / "sfumato" / "ledger.sqlite")
    data = tmp_path / "people.csv"
    assert places.default_place(data) == str(tmp_path / "people.csv.ledger.sqlite")
    assert places.default_place(None) == own
    assert places.default_place(f"{tmp_path}/c.duckdb::t") == f"{tmp_path}/c.duckdb.ledger.sqlite"
    with pytest.raises(ParameterError, match=r"--ledger .* or \$SFUMATO_LEDGER"):
        places.default_place(tmp_path / "none" / "people.csv")
    monkeypatch.setattr(places.os, "access", lambda path, mode: False)
    with pytest.raises(ParameterError, match=f"and {tmp_path} cannot be written"):
        places.default_place(data)
    (tmp_path / "people.csv.ledger.sqlite").touch()
    with pytest.raises(ParameterError, match=r"people.csv.ledger.sqlite cannot be written"):
        places.default_place(data)
    monkeypatch.setenv("SFUMATO_LEDGER", "postgresql://host/ledger")
    assert places.default_place(data) == "postgresql://host/ledger"
    monkeypatch.delenv("SFUMATO_LEDGER")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert places.default_place() == str(tmp_path / ".local/share/sfumato/ledger.sqlite")
