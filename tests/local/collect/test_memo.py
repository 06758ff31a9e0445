"""Memory on a device: copies instead of fresh reports, and ε over time stated as it is."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom, chi2

from sfumato.dp.noise.stream import keyed, stream
from sfumato.errors import ParameterError
from sfumato.local.collect.memo import Memo
from sfumato.local.protocols.grr import GRR
from sfumato.local.protocols.hadamard import Hadamard
from sfumato.local.protocols.olh import OLH
from sfumato.local.protocols.subset import SubsetSelection
from sfumato.local.protocols.unary import OUE, SUE

UNLIKELY = 1e-6
KINDS = (GRR, SUE, OUE, OLH, Hadamard, SubsetSelection)


def row(report):
    return b"".join(part.tobytes() for part in report.payload.values())


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_answer_gives_the_same_report(kind):
    protocol = kind(30, epsilon=1)
    memo = Memo(protocol, "cups", bytes(range(32)))
    first = row(memo.perturb(7))
    assert {row(memo.perturb(7)) for _ in range(50)} == {first}
    assert row(Memo(protocol, "cups", bytes(range(32))).perturb(7)) == first
    others = {row(Memo(protocol, "cups").perturb(7)) for _ in range(40)}
    others |= {row(Memo(protocol, f"q{i}", bytes(range(32))).perturb(7)) for i in range(40)}
    assert len(others) > 15
    assert "x01" not in repr(memo)


PINNED = {
    GRR: "02",
    SUE: "a5115015",
    OUE: "81a25920",
    OLH: "6d8a405b145c5f3502",
    Hadamard: "13",
    SubsetSelection: "14611500",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_device_that_is_upgraded_does_not_report_a_second_time(kind):
    """Whoever changes how coins are drawn for one person doubles the ε of everybody asked again."""
    assert (
        row(Memo(kind(30, epsilon=1), "golden", bytes(range(32))).perturb(7)).hex() == PINNED[kind]
    )


@pytest.mark.parametrize("kind", [GRR, OUE, Hadamard, SubsetSelection])
def test_over_all_devices_a_remembered_report_has_the_exact_distribution(kind):
    protocol, n = kind(4, epsilon=1), 2_500
    expected = {
        tuple(np.atleast_1d(key).tolist()): float(p) for key, p in protocol.distribution(2).items()
    }
    counts = Counter()
    for _ in range(n):
        part = next(iter(Memo(protocol, "q").perturb(2).payload.values()))
        if kind in {OUE, SubsetSelection}:
            bits = np.unpackbits(part, count=4, bitorder="little")
            counts[tuple((bits if kind is OUE else np.flatnonzero(bits)).tolist())] += 1
        else:
            counts[(int(part[0]),)] += 1
    assert set(counts) <= set(expected)
    statistic = sum((counts[key] - n * p) ** 2 / (n * p) for key, p in expected.items())
    assert chi2.sf(statistic, len(expected) - 1) > UNLIKELY


def test_fifty_reports_reveal_no_more_than_one():
    """Somebody who averages is right with e^ε/(e^ε+d−1) at most; without memory, nearly always."""
    protocol, people, d = GRR(5, epsilon=1), 150, 5
    hits = fresh = 0
    for person in range(people):
        truth = person % d
        memo = Memo(protocol, "q")
        sent = np.concatenate([memo.perturb(truth).payload["value"] for _ in range(50)])
        hits += int(np.bincount(sent, minlength=d).argmax() == truth)
        guess = np.bincount(protocol.perturb([truth] * 50).payload["value"], minlength=d).argmax()
        fresh += int(guess == truth)
    bound = math.e / (math.e + d - 1)
    assert binom.sf(hits - 1, people, bound) > UNLIKELY
    assert fresh > 0.9 * people


def test_epsilon_over_time_is_stated_honestly():
    memo = Memo(GRR(5, epsilon=0.5), "q")
    once = memo.protocol.guarantee.epsilon
    same = memo.over_time(50)
    assert same.epsilon == pytest.approx(once)
    assert same.epsilon <= 0.5
    assert same.guarantee.epsilon == same.epsilon
    assert "never changed" in str(same)
    moved = memo.over_time(50, distinct_answers=3)
    assert moved.epsilon == pytest.approx(3 * once)
    assert "when the answer changed is not protected" in str(moved)
    for reports, answers in ((0, 1), (5, 6), (5, 0)):
        with pytest.raises(ParameterError):
            memo.over_time(reports, distinct_answers=answers)
    with pytest.raises(ParameterError, match="32 bytes"):
        Memo(GRR(5, epsilon=1), "q", b"short")


def test_a_keyed_stream_is_the_secrets_alone_and_leaves_no_trace():
    outside = stream()
    with keyed(bytes(32)) as one:
        first = one.bytes(100_000)
        assert stream() is one
    with keyed(bytes(32)) as two:
        assert two.bytes(100_000) == first
    with keyed(bytes([1] * 32)) as three:
        assert three.bytes(64) != first[:64]
    assert stream() is outside
    assert stream().bytes(64) != first[:64]
    assert np.bincount(np.frombuffer(first, np.uint8), minlength=256).min() > 250
    with pytest.raises(ValueError, match="32 bytes"), keyed(b"short"):
        pass
