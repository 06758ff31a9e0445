"""Sessions at the same time, sessions that are killed, and sessions on other databases."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from fractions import Fraction

import pytest
from small_tables import BOUNDS, COUNT, KEYS, charges, session, visits

import sfumato as sf
from sfumato.errors import SfumatoError

ASKING = """
import sys, sfumato as sf
file, ledger, analyst, many = sys.argv[1:5]
facts = dict(unit="row", budget=sf.PureDP(1), bounds={"cost": (0, 10)}, public_types=["age"])
with sf.Session(file, ledger=ledger, analyst=analyst, **facts) as one:
    for i in range(int(many)):
        try:
            one.sql(f"SELECT COUNT(*) FROM visits WHERE age > {i}", epsilon="1/10")
            print("answered", flush=True)
        except sf.BudgetExceeded:
            print("refused", flush=True)
"""


def started(file, ledger, analyst, many, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", ASKING, str(file), str(ledger), analyst, str(many)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip


@pytest.fixture
def file(tmp_path):
    visits().to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path / "visits.csv"


def check_race(file, ledger):
    running = [started(file, ledger, name, 8) for name in ("ann", "bob")]
    told = []
    for process in running:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        told += out.split()
    assert sorted(told) == ["answered"] * 10 + ["refused"] * 6
    with sf.Ledger(str(ledger)) as kept:
        assert kept.spent("visits").epsilon == 1
        assert kept.verify().ok
        kinds = [entry.kind for entry in kept.entries()]
        assert kinds.count("registered") == 1  # both were first, and one of them was


def test_two_processes_open_and_spend_the_same_budget_once(file, tmp_path):
    check_race(file, tmp_path / "ledger.sqlite")


def test_two_processes_and_a_ledger_in_postgres(file, fresh_postgres_url):
    check_race(file, fresh_postgres_url)


def test_threads_of_one_session_spend_what_there_is_and_no_more():
    outcomes = []
    with session(budget=sf.PureDP(1)) as one:

        def ask(place):
            try:
                one.sql(f"{COUNT} WHERE age > {place}", epsilon="1/10")
                outcomes.append("answered")
            except sf.BudgetExceeded:
                outcomes.append("refused")

        threads = [threading.Thread(target=ask, args=(place,)) for place in range(14)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["answered"] * 10 + ["refused"] * 4
        assert one.remaining.epsilon == 0
        assert one.ledger.verify().ok


def test_threads_that_ask_the_same_pay_once():
    answers = []
    with session() as one:
        threads = [
            threading.Thread(target=lambda: answers.append(one.sql(COUNT, epsilon=1)))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({answer.rows for answer in answers}) == 1
        assert charges(one) == 1


@pytest.mark.parametrize(
    ("point", "paid"),
    [
        ("register-committed", 0), ("charge-counted", 0), ("charge-committed", 1),
        ("settle-committed", 1),
        *(
            pytest.param(point, paid, marks=pytest.mark.soak)
            for point, paid in (
                ("register-begun", 0), ("charge-begun", 0), ("charge-appended", 0),
                ("settle-begun", 1),
            )
        ),
    ],
)  # fmt: skip
def test_a_session_that_is_killed_leaves_a_ledger_that_holds(file, tmp_path, point, paid):
    ledger = tmp_path / "ledger.sqlite"
    process = started(file, ledger, "ann", 3, SFUMATO_FAULT=point)
    process.communicate(timeout=120)
    assert process.returncode == -9
    with session(file, ledger=str(ledger), analyst="ann", bare=True, budget=sf.PureDP(1),
                 bounds=BOUNDS) as one:  # fmt: skip
        assert one.ledger.verify().ok
        assert one.ledger.spent("visits").epsilon == Fraction(paid, 10)
        answer = one.sql(f"{COUNT} WHERE age > 0", epsilon="1/10")
        assert answer.stored == (point == "settle-committed")
        assert one.ledger.spent("visits").epsilon == Fraction(
            paid + (point != "settle-committed"), 10
        )
        assert one.ledger.verify().ok


def test_a_closed_session_is_opened_again_where_it_was(file, tmp_path):
    ledger = str(tmp_path / "ledger.sqlite")
    with session(file, ledger=ledger) as one:
        first = one.sql(COUNT, epsilon=2)
    one.close()  # again, and nothing happens
    for _ in range(2):
        with sf.Session(file, ledger=ledger) as again:
            assert again.spent.epsilon == 2
            assert again.sql(COUNT, epsilon=2).rows == first.rows
    with pytest.raises((SfumatoError, ValueError)):
        one.sql(f"{COUNT} WHERE age > 3", epsilon=1)


def test_a_session_on_postgres_with_its_ledger_there(postgres_url, fresh_postgres_url):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS visits")
        connection.execute("CREATE TABLE visits (person text, ward text, cost int, age int)")
        with connection.cursor().copy("COPY visits FROM STDIN") as copy:
            for row in visits().itertuples(index=False):
                copy.write_row(tuple(row))
    source = postgres_url + ("&" if "?" in postgres_url else "?") + "table=visits"
    facts = {"unit": sf.Unit("person", groups=2, rows_per_group=2), "budget": sf.PureDP(10**6)}
    grouped = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward"
    with session(source, ledger=fresh_postgres_url, **facts) as one:
        there = one.sql(grouped, epsilon=5000)
        assert there.column("n") == [80, 40]  # 2 of 2, and 1 of 1
        # Between two of these questions no other test has written to the server, so that nothing
        # can have changed.
        assert any(one.sql(grouped, epsilon=5000).stored for _ in range(50))
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("UPDATE visits SET cost = cost + 1 WHERE person = 'p001'")
        assert not one.sql(grouped, epsilon=5000).stored
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP TABLE visits")
        with pytest.raises(SfumatoError) as caught:
            one.sql(COUNT, epsilon=1)
        assert "p001" not in str(caught.value)
        assert one.ledger.verify().ok
    assert set(KEYS) == {"ward"}
