"""Numbers in intervals: exact at boundaries, nested, and with spans that count integers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.hierarchies.checks import checked_rows
from sfumato.data.hierarchies.hierarchy import MISSING, Hierarchy
from sfumato.errors import HierarchyError, ParameterError


def labels(hierarchy, value):
    return [hierarchy.label(hierarchy.codes[value], level) for level in range(hierarchy.height)]


def holds(label, value):
    """Read a label as a person would, with exact fractions, and say if it holds the value."""
    x = Fraction(value)
    if label == "*" or label == value:
        return True
    if label.startswith("<"):
        return x < Fraction(label[1:])
    if label.startswith(">="):
        return x >= Fraction(label[2:])
    assert label[0] == "["
    assert label[-1] == ")"
    low, high = label[1:-1].split(",")
    return Fraction(low) <= x < Fraction(high)


def test_equal_widths_join_neighbours():
    built = Hierarchy.intervals(width=5, levels=3).over(["37", "35", "34", "40"], "age")
    assert labels(built, "37") == ["37", "[35,40)", "[30,40)", "[20,40)", "*"]
    assert labels(built, "34") == ["34", "[30,35)", "[30,40)", "[20,40)", "*"]
    assert labels(built, "40") == ["40", "[40,45)", "[40,50)", "[40,60)", "*"]


def test_a_value_on_a_boundary_is_in_the_interval_that_starts_there():
    built = Hierarchy.intervals(width=10).over(["20", "30", "-10", "0", "29"], "x")
    assert labels(built, "30")[1] == "[30,40)"
    assert labels(built, "20")[1] == "[20,30)"
    assert labels(built, "29")[1] == "[20,30)"
    assert labels(built, "-10")[1] == "[-10,0)"
    assert labels(built, "0")[1] == "[0,10)"


def test_fractions_are_exact_where_binary_ones_are_not():
    built = Hierarchy.intervals(width=0.1).over(["0.3", "0.6", "0.7", "0.1"], "x")
    assert [labels(built, v)[1] for v in ("0.1", "0.3", "0.6", "0.7")] == [
        "[0.1,0.2)", "[0.3,0.4)", "[0.6,0.7)", "[0.7,0.8)",
    ]  # fmt: skip


def test_low_and_high_code_the_ends():
    rule = Hierarchy.intervals(width=20, low=10, high=100)
    built = rule.over(["9", "10", "29", "30", "99", "100", "400"], "x")
    assert labels(built, "9") == ["9", "<10", "<10", "<10", "*"]
    assert labels(built, "10") == ["10", "[10,30)", "[10,50)", "[10,90)", "*"]
    assert labels(built, "99") == ["99", "[90,100)", "[90,100)", "[90,100)", "*"]
    assert labels(built, "100") == ["100", ">=100", ">=100", ">=100", "*"]
    assert labels(built, "400") == ["400", ">=100", ">=100", ">=100", "*"]


def test_a_declared_range_makes_levels_independent_of_the_data():
    rule = Hierarchy.intervals(width=5, low=0, high=100)
    assert rule.over(["3"], "x").height == rule.over(["3", "99"], "x").height == 7


def test_numbers_on_both_sides_of_zero_end_in_one_root():
    built = Hierarchy.intervals(width=1).over(["-3", "0", "2"], "x")
    assert labels(built, "-3") == ["-3", "[-3,-2)", "[-4,-2)", "[-4,0)", "*"]
    assert labels(built, "2") == ["2", "[2,3)", "[2,4)", "[0,4)", "*"]


def test_the_leaves_stand_by_size_and_a_missing_cell_last():
    built = Hierarchy.intervals(width=5).over(["10", MISSING, "9", "-1", "9.0", "100"], "x")
    assert built.leaves == ("-1", "9", "9.0", "10", "100", MISSING)
    assert built.ordered
    assert labels(built, MISSING) == [MISSING] * (built.height - 1) + ["*"]


def test_spans_count_the_integers_of_a_node():
    values = [str(v) for v in range(30, 40)]
    built = Hierarchy.intervals(width=5, levels=2).over(values, "age")
    assert built.spans[0].tolist() == [1.0] * 10
    assert built.spans[1].tolist() == [5.0, 5.0]
    assert built.spans[2].tolist() == [10.0]
    assert built.spans[3].tolist() == [10.0]
    assert Hierarchy.intervals(width=5).over(["1.5", "9"], "x").spans == ()


def test_the_loss_of_the_worked_example():
    values = [str(v) for v in range(30, 40)]
    built = Hierarchy.intervals(width=5, levels=1).over(values, "age")
    assert built.loss[0].tolist() == [0.0, 4 / 9, 1.0]


@pytest.mark.parametrize("values", [["5"], ["5", MISSING], [MISSING]])
def test_hardly_any_values_still_have_a_root(values):
    built = Hierarchy.intervals().over(values, "x")
    assert built.labels[-1] == ("*",)
    assert set(built.leaves) == set(values)


def test_widths_are_round_when_not_given():
    built = Hierarchy.intervals().over([str(v) for v in range(17, 91)], "age")
    assert labels(built, "37") == [
        "37", "[35,40)", "[30,40)", "[20,40)", "[0,40)", "[0,80)", "*",
    ]  # fmt: skip
    pay = Hierarchy.intervals().over(["21500", "150000", "61250"], "salary")
    assert labels(pay, "21500")[1] == "[0,80000)"  # narrower ones would join nothing


def test_quantiles_hold_equally_many_records():
    counts = {str(v): 1 for v in range(100)}
    built = Hierarchy.quantiles(4).over(list(counts), "x", counts)
    assert sorted(set(built.labels[1])) == sorted(["<25", "[25,50)", "[50,75)", ">=75"])
    assert built.leaf_counts[1].tolist() == [25, 25, 25, 25]
    assert built.labels[2] == ("<50", ">=50")


def test_quantiles_go_by_records_and_not_by_values():
    counts = {"1": 70, "2": 10, "3": 10, "4": 10}
    built = Hierarchy.quantiles(2).over(list(counts), "x", counts)
    assert built.labels[1] == ("<2", ">=2")
    even = Hierarchy.quantiles(2).over(list(counts), "x")
    assert even.labels[1] == ("<3", ">=3")


def test_own_cut_points():
    built = Hierarchy.cuts([[18, 40, 65], [40]]).over(["17", "18", "39", "40", "65", "90"], "age")
    assert [labels(built, v)[1:3] for v in ("17", "18", "39", "40", "65", "90")] == [
        ["<18", "<40"], ["[18,40)", "<40"], ["[18,40)", "<40"], ["[40,65)", ">=40"],
        [">=65", ">=40"], [">=65", ">=40"],
    ]  # fmt: skip
    assert Hierarchy.cuts([18, 65]).over(["20"], "age").labels[1] == ("[18,65)",)


numbers = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
)


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(numbers, min_size=1, max_size=30, unique=True),
    width=st.sampled_from(["0.01", "0.1", "0.25", "1", "3", "7.5", "1000"]),
    fanout=st.integers(2, 5),
    low=st.none() | st.integers(-50, 50),
    missing=st.booleans(),
)
def test_every_label_holds_its_values_and_the_levels_nest(values, width, fanout, low, missing):
    rule = Hierarchy.intervals(width=width, fanout=fanout, low=low)
    built = rule.over([*values, *([MISSING] * missing)], "x")
    checked_rows(built.rows(), "built")
    for row in built.rows():
        if row[0] != MISSING:
            assert all(holds(label, row[0]) for label in row)
    assert [Fraction(v) for v in built.leaves if v] == sorted(Fraction(v) for v in values)


@settings(max_examples=60, deadline=None)
@given(
    counts=st.dictionaries(numbers, st.integers(1, 50), min_size=1, max_size=30),
    n=st.integers(2, 8),
    fanout=st.integers(2, 3),
)
def test_quantiles_nest_and_their_labels_hold(counts, n, fanout):
    built = Hierarchy.quantiles(n, fanout=fanout).over(list(counts), "x", counts)
    checked_rows(built.rows(), "built")
    assert all(holds(label, row[0]) for row in built.rows() for label in row)
    assert len(built.labels[1]) <= n


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Hierarchy.intervals(width=0), ["width", "greater than 0"]),
        (lambda: Hierarchy.intervals(width="wide"), ["width"]),
        (lambda: Hierarchy.intervals(fanout=1), ["fanout", "2"]),
        (lambda: Hierarchy.intervals(low=5, high=5), ["low", "high", "5"]),
        (lambda: Hierarchy.quantiles(1), ["'n'", "2"]),
        (lambda: Hierarchy.cuts([[1, 2], [3]]), ["level 2", "level 1"]),
        (lambda: Hierarchy.cuts([[2, 1]]), ["level 1"]),
        (lambda: Hierarchy.cuts([]), ["level 1"]),
    ],
)
def test_wrong_options_are_named(make, words):
    with pytest.raises(ParameterError) as caught:
        make()
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("bad", ["n/a", "nan", "inf", "1,5", " 5", "٣"])
def test_what_is_no_number_is_refused_without_being_quoted(bad):
    with pytest.raises(HierarchyError, match="1 distinct value") as caught:
        Hierarchy.intervals(width=5).over(["3", bad], "age")
    assert bad not in str(caught.value).replace("finite", "")
    assert "'age'" in str(caught.value)


def test_numbers_too_far_from_the_start_are_refused():
    with pytest.raises(HierarchyError, match="too large"):
        Hierarchy.intervals(width=1).over(["1e300", "2"], "x")


def test_huge_integers_are_exact():
    big = 10**30
    built = Hierarchy.intervals(width=10, low=big).over([str(big + 9), str(big + 10)], "x")
    assert built.labels[1] == (f"[{big},{big + 10})", f"[{big + 10},{big + 20})")
