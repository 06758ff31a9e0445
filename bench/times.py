"""When answers come: do their times tell a table from its neighbour, or from a very different one?

A real server, and analysts who begin at a tick, the moment that lets them see most. Tables are asked
in random order, so that whatever else the machine does falls on all of them. The times that the
clients saw, to a tenth of a millisecond, and the numbers of ticks are handed to `sf.audit.check`.
`python bench/times.py [REQUESTS] [TICK] [ANALYSTS]`; REQUESTS is per table.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tests.service.live import serving  # noqa: E402 - the same
from tests.service.load import send_one  # noqa: E402 - the same
from tests.service.setup_site import add_table, make_site  # noqa: E402 - the same

import sfumato as sf  # noqa: E402 - after the path
from sfumato import examples  # noqa: E402 - the same

LATE = 0.05
"""The share of answers that a control puts off by a tick, which the check must see."""

CALM = 0.98
"""The share of answers at one and the same tick from which on that control cannot fail by chance:
of 5,000, 2 % come late, or 7 % with it, and what is shown is seven standard errors above ε = 0.1."""

SIZES = {"people": 100, "neighbour": 101, "other": 20_000}


async def measure(port, tokens, tick, wanted):
    """Ask until every table has its times; give them in seconds, by table."""
    found = {name: [] for name in SIZES}
    left = [name for name in SIZES for _ in range(wanted)]
    random.shuffle(left)
    number = iter(range(10**9))

    async def analyst(token):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while left:
            name = left.pop()
            sql = f"SELECT COUNT(*) AS n FROM {name} WHERE salary > {next(number)}"
            body = json.dumps({"question": sql, "price": {"epsilon": "0.0001"}}).encode()
            head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json",
                    "Prefer": "wait=30"}  # fmt: skip
            await asyncio.sleep(tick - time.time() % tick)
            begun = time.time()
            path = f"/api/v1/datasets/{name}/questions"
            status, _ = await send_one(reader, writer, "POST", path, head, body)
            assert status == 200, (status, name)
            found[name].append(time.time() - begun)
        writer.close()

    await asyncio.gather(*(analyst(token) for token in tokens))
    return found


def told_apart(first, second, digits):
    """Judge two lists of times as if they were outputs on neighbouring data."""
    columns = {1: iter(first), 2: iter(second)}

    def when(data):
        return round(next(columns[len(data)]), digits)

    return sf.audit.check(
        when, sf.PureDP(0.1), pairs=[([0], [0, 0])], samples=len(first) // 2, processes=1,
        batched=False,
    )  # fmt: skip


def main():
    given = [float(one) for one in sys.argv[1:]] + [None] * 3
    wanted, tick, analysts = int(given[0] or 10_000), given[1] or 0.1, int(given[2] or 8)
    folder = Path(tempfile.mkdtemp(prefix="sfumato-times-"))
    settings, tokens = make_site(
        folder / "site", analysts=analysts, budget="1000000", rows=SIZES["people"], tick=tick
    )
    for name in ("neighbour", "other"):
        add_table(settings, name, examples.patients(SIZES[name], 1), tick=tick)
    with serving(settings.folder, "--rate", "1000000") as live:
        asyncio.run(measure(live.port, tokens, tick, 20))  # opened, compiled
        found = asyncio.run(measure(live.port, tokens, tick, wanted))
    for name, times in found.items():
        cuts = statistics.quantiles(times, n=20)
        print(f"{name:10} {SIZES[name]:>6} rows, {len(times):,} requests: median "
              f"{1e3 * cuts[9]:.1f} ms, 5 % {1e3 * cuts[0]:.1f}, 95 % {1e3 * cuts[18]:.1f}")  # fmt: skip
    for name in ("neighbour", "other"):
        for what, digits, unit in (("times", 4, 1.0), ("ticks", 0, tick)):
            pair = ([t / unit for t in found["people"]], [t / unit for t in found[name]])
            print(f"people and {name}, {what}: {told_apart(*pair, digits)}")
    later = [moment + tick for moment in found["neighbour"]]
    print(f"control, one tick later: {told_apart(found['people'], later, 4)}")
    few = [moment + tick * (random.random() < LATE) for moment in found["neighbour"]]
    pair = ([t / tick for t in found["people"]], [t / tick for t in few])
    often = max(Counter(round(t) for t in pair[0]).values()) / len(pair[0])
    how = "calm" if often >= CALM else "busy"
    print(f"control, {LATE:.0%} one tick later ({how}): {told_apart(*pair, 0)}")


if __name__ == "__main__":
    main()
