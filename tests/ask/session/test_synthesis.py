"""Synthetic copies from a session: what makes two requests the same one."""

from __future__ import annotations

import sfumato as sf

TOWNS = [f"town {i}" for i in range(10)]
OTHERS = [*TOWNS[:9], "elsewhere"]


def test_copies_with_other_public_lists_are_other_copies():
    """A column shows a long list by its size; the ledger must tell lists of one size apart."""
    people = {"town": TOWNS * 30, "age": [30 + i % 5 for i in range(300)]}
    rules = {"unit": "row", "bounds": {"age": (0, 100)}, "budget": sf.PureDP(9)}
    with sf.Session(people, **rules) as session:
        left = []
        for listed in (TOWNS, OTHERS, TOWNS):
            columns = {"town": sf.dp.Column(values=listed)}
            made = session.synthesize(epsilon=3, columns=columns, size=30)
            left.append(session.remaining.epsilon)
            assert set(made.table["town"].dropna()) <= set(listed)
    assert left == [6, 3, 3]
