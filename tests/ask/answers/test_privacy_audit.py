"""A black box that asks a session on neighbouring tables: no event tells them apart beyond ε.

The box knows nothing of noise and sensitivities: a table in, an answer out. A person is added with
many extreme rows, in groups of her own and in those of others; and persons with rows at random, to
tables at random, other ones in every run. SFUMATO_AUDIT_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import secrets
from functools import lru_cache

import polars as pl
import pytest

import sfumato as sf
from sfumato.ask.answers.composition import compose_answer
from sfumato.ask.answers.measurement import measure

RUNS = int(os.environ.get("SFUMATO_AUDIT_RUNS", "1000"))
SECONDS = float(os.environ.get("SFUMATO_AUDIT_SECONDS", "1"))
SEED = os.environ.get("SFUMATO_AUDIT_SEED") or secrets.token_hex(4)
PAIRS = int(os.environ.get("SFUMATO_AUDIT_PAIRS", "1"))
SCHEMA = {"id": pl.Int64, "ward": pl.String, "x": pl.Float64, "n": pl.Int64}
OTHERS = tuple(((p, "ab"[p % 2], float(p % 4), p),) for p in range(6))  # a record is a person
HER = tuple((99, ward, 1e9, 7) for ward in ("a", "b", "hers", "hers too", "a", "a", None))
PERSON = sf.Unit("id", groups=2, rows_per_group=2)
CASES = {
    "count": ("SELECT COUNT(*) FROM t", PERSON),
    "count of rows": ("SELECT COUNT(*) FROM t WHERE x > 2", "row"),
    "people": ("SELECT COUNT(DISTINCT id) FROM t", PERSON),
    "sum": ("SELECT SUM(x) FROM t", PERSON),
    "mean": ("SELECT AVG(x) FROM t", PERSON),
    "spread": ("SELECT VARIANCE(x) FROM t", "row"),
    "public keys": ("SELECT ward, COUNT(*), SUM(x) FROM t GROUP BY ward", PERSON),
    "found keys": ("SELECT n, COUNT(*) FROM t GROUP BY n", PERSON),
    "found words": ("SELECT LOWER(ward) AS w, SUM(x) FROM t GROUP BY 1", sf.Unit("id", rows=3)),
    "median": ("SELECT MEDIAN(x) FROM t", PERSON),
    "largest": ("SELECT ward, MAX(x) FROM t GROUP BY ward", PERSON),
    "found bounds": ("SELECT SUM(n) FROM t", PERSON),
    "per person": (
        (
            "SELECT SUM(CLAMP(s, 0, 9)) FROM (SELECT id, SUM(CLAMP(x, 0, 4)) AS s FROM t "
            "GROUP BY id) AS p"
        ),
        PERSON,
    ),
    "joined": ("SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.id = b.id", PERSON),
    "joined to words": ("SELECT COUNT(*) FROM t JOIN w ON t.ward = w.ward", PERSON),
}
WORDS = pl.DataFrame({"ward": ["a", "a", "b"], "word": ["red", "blue", "red"]})


class Remembering:
    """An engine that is asked once per request: its answers do not change."""

    def __init__(self, engine):
        self.engine, self.known, self.dialect = engine, {}, engine.dialect

    def aggregate(self, request):
        if request not in self.known:
            self.known[request] = self.engine.aggregate(request)
        return self.known[request]


@lru_cache(maxsize=64)
def asked(rows, name):
    """Open a session on a table, charge for a question, and give what answers it repeatedly."""
    text, unit = CASES[name]
    one = sf.Session(
        pl.DataFrame(list(rows), schema=SCHEMA, orient="row"),
        unit=unit,
        budget=sf.PureDP(1) if "found keys" not in name and "words" not in name else
        sf.ApproxDP(2, 0.01),
        name="t",
        bounds={"x": (0, 4)},
        keys={"ward": ["a", "b", None]} if "found" not in name else {},
        public={} if unit == "row" else {"w": WORDS},
        public_types=True,
    )  # fmt: skip
    one.sql(text, epsilon=1)
    assert one.spent.epsilon <= 1.01
    prepared = one.desk.prepare(one._submit(text), one.desk.now(), epsilon=1)
    # the salt differs from session to session; a guarantee holds for every one of them
    engine = Remembering(one.desk.opened.engine)
    return lambda: compose_answer(measure(prepared, engine, b"the same salt 16"))["rows"]


REALS = (0.0, -0.0, 0.5, 3.0, 4.0, -1e9, 1e300, float("inf"), float("nan"), None)
WHOLES = (0, 1, 2, 7, -3, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), None)


def rows_of(rng, person, most):
    """Give a person rows at random, as many as she may have and more than count."""
    return tuple(
        (person, rng.choice(("a", "b", "hers", None)), rng.choice(REALS), rng.choice(WHOLES))
        for _ in range(rng.randint(1, most))
    )


def at_random(rng, *, by_row):
    """Give two tables at random, of which the first has one person, or row, more."""
    most = 1 if by_row else 5
    others = [rows_of(rng, person, most) for person in range(rng.randint(0, 6))]
    hers = rows_of(rng, rng.choice((99, -(2**63))), 1 if by_row else 9)
    place = rng.randint(0, len(others))
    return [*others[:place], hers, *others[place:]], others


IN_SOAK = {"count of rows", "people", "found words", "joined to words"}
"""Cases that are like another one that every run tries."""


@pytest.mark.parametrize(
    ("name", "more"),
    [
        *((name, 1) for name in CASES if name not in IN_SOAK),
        *(pytest.param(name, 20, marks=pytest.mark.soak) for name in CASES),
    ],
)
def test_no_event_tells_neighbouring_tables_apart(name, more):
    _, unit = CASES[name]
    rng = random.Random(f"{SEED} {name}")
    pairs = [([*OTHERS, HER if unit != "row" else HER[:1]], list(OTHERS))]
    pairs += [at_random(rng, by_row=unit == "row") for _ in range(PAIRS * more)]
    claim = sf.PureDP(1)
    if "found keys" in name or "words" in name:
        claim = sf.ApproxDP(1, 0.01)
    asked.cache_clear()

    def box(people):
        return asked(tuple(row for rows in people for row in rows), name)()

    for side in (side for pair in pairs for side in pair):
        box(side)  # opens its session, which is not to be timed
    verdict = sf.audit.check(
        box,
        claim,
        pairs=pairs,
        samples=RUNS * more,
        seconds=SECONDS * more,
        confidence=1 - 1e-5,
        seed=None,
        processes=1,
    )
    assert not verdict.refuted, f"SFUMATO_AUDIT_SEED={SEED}: {verdict.headline}"


def test_the_same_audit_finds_noise_that_is_too_small(monkeypatch):
    from sfumato.ask.price import allocation

    honest = allocation.geometric
    monkeypatch.setattr(allocation, "geometric", lambda size, epsilon: honest(size / 4, epsilon))
    asked.cache_clear()
    verdict = sf.audit.check(
        lambda people: asked(tuple(row for rows in people for row in rows), "count")(),
        sf.PureDP(1),
        pairs=[([*OTHERS, HER], list(OTHERS))],
        samples=RUNS,
        seconds=60,
        processes=1,
    )
    asked.cache_clear()
    assert verdict.refuted
