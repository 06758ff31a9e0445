"""Turns: one after the other, in order, and nobody waits for somebody who takes long."""

from __future__ import annotations

import asyncio

from sfumato.service import turns
from sfumato.service.turns import Turns


def test_the_next_one_begins_when_the_one_before_is_over(monkeypatch):
    monkeypatch.setattr(turns, "LONG", 60)

    async def run():
        line, begun = Turns(), []
        first, second, third = (line.begin(lambda i=i: begun.append(i)) for i in range(3))
        assert begun == [0]
        third.end()  # who does not hold the turn ends nobody's
        second.end()
        assert begun == [0]
        first.end()
        assert begun == [0, 1]
        first.end()  # a second time changes nothing
        assert begun == [0, 1]
        second.end()
        assert begun == [0, 1, 2]
        third.end()
        line.begin(lambda: begun.append(3))
        assert begun == [0, 1, 2, 3]

    asyncio.run(run())


def test_who_takes_long_keeps_nobody_waiting():
    async def run():
        line, begun = Turns(), []
        for i in range(3):
            line.begin(lambda i=i: begun.append(i))
        assert begun == [0]
        await asyncio.sleep(4 * turns.LONG)
        assert begun == [0, 1, 2]

    asyncio.run(run())


def test_a_start_that_fails_stops_nobody():
    async def run():
        line, begun = Turns(), []
        try:
            line.begin(lambda: 1 / 0)
        except ZeroDivisionError:
            begun.append("failed")
        line.begin(lambda: begun.append("next"))
        await asyncio.sleep(4 * turns.LONG)
        assert begun == ["failed", "next"]

    asyncio.run(run())
