"""Requests that cost much and are sent by anybody: what everybody else needs goes on."""

from __future__ import annotations

import base64
import json
import threading

import pytest

from sfumato.errors import DataError
from sfumato.govern.certificates import merkle
from sfumato.service import asking
from sfumato.service.house import House, Open
from sfumato.service.settings import Settings

from .test_journeys import later
from .test_timing import opened


def test_strangers_have_no_tree_hashed_again(site, monkeypatch):
    """A proof of growth to any size costs the tree's edge, not all of its entries."""
    hashed, node = [], merkle._node
    with later(3600):
        signed = site.client().get("/api/v1/ledger/checkpoint").json()["payload"]
        size = json.loads(base64.b64decode(signed))["size"]
        monkeypatch.setattr(merkle, "_node", lambda *pair: hashed.append(pair) or node(*pair))
        for to in range(1, size + 1):
            assert site.client().get(f"/api/v1/ledger/growth/1?to={to}").status_code == 200
            assert len(hashed) <= size.bit_length()
            hashed.clear()


def test_a_long_question_is_not_read_where_everything_else_goes_on(site, monkeypatch):
    """Whoever prices long questions must not stop signs of life and everybody else."""
    seen = []

    def price(*given):
        seen.append(threading.current_thread().name)
        return known(*given)

    known = asking.price_question
    monkeypatch.setattr(asking, "price_question", price)
    client = site.client("analyst", token=True)
    for words in (1, 300):
        condition = " AND ".join(["age > 3"] * words)
        body = {"questions": [{"question": f"SELECT COUNT(*) FROM people WHERE {condition}",
                               "price": {"epsilon": "0.1"}}]}  # fmt: skip
        assert client.post("/api/v1/datasets/people/estimates", json=body).status_code == 200
    assert not seen[0].startswith("sfumato_")
    assert seen[1].startswith("sfumato_")


@pytest.mark.parametrize("where", ["duckdb", "postgres"])
def test_a_server_that_stops_ends_the_queries_of_its_threads(tmp_path, where, request):
    """An interpreter waits for its threads: queries that would last for years are interrupted."""
    house = House(Settings(folder=str(tmp_path / "site")))
    url = request.getfixturevalue("fresh_postgres_url") if where == "postgres" else None
    asking = opened(url=url, folder=tmp_path).desk.opened
    house._open["t"] = Open(None, asking, asking)
    engine, begun = asking.engine, threading.Event()
    many = "(SELECT range AS i FROM range(100000000))"

    def ask():
        begun.set()
        if where == "postgres":
            return engine._run("SELECT pg_sleep(1000000)")
        with engine._asked() as cursor:
            return cursor.execute(
                f"SELECT count(*) FROM {many} a, {many} b WHERE (7 * a.i + b.i) % 3 = 1"
            ).fetchall()

    asked, never = house.threads.submit(ask), house.threads.submit(begun.wait)
    assert begun.wait(60)
    house.close()
    assert never.done()
    assert isinstance(asked.exception(0), DataError)  # it is over, and says so
