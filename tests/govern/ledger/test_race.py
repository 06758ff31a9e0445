"""Many processes and threads at once: never more than the budget, and never less."""

from __future__ import annotations

import collections
import os
import threading
from fractions import Fraction

import pytest

from sfumato import PureDP
from sfumato.dp.accounting.costs import Cost
from sfumato.errors import BudgetExceeded, GovernanceError, PositionMoved
from sfumato.govern import EqualShares, Ledger, Limits, Registration

RACERS, UNITS = 16, 100


def take_all(ledger, charge, **changes):
    """Charge until refused; give how often it was granted."""
    granted = 0
    while True:
        try:
            ledger.charge(charge(cost=Cost(Fraction(1, 100)), **changes))
        except BudgetExceeded:
            return granted
        granted += 1


def test_sixteen_processes_race_for_the_last_epsilon(place, charge, in_child):
    with Ledger(place) as ledger:
        ledger.register(Registration("patients", Limits(PureDP(1)), purposes=("care",)))
    ready, start = os.pipe()

    def racer(number):
        def run():
            os.close(start)
            os.read(ready, 1)  # until the parent closes its end: all start at once
            with Ledger(place) as mine:
                return take_all(mine, charge, analyst=f"analyst {number}")

        return run

    children = [in_child(racer(number)) for number in range(RACERS)]
    os.close(start)
    ended = [in_child.wait(child) for child in children]
    os.close(ready)
    assert all(signal == 0 for signal, _ in ended)
    assert sum(granted for _, granted in ended) == UNITS
    with Ledger(place) as ledger:
        assert ledger.spent("patients").epsilon == 1
        charged = [one for one in ledger.entries() if one.kind == "charged"]
        assert len(charged) == UNITS
        by = collections.Counter(one.analyst for one in charged)
        for number, (_, granted) in enumerate(ended):
            assert by[f"analyst {number}"] == granted
        assert ledger.verify().ok


def test_processes_that_open_a_new_ledger_at_once_make_one(place, registration, charge, in_child):
    def run():
        with Ledger(place) as mine:
            mine.register(registration)
            mine.charge(charge(cost=Cost(Fraction(1, 100))))

    children = [in_child(run) for _ in range(8)]
    assert [in_child.wait(child) for child in children] == [(0, 0)] * 8
    with Ledger(place) as ledger:
        assert [one.kind for one in ledger.entries()] == ["registered"] + ["charged"] * 8
        assert ledger.verify().ok


def test_threads_share_one_ledger(ledger, charge):
    ledger.register(Registration("patients", Limits(PureDP(1)), purposes=("care",)))
    granted = []
    threads = [
        threading.Thread(target=lambda: granted.append(take_all(ledger, charge))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sum(granted) == UNITS
    assert len(granted) == 8
    assert ledger.verify().ok


def test_positions_are_taken_once(place, charge, in_child):
    with Ledger(place) as ledger:
        rules = Registration(
            "patients", Limits(PureDP(1)), purposes=("care",), policy=EqualShares(4)
        )
        ledger.register(rules)

    def run():
        with Ledger(place) as mine:
            try:
                mine.charge(charge(cost=Cost(0.25), position=0))
            except PositionMoved:
                return 0
        return 1

    children = [in_child(run) for _ in range(6)]
    assert sum(in_child.wait(child)[1] for child in children) == 1


def test_a_ledger_is_used_after_a_fork_by_both_processes(place, charge, in_child):
    ledger = Ledger(place)
    ledger.register(Registration("patients", Limits(PureDP(1)), purposes=("care",)))
    ledger.charge(charge(cost=Cost(0.01)))  # so that a connection is open when the process forks

    def run():
        for _ in range(20):
            ledger.charge(charge(cost=Cost(0.01), analyst="child"))

    children = [in_child(run) for _ in range(2)]
    for _ in range(20):
        ledger.charge(charge(cost=Cost(0.01), analyst="parent"))
    assert [in_child.wait(child) for child in children] == [(0, 0)] * 2
    ledger.charge(charge(cost=Cost(0.01)))
    assert ledger.spent("patients").epsilon == Fraction(62, 100)
    assert ledger.spent("patients", analyst="child").epsilon == Fraction(40, 100)
    assert ledger.verify().ok


def test_a_fork_while_another_thread_charges(place, charge, in_child):
    ledger = Ledger(place)
    ledger.register(Registration("patients", Limits(PureDP(1)), purposes=("care",)))
    thread = threading.Thread(target=lambda: take_all(ledger, charge, analyst="thread"))
    thread.start()
    children = [in_child(lambda: take_all(ledger, charge, analyst="child")) for _ in range(3)]
    thread.join(120)
    ended = [in_child.wait(child) for child in children]
    assert all(signal == 0 for signal, _ in ended)
    assert ledger.spent("patients").epsilon == 1
    assert ledger.spent("patients", analyst="child").epsilon == Fraction(
        sum(granted for _, granted in ended), 100
    )
    assert ledger.verify().ok


def test_a_ledger_in_memory_stays_with_its_process(charge, in_child):
    ledger = Ledger(None)
    ledger.register(Registration("patients", Limits(PureDP(1)), purposes=("care",)))

    def run():
        with pytest.raises(GovernanceError, match="memory"):
            ledger.charge(charge())
        return 7

    assert in_child.wait(in_child(run)) == (0, 7)
    ledger.charge(charge())
    assert ledger.spent("patients").epsilon == Fraction(1, 10)


def test_a_lost_connection_is_told_and_the_next_use_opens_another(fresh_postgres_url, charge):
    import psycopg

    ledger = Ledger(fresh_postgres_url)
    ledger.register(Registration("patients", Limits(PureDP(1)), purposes=("care",)))
    with psycopg.connect(fresh_postgres_url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    with pytest.raises(GovernanceError, match="cannot be used"):
        ledger.charge(charge())
    ledger.charge(charge())
    assert ledger.verify().ok
    assert ledger.spent("patients").epsilon == Fraction(1, 10)
