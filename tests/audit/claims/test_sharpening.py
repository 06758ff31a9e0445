"""Counting on with finalists: what is kept when the order of outputs changes."""

import numpy as np
import pytest

from sfumato.audit.claims.evidence.ends import count_ends
from sfumato.audit.claims.evidence.lookup import Lookup
from sfumato.audit.claims.evidence.scores import Atoms
from sfumato.audit.claims.outputs import read
from sfumato.audit.claims.sharpening import Counted


def outputs(rng, kinds, runs, shift):
    drawn = np.minimum(rng.geometric(0.15, runs) - 1, kinds - 1)
    return read((drawn + shift * (rng.random(runs) < 0.1)).astype(np.int64), runs)


def learned(rng, kinds):
    first, second = outputs(rng, kinds, 2_000, 0), outputs(rng, kinds, 2_000, 1)
    table = Lookup.learn(first.whole(), second.whole(), most=kinds - 3)  # some stay unknown
    return Counted(Atoms(table, {}), np.unique(np.append(table.ratios, 0.0)))


@pytest.mark.parametrize("seed", range(4))
def test_few_outputs_keep_their_counts_under_a_new_order(seed):
    rng = np.random.default_rng(seed)
    counted = learned(rng, 12)
    parts = [(outputs(rng, 12, 3_000, 0), outputs(rng, 12, 2_500, 1)) for _ in range(3)]
    for first, second in parts:
        counted.count(first, second)
    before = counted.score.table.ratios
    counted.relearn()
    assert not np.array_equal(before, counted.score.table.ratios)
    for after in range(2):  # as if all had been counted by the new order from the beginning
        found = [
            sum(count_ends(counted.score, counted.thresholds, *part)[i].first for part in parts)
            for i in (0, 1)
        ]
        others = [
            sum(count_ends(counted.score, counted.thresholds, *part)[i].second for part in parts)
            for i in (0, 1)
        ]
        assert [ends.above for ends in counted.ends] == [False, True]
        for ends, one, other in zip(counted.ends, found, others, strict=True):
            assert np.array_equal(ends.first, one)
            assert np.array_equal(ends.second, other)
            assert ends.runs == (3_000 * len(parts), 2_500 * len(parts))
        if not after:
            parts.append((outputs(rng, 12, 3_000, 0), outputs(rng, 12, 2_500, 1)))
            counted.count(*parts[-1])


def test_many_outputs_are_counted_anew_under_a_new_order():
    rng = np.random.default_rng(9)
    drawn = [read(rng.integers(0, 200, 4_000), 4_000) for _ in range(4)]
    table = Lookup.learn(drawn[0].whole(), drawn[1].whole(), most=4096)
    counted = Counted(Atoms(table, {}), np.unique(table.ratios))
    counted.count(drawn[2], drawn[3])
    counted.relearn()
    assert counted.ends == []
