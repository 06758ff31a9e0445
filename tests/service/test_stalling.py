"""Requests that cost much and are sent by anybody: what everybody else needs goes on."""

from __future__ import annotations

import base64
import json
import threading

from sfumato.govern.certificates import merkle
from sfumato.service import asking

from .test_journeys import later


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
