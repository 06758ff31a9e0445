"""When answers come: at a tick, whatever the rows; and times do not tell tables apart."""

from __future__ import annotations

import os
import time

import pytest

import sfumato as sf
from sfumato.govern.office import questions


def ticks_of(site, dataset, count, first=0):
    """Ask, and give for each answer how many ticks after the question it could be seen."""
    client = site.client("analyst", token=True)
    tick = site.house.listed(dataset).facts.tick
    found = []
    for number in range(first, first + count):
        body = {"question": f"SELECT COUNT(*) FROM {dataset} WHERE salary > {number}",
                "price": {"epsilon": "0.001"}}  # fmt: skip
        time.sleep(tick - time.time() % tick)  # begin at a tick
        started = time.time()
        told = client.post(
            f"/api/v1/datasets/{dataset}/questions", json=body, headers={"Prefer": "wait=20"}
        ).json()
        row = questions.find_question(site.house.office, told["id"])
        found.append(round((row["shown"] - started) / tick + 0.49))
    return found


def test_the_tick_tells_no_table_from_another(site):
    """Tables of 100 and of 20,000 rows: what an analyst can see is the number of ticks."""
    site.register("few", 100, seed=11, tick=1.0)
    site.register("many", 20_000, seed=12, tick=1.0)
    for name in ("few", "many"):
        ticks_of(site, name, 1, first=1000)  # opened once
    few, many = ticks_of(site, "few", 4), ticks_of(site, "many", 4)
    # A busy machine may need a second tick, and needs it for either table.
    assert set(few) | set(many) <= {1, 2, 3}, (few, many)


@pytest.mark.soak
@pytest.mark.parametrize("rows", [101, 20_000])
def test_times_of_neighbouring_and_of_other_tables_are_not_told_apart(site, rows):
    """`sf.audit.check` on the numbers of ticks, against a table of 100 rows."""
    samples = int(os.environ.get("SFUMATO_TIMES", "10000"))
    tick = float(os.environ.get("SFUMATO_TICK", "0.25"))
    names = {100: f"of100_{rows}", rows: f"of{rows}"}
    for size, name in names.items():
        site.register(name, size, seed=21 + size + rows, tick=tick, budget="1000000")
        ticks_of(site, name, 3, first=1_000_000)
    asked = iter(range(10**6))

    def when(table):
        [found] = ticks_of(site, names[len(table)], 1, first=next(asked))
        return found

    pairs = [([0] * 100, [0] * rows)]
    found = sf.audit.check(
        when, sf.PureDP(0.1), pairs=pairs, samples=samples, processes=1, batched=False
    )
    print(f"{rows} rows, {samples} samples: {found}")
    assert not found.refuted
