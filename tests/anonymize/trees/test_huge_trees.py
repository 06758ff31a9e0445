"""Records with thousands of children are merged form by form, as cheaply as child by child."""

from __future__ import annotations

import numpy as np
import pytest
from chance import seeds

import sfumato as sf
from sfumato.anonymize.trees import merge_kernel
from sfumato.anonymize.trees.tree_arrays import make_forest

SCHEMA = sf.Schema(quasi=["town", "visits.ward"], sensitive=["visits.ill"])


def record(wards, town="x"):
    return {"town": town, "visits": [{"ward": str(w), "ill": "flu"} for w in wards]}


def test_thousands_of_visits():
    records = [record(i % 7 for i in range(4_000))] * 2 + [record([1]), record([2])]
    release = sf.anonymize(sf.read(records, shape="trees", schema=SCHEMA), sf.KAnonymity(2))
    assert release.verify().holds
    assert sorted(len(r["visits"]) for r in release.data) == [1, 1, 4_000, 4_000]


@seeds(20, few=5)
def test_many_children_meet_as_cheaply_as_few(seed):
    """Where alike children can meet, the greedy way by forms is the best assignment."""
    chance = np.random.default_rng(seed)
    wards = chance.integers(0, 4, 12)
    first, second = record(wards), record(chance.permutation(wards)[:9])
    forest = make_forest(sf.read([first, second], shape="trees", schema=SCHEMA))
    a, b = forest.tree(0), forest.tree(1)
    assert merge_kernel.EXACT >= 12 * 9
    exact = merge_kernel.merge_cost(forest.model, a, b, 1)
    table = merge_kernel.cost_table.py_func(forest.model, a, b, 1)
    at = merge_kernel._places.py_func(a, b)
    (c,) = [t for t in range(len(forest.model.slots)) if t]
    ends = (a.low[0, 0], a.high[0, 0], b.low[0, 0], b.high[0, 0], a.forms[c], b.forms[c])
    width = b.forms[c + 1] - b.forms[c]
    for meet in (merge_kernel._meet, merge_kernel._meet_many):
        partner = meet(a, b, 1, table, at[c], width, ends)
        met = partner[partner >= 0]
        assert len(set(met.tolist())) == len(met) == 9
    cost = 3.0  # three visits of the first are left out, the others meet for nothing
    assert exact == pytest.approx(cost)
