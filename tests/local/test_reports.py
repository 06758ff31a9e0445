"""Domains refuse strangers without quoting them; reports refuse what no device can have sent."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import DataError, ParameterError
from sfumato.local import Domain, Reports, well_formed


def test_domains_number_their_values():
    assert Domain.of(4).values == range(4)
    assert Domain.of(["a", "b"]).encode(["b", "a", "b"]).tolist() == [1, 0, 1]
    assert Domain.of(range(10, 30, 5)).encode([25, 10]).tolist() == [3, 0]
    assert Domain.of(range(5, 0, -1)).encode(np.array([1, 5])).tolist() == [4, 0]
    assert Domain.of((1, "a", None)).encode([None, "a", 1]).tolist() == [2, 1, 0]
    assert Domain.of(np.array(["x", "y"])).encode(np.array(["y"])).tolist() == [1]
    assert len(Domain.of(range(2**48))) == 2**48
    assert 7 in Domain.of(8)
    assert Domain.of(3).encode([]).size == 0


@pytest.mark.parametrize("bad", [1, 0, True, "abc", ["a"], ["a", "a"], [[1], [2]]])
def test_bad_domains_are_refused(bad):
    with pytest.raises(ParameterError):
        Domain.of(bad)


@pytest.mark.parametrize(("domain", "values"), [
    (["a", "b"], ["a", "SECRET"]), (10, [3, 10]), (10, [-1]), (10, [2.0]), (10, [None, 1]),
    (range(0, 10, 2), [3]), (10, np.array([2**64 - 1], dtype=np.uint64)), (10, 3), (10, [[1]]),
    (["a", "b"], [["a"]]), (["a", "b"], "ab"),
])  # fmt: skip
def test_strangers_are_refused_without_being_quoted(domain, values):
    with pytest.raises(DataError) as raised:
        Domain.of(domain).encode(values)
    assert "SECRET" not in str(raised.value)


def test_what_is_perturbed_is_well_formed(kind):
    for d in (2, 9, 64, 100):
        protocol = kind(d, epsilon=1)
        reports = protocol.perturb(np.arange(200) % d)
        assert well_formed(protocol, reports.payload).all()
        assert len(Reports.of(protocol, reports.payload)) == 200
        assert reports.nbytes * 8 == 200 * protocol.report_bits


def broken(protocol, payload):
    """Spoil row 3 in a way that fits the type."""
    spoilt = {name: part.copy() for name, part in payload.items()}
    if "bits" in spoilt:
        spoilt["bits"][3, -1] |= 0x80  # a bit beyond the last value
    elif "seed" in spoilt:
        spoilt["seed"][3, 1] = 2**31 - 1
    else:
        name = protocol.fields[0].name
        spoilt[name][3] = protocol.fields[0].bound
    return spoilt


def test_malformed_rows_are_found_and_refused(kind):
    protocol = kind(100, epsilon=1)
    payload = broken(protocol, protocol.perturb(np.arange(20)).payload)
    good = well_formed(protocol, payload)
    assert good.sum() == 19
    assert not good[3]
    with pytest.raises(DataError, match="1 reports are malformed"):
        Reports.of(protocol, payload)


def test_a_set_of_the_wrong_size_is_refused():
    subset = sf.local.SubsetSelection(16, epsilon=1)
    payload = {"bits": subset.perturb(np.zeros(5, int)).payload["bits"].copy()}
    payload["bits"][2] = 0xFF
    assert well_formed(subset, payload).tolist() == [True, True, False, True, True]


def test_a_cell_beyond_g_is_refused():
    olh = sf.local.OLH(50, epsilon=1)
    reports = olh.perturb([1, 2, 3])
    cells = reports.payload["value"].copy()
    cells[0] = olh.g
    assert well_formed(olh, {**reports.payload, "value": cells}).tolist() == [False, True, True]


def test_parts_of_the_wrong_shape_are_refused():
    grr = sf.local.GRR(10, epsilon=1)
    for payload in (
        {"value": np.zeros(3, dtype=np.int64)},
        {"value": np.zeros((3, 2), dtype=np.uint8)},
        {"other": np.zeros(3, dtype=np.uint8)},
        {},
    ):
        with pytest.raises(DataError):
            Reports.of(grr, payload)
    olh = sf.local.OLH(10, epsilon=1)
    with pytest.raises(DataError, match="lengths differ"):
        Reports.of(olh, {"seed": np.zeros((3, 2), np.uint32), "value": np.zeros(2, np.uint8)})


def test_reports_under_different_promises_are_never_mixed():
    one, two = sf.local.GRR(10, epsilon=1), sf.local.GRR(10, epsilon=2)
    same = sf.local.GRR(range(10), epsilon="1.0")
    assert one == same
    assert hash(one) == hash(same)
    with pytest.raises(DataError, match="cannot be put together"):
        _ = one.perturb([1]) + two.perturb([1])
    with pytest.raises(DataError, match="cannot be put together"):
        one.estimate(two.perturb([1]))
    with pytest.raises(DataError, match="cannot be put together"):
        _ = one.aggregate(one.perturb([1])) + two.aggregate(two.perturb([1]))
    assert len(one.perturb([1]) + same.perturb([2])) == 2


def test_sums_cannot_be_changed_behind_the_back():
    grr = sf.local.GRR(10, epsilon=1)
    found = grr.aggregate(grr.perturb([1, 2]))
    with pytest.raises(ValueError, match="read-only"):
        found.sums[0] = 7


def test_no_protocol_serves_more_than_it_can():
    huge = range(2**40)
    assert sf.local.OLH(huge, epsilon=1).report_bits == 8 * 13
    for kind in (sf.local.OUE, sf.local.SubsetSelection):
        with pytest.raises(ParameterError, match="OLH"):
            _ = kind(huge, epsilon=1).fields
    for kind in (sf.local.GRR, sf.local.Hadamard, sf.local.ProjectiveGeometry):
        with pytest.raises(ParameterError):
            kind(huge, epsilon=1)


def test_listing_all_reports_is_refused_where_there_are_too_many():
    with pytest.raises(ParameterError, match="up to 20"):
        sf.local.OUE(21, epsilon=1).distribution(0)
    with pytest.raises(ParameterError, match="up to 20"):
        sf.local.SubsetSelection(21, epsilon=1).distribution(0)
    with pytest.raises(ParameterError, match="seed"):
        sf.local.OLH(4, epsilon=1).distribution(0)
