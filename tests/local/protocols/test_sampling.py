"""What is drawn follows the exact distributions: small domains in full, large ones by parts.

Every χ² test raises a false alarm with probability 10⁻⁶; the coins are fixed, so it never flickers.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.local.protocols import bit_kernels, bits, coins, hashing
from sfumato.testing.blackbox import epsilon_lower_bound
from sfumato.testing.mechanisms import chi_square

FALSE_ALARM = 1e-6
Z = 5.0  # standard errors; two-sided false alarm below 10⁻⁶
LISTED = ["GRR", "SUE", "OUE", "SubsetSelection", "Hadamard", "ProjectiveGeometry"]


def outcomes(protocol, reports):
    """Name each report as the exact distribution does."""
    part = reports.payload[protocol.fields[-1].name]
    if protocol.name in {"SUE", "OUE", "SubsetSelection"}:
        plain = np.unpackbits(
            part.reshape(len(reports), -1), axis=1, count=protocol.size, bitorder="little"
        )
        if protocol.name == "SubsetSelection":
            return [tuple(np.flatnonzero(row).tolist()) for row in plain]
        return [tuple(row) for row in plain.tolist()]
    return part.tolist()


def counted(names):
    seen: dict[object, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return seen


def follows(table, names):
    seen = counted(names)
    assert set(seen) <= set(table), "a report of probability 0 was made"
    p_value = chi_square({k: float(p) for k, p in table.items()}, seen, len(names))
    assert p_value > FALSE_ALARM


@pytest.mark.parametrize(
    ("name", "epsilon", "batch"),
    [
        pytest.param(
            name, epsilon, batch, marks=() if (i + k) % 3 == j else pytest.mark.soak,
            id=f"{name}-{'compiled' if batch > 100 else 'plain'}-{epsilon}",
        )
        for i, name in enumerate(LISTED)
        for j, epsilon in enumerate(("0.3", "1", "2.5"))
        for k, batch in enumerate((40_000, 12))
    ],
)  # fmt: skip
def test_reports_follow_their_distribution(name, epsilon, batch, seeded):
    protocol = getattr(sf.local, name)(range(7), epsilon=epsilon)
    total = 40_000 if batch > 100 else 4_800
    names = []
    for _ in range(total // batch):
        names += outcomes(protocol, protocol.perturb(np.full(batch, 4)))
    follows(protocol.distribution(4), names)


def test_cells_follow_their_distribution_given_the_seed(seeded):
    olh = sf.local.OLH(range(1000), epsilon=1)
    reports = olh.perturb(np.full(60_000, 617))
    seeds, cells = reports.payload["seed"].astype(object), reports.payload["value"]
    own = (seeds[:, 0] + seeds[:, 1] * 617) % hashing.PRIME * olh.g // hashing.PRIME
    shift = (cells.astype(np.int64) - own.astype(np.int64)) % olh.g
    other = (1 - olh.keep) / (olh.g - 1)
    follows({0: olh.keep, **dict.fromkeys(range(1, olh.g), other)}, shift.tolist())
    # The seed is uniform and has nothing to do with the value.
    for column in (0, 1):
        follows(
            dict.fromkeys(range(16), Fraction(1, 16)),
            (seeds[:, column] * 16 // hashing.PRIME).tolist(),
        )


@pytest.mark.parametrize(("kind", "value"), [
    (sf.local.Duchi, 0.3), (sf.local.Piecewise, 0.3), (sf.local.Piecewise, -1),
    (sf.local.Hybrid, 0.77), (sf.local.Hybrid, 1),
])  # fmt: skip
def test_means_follow_their_distribution(kind, value, seeded):
    grid = {} if kind is sf.local.Duchi else {"grid": 23}
    protocol = kind((-1, 1), epsilon="1.5", **grid)
    reports = protocol.perturb(np.full(60_000, value))
    follows(protocol.distribution(value), reports.payload["code"].tolist())


def test_square_wave_follows_its_distribution(seeded):
    wave = sf.local.SquareWave((0, 10), epsilon=1, bins=11)
    reports = wave.perturb(np.full(60_000, 9.99))
    follows(wave.distribution(9.99), reports.payload["bin"].tolist())


@pytest.mark.parametrize("epsilon", ["0.01", "1", "4", "15"])
def test_tables_of_bytes_are_exact(epsilon):
    """Decided cases and rests together give every byte its exact probability."""
    q = sf.local.OUE(2, epsilon=epsilon).probabilities.q
    table, cut, rests = bits._tables(q)
    cases = np.bincount(table[:cut], minlength=256)
    assert cases.sum() == cut
    units = 64 * rests.shape[1]
    for byte in range(256):
        ones = byte.bit_count()
        rest = 0
        for word in rests[ones].tolist():
            rest = rest << 64 | word
        total = (int(cases[byte]) + Fraction(rest, 1 << units)) / (1 << 16)
        assert total == q**ones * (1 - q) ** (8 - ones)


def test_bytes_settled_by_the_rests_follow_them(seeded):
    """Send every byte to the rests and compare with their exact weights."""
    q = sf.local.OUE(2, epsilon=1).probabilities.q
    _, cut, rests = bits._tables(q)
    halves = np.full(40_000, 65_535, dtype=np.uint16)
    out = np.zeros(halves.size, dtype=np.uint8)
    done = 0
    while done < halves.size:
        spare = bits.stream().uint64(5_000)
        done = bit_kernels.settle_bytes(halves, cut, rests, spare, out, done)
    weight = [Fraction(int(rests[byte.bit_count(), 0]), 1 << 64) for byte in range(256)]
    follows({byte: w / sum(weight) for byte, w in enumerate(weight)}, out.tolist())


@pytest.mark.parametrize("columns", [64, 1000, 1024, 1027])
def test_many_coins_have_their_rate_in_every_column(columns, seeded):
    rows, q = 20_000, Fraction(1_155_100_000, 2**32)
    packed = bits.coin_rows(rows, columns, q)
    plain = np.unpackbits(packed, axis=1, bitorder="little")
    assert not plain[:, columns:].any()
    counts = plain[:, :columns].sum(axis=0, dtype=np.int64)
    assert (bits.column_counts(packed, columns) == counts).all()
    z = (counts - rows * float(q)) / math.sqrt(rows * float(q * (1 - q)))
    assert np.abs(z).max() < Z + 1  # about a thousand columns
    # Neighbouring bits, also across bytes, are independent.
    both = (plain[:, : columns - 1] & plain[:, 1:columns]).sum(axis=0, dtype=np.int64)
    pair = float(q) ** 2
    z = (both - rows * pair) / math.sqrt(rows * pair * (1 - pair))
    assert np.abs(z).max() < Z + 1
    assert abs(z.mean()) < Z / math.sqrt(columns / 4)


def test_sets_of_a_large_domain(seeded):
    subset = sf.local.SubsetSelection(500, epsilon=1)
    reports = subset.perturb(np.full(20_000, 123))
    plain = np.unpackbits(reports.payload["bits"], axis=1, count=500, bitorder="little")
    assert (plain.sum(axis=1) == subset.omega).all()
    p, q = map(float, subset.probabilities)
    rate = plain.mean(axis=0)
    assert abs(rate[123] - p) < Z * math.sqrt(p * (1 - p) / 20_000)
    z = (np.delete(rate, 123) - q) / math.sqrt(q * (1 - q) / 20_000)
    assert np.abs(z).max() < Z
    assert 0.8 < z.std() < 1.2


def test_a_unary_client_flips_both_ways(seeded):
    """A client that never turns a 1 into a 0 would betray everyone who has the value."""
    for kind in (sf.local.SUE, sf.local.OUE):
        protocol = kind(8, epsilon=1)
        plain = np.unpackbits(
            protocol.perturb(np.full(50_000, 2)).payload["bits"].reshape(-1, 1),
            axis=1, bitorder="little",
        )  # fmt: skip
        p, q = map(float, protocol.probabilities)
        assert abs(plain[:, 2].mean() - p) < Z * math.sqrt(p * (1 - p) / 50_000)
        assert abs(plain[:, 5].mean() - q) < Z * math.sqrt(q * (1 - q) / 50_000)


def test_a_black_box_audit_finds_the_claim_and_no_more(kind, seeded):
    protocol = kind(range(3), epsilon=1)
    samples = []
    for value in (0, 1):
        reports = protocol.perturb(np.full(60_000, value))
        if kind is sf.local.OLH:
            # The worst event given a seed: did the report name the cell of value 0?
            limbs = np.zeros((1, 1), dtype=np.uint32)
            seeds = reports.payload["seed"]
            zero = hashing.cells(hashing.residues(seeds, limbs), protocol.g)
            one = hashing.cells(hashing.residues(seeds, limbs + 1), protocol.g)
            cell = reports.payload["value"].astype(np.int64)
            split = zero != one
            samples.append(2 * (cell == zero)[split] + (cell == one)[split])
        else:
            samples.append(np.array([hash(name) for name in outcomes(protocol, reports)]))
    size = min(map(len, samples))
    bound = epsilon_lower_bound(samples[0][:size], samples[1][:size])
    assert 0.85 < bound <= 1.0


def test_whole_numbers_below_a_bound_are_uniform(seeded):
    words = coins.stream().uint64(200_000)
    follows(
        dict.fromkeys(range(37), Fraction(1, 37)),
        coins.below(37, words >> np.uint64(32)).tolist(),
    )
    # A bound for which almost half of the draws are refused still gives no bias.
    bound = (1 << 31) + 1
    drawn = coins.below(bound, words[:50_000] >> np.uint64(32))
    assert int(drawn.max()) < bound
    follows(dict.fromkeys(range(8), Fraction(1, 8)), (drawn * 8 // np.uint64(bound)).tolist())


def test_no_two_perturbations_are_alike(kind):
    protocol = kind(range(64), epsilon=1)
    values = np.arange(500) % 64
    first, second = protocol.perturb(values), protocol.perturb(values)
    name = protocol.fields[-1].name
    assert (first.payload[name] != second.payload[name]).any()
