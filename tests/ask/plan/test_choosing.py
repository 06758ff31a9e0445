"""The keyed hash: SQL and Python agree on every engine's formulas, and the choice is even."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter

import duckdb
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from sfumato.ask.plan import choice as choosing
from sfumato.ask.plan.dialects import printed
from sfumato.ask.plan.forms import aliased, column, constant, select

P = 2**31 - 1


def test_numbers_by_hand():
    digest = hashlib.md5(b"abcdpann").hexdigest()
    wanted = tuple(int(digest[i : i + 8], 16) % (P - 1) + 1 for i in (0, 8, 16, 24))
    assert choosing.person_numbers(b"\xab\xcd", "ann") == wanted
    digest = hashlib.md5(b"abcdg7\x1f\x1e\x1ftrue\x1f2020-01-02").hexdigest()
    keys = (7, None, True, dt.date(2020, 1, 2))
    assert choosing.group_numbers(b"\xab\xcd", keys)[3] == int(digest[24:], 16) % (P - 1) + 1


def test_rank_and_row_by_hand():
    u, g = (5, 7, 11, 13), (17, 19, 23, 29)
    high, low = 5 * 17 + 7, 7 * 19 + 11
    assert choosing.rank(u, g) == (high**2 + 11 * high) * 2**31 + low**2 + 13 * low
    folded = ((23 * 48271 + (-2) % P) % P * 48271 + 9) % P
    t = (5 * folded + 13) % P
    assert choosing.row_number(u, 23, (-2, 9)) == (t * t + 7 * t) % P


NUMBERS = st.tuples(*[st.integers(1, P - 1)] * 4)


ENDS = ((-(2**62), 2**62), (-P, P - 1), (0, P - 1), (0, P))


@settings(max_examples=80, deadline=None)
@given(NUMBERS, NUMBERS, st.lists(st.sampled_from(ENDS), max_size=3), st.data())
@example((P - 1,) * 4, (P - 1,) * 4, [ENDS[1]], None)
@example((1,) * 4, (1,) * 4, [ENDS[2]], None)
def test_sql_computes_the_same(u, g, ends, data):
    """Every intermediate fits 64 bits, or DuckDB would raise; ends save divisions, not results."""
    z = [low if data is None else data.draw(st.integers(low, high)) for low, high in ends]
    big = [
        *((f"u_{i}", n) for i, n in enumerate(u)),
        *((f"g_{i}", n) for i, n in enumerate(g)),
        *((f"z_{i}", n) for i, n in enumerate(z)),
    ]
    source = ", ".join(f"CAST({n} AS BIGINT) AS {name}" for name, n in big)
    folded = choosing.sql_folded(
        column("g_2"), [choosing.sql_residue(f"z_{i}", pair) for i, pair in enumerate(ends)]
    )
    t = {
        "t_row": choosing.sql_joined("u_0", folded, "u_3"),
        "t_high": choosing.sql_joined("u_0", column("g_0"), "u_1"),
        "t_low": choosing.sql_joined("u_1", column("g_1"), "u_2"),
    }
    drawn = printed(
        select([exp.Star(), *(aliased(s, n) for n, s in t.items())], column("s")), "duckdb"
    )
    rank = choosing.sql_rank(
        choosing.sql_mixed("t_high", "u_2"), choosing.sql_mixed("t_low", "u_3")
    )
    row = choosing.sql_mixed("t_row", "u_1")
    final = f"SELECT {printed(rank, 'duckdb')}, {printed(row, 'duckdb')} FROM ({drawn})"
    (found,) = duckdb.connect().execute(f'WITH "s" AS (SELECT {source}) {final}').fetchall()
    assert found == (choosing.rank(u, g), choosing.row_number(u, g[2], z))


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.none(), st.text(st.characters(exclude_characters="\x00", codec="utf-8")),
                 st.integers(-(2**63), 2**63 - 1), st.booleans(), st.dates()))  # fmt: skip
def test_sql_hashes_the_same_texts(value):
    kinds = {str: "text", bool: "boolean", int: "integer", dt.date: "date", type(None): "text"}
    kind = kinds[type(value)]
    literal = (
        f"CAST({value} AS BIGINT)"
        if kind == "integer"
        else printed(constant(value, kind), "duckdb")
    )
    digest = choosing.sql_group_digest(b"s", [(column("k"), kind)])
    numbers = ", ".join(printed(choosing.sql_number(column("d"), i), "duckdb") for i in range(4))
    inner = f"SELECT {printed(digest, 'duckdb')} AS d FROM (SELECT {literal} AS k)"
    (found,) = duckdb.connect().execute(f"SELECT {numbers} FROM ({inner})").fetchall()
    assert found == choosing.group_numbers(b"s", (value,))


def test_the_choice_is_even():
    groups = [choosing.group_numbers(b"x", (f"g{i}",)) for i in range(20)]
    first = Counter()
    for person in range(4000):
        u = choosing.person_numbers(b"x", person)
        first[min(range(20), key=lambda i: choosing.rank(u, groups[i]))] += 1
    statistic = sum((first[i] - 200) ** 2 / 200 for i in range(20))
    assert statistic < 55  # 19 degrees of freedom: p < 3e-5 beyond
