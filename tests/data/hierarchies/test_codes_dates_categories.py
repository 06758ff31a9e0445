"""Masks, dates, categories and the automatic choice: exact labels, nesting, missing cells."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.hierarchies.checks import checked_rows
from sfumato.data.hierarchies.hierarchy import MISSING, Hierarchy
from sfumato.errors import HierarchyError, ParameterError


def row(hierarchy, value):
    return hierarchy.rows()[hierarchy.codes[value]]


# -- masks -----------------------------------------------------------------------------


def test_digits_are_hidden_from_the_right():
    built = Hierarchy.mask(5).over(["13053", "13068", "14853"], "zip")
    assert row(built, "13053") == ("13053", "1305*", "130**", "13***", "1****", "*")
    assert row(built, "14853") == ("14853", "1485*", "148**", "14***", "1****", "*")


def test_or_from_the_left_with_another_character():
    built = Hierarchy.mask(side="left", char="#").over(["AB12", "CB12"], "plate")
    assert row(built, "AB12") == ("AB12", "#B12", "##12", "###2", "*")


def test_a_masked_digit_stands_for_ten():
    built = Hierarchy.mask(5).over(["13053", "13068"], "zip")
    released = built.labels[2].index("130**")
    assert built.spans[2][released] == 100
    assert [level[0] for level in built.spans] == [1, 10, 100, 1000, 10_000, 10_000]
    assert Hierarchy.mask().over(["A1"], "code").spans == ()


def test_shorter_values_are_filled_up_and_meet_their_prefix():
    built = Hierarchy.mask(5).over(["130", "13053"], "zip")
    assert row(built, "130") == ("130", "130**", "130**", "13***", "1****", "*")
    checked_rows(built.rows(), "built")


def test_a_value_longer_than_the_mask_is_an_error_that_does_not_quote_it():
    with pytest.raises(HierarchyError, match=r"'zip'.*1 distinct value.*5 positions.*has 6") as e:
        Hierarchy.mask(5).over(["13053", "987654"], "zip")
    assert "987654" not in str(e.value)


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.text("01*Aé", min_size=1, max_size=6), min_size=1, max_size=20, unique=True),
    side=st.sampled_from(["left", "right"]),
    missing=st.booleans(),
)
def test_masks_nest_and_show_what_they_keep(values, side, missing):
    built = Hierarchy.mask(side=side).over([*values, *([MISSING] * missing)], "code")
    checked_rows(built.rows(), "built")
    longest = max(map(len, values))
    for leaf, *above in built.rows():
        if leaf == MISSING:
            assert above == [MISSING] * (built.height - 2) + ["*"]
            continue
        for hidden, label in enumerate(above[:-1], start=1):
            shown = longest - hidden
            kept = leaf[:shown] if side == "right" else leaf[-shown:]
            assert len(label) == longest
            assert label.startswith(kept) if side == "right" else label.endswith(kept)
            assert set(label.replace(kept, "", 1)) <= {"*"}


@pytest.mark.parametrize(
    "options", [{"length": 0}, {"side": "middle"}, {"char": "**"}, {"char": ""}]
)
def test_wrong_mask_options(options):
    with pytest.raises(ParameterError, match=f"mask.*{next(iter(options))}"):
        Hierarchy.mask(**options)


# -- dates -----------------------------------------------------------------------------


def test_days_become_months_quarters_years_decades():
    built = Hierarchy.dates().over(["2024-02-29", "2019-12-31", MISSING], "admitted")
    assert built.rows() == [
        ("2019-12-31", "2019-12", "2019-Q4", "2019", "2010s", "*"),
        ("2024-02-29", "2024-02", "2024-Q1", "2024", "2020s", "*"),
        ("", "", "", "", "", "*"),
    ]
    assert built.ordered


def test_spans_are_days():
    built = Hierarchy.dates().over(["2024-02-10"], "d")
    assert [level[0] for level in built.spans] == [1, 29, 91, 366, 3653, 3653]


def test_chosen_levels_another_format_and_times_of_day():
    built = Hierarchy.dates(levels=["year"], format="%d.%m.%Y").over(["03.04.1999"], "born")
    assert built.rows() == [("03.04.1999", "1999", "*")]
    moment = Hierarchy.dates(levels=["month"]).over(["2024-05-06 07:08:09"], "seen")
    assert moment.rows() == [("2024-05-06 07:08:09", "2024-05-06", "2024-05", "*")]
    assert moment.spans == ()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dates(), min_size=1, max_size=15, unique=True))
def test_calendar_labels_hold_their_days(days):
    built = Hierarchy.dates().over([day.isoformat() for day in days], "d")
    checked_rows(built.rows(), "built")
    assert list(built.leaves) == [day.isoformat() for day in sorted(days)]
    for leaf, month, quarter, year, decade, _ in built.rows():
        day = date.fromisoformat(leaf)
        assert leaf.startswith(month)
        assert month.startswith(year)
        assert quarter == f"{year}-Q{'111222333444'[day.month - 1]}"
        assert decade == f"{year[:3]}0s"


@pytest.mark.parametrize("start", [date(2023, 1, 1), date(2024, 1, 1), date(2020, 1, 1)])
def test_the_spans_of_the_months_of_a_year_add_up(start):
    days = [start + timedelta(days=d) for d in range(365)]
    built = Hierarchy.dates().over([d.isoformat() for d in days], "d")
    year = 366 if start.year % 4 == 0 else 365
    assert built.spans[1].sum() == built.spans[2].sum() == built.spans[3].sum() == year


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"levels": ["week"]}, "levels"),
        ({"levels": ["year", "month"]}, "rise"),
        ({"levels": []}, "levels"),
    ],
)
def test_wrong_date_options(options, word):
    with pytest.raises(ParameterError, match=word):
        Hierarchy.dates(**options)


@pytest.mark.parametrize("bad", ["2024-13-01", "2023-02-29", "yesterday", "20240101"])
def test_what_is_no_date_is_refused_without_being_quoted(bad):
    with pytest.raises(HierarchyError, match=r"'d'.*1 distinct value") as caught:
        Hierarchy.dates().over(["2024-01-01", bad], "d")
    assert bad not in str(caught.value)


# -- categories ------------------------------------------------------------------------


def test_the_rarest_are_joined_first():
    counts = {"a": 100, "b": 50, "c": 3, "d": 2}
    built = Hierarchy.frequency().over(list(counts), "x", counts)
    assert row(built, "c") == ("c", "{b, c, d}", "*")
    assert row(built, "a") == ("a", "a", "*")
    three = Hierarchy.frequency(groups=3).over(list(counts), "x", counts)
    assert row(three, "c") == ("c", "{c, d}", "*")
    assert row(three, "b") == ("b", "b", "*")


def test_groups_per_level():
    counts = {letter: n for n, letter in enumerate("abcdefgh", start=1)}
    built = Hierarchy.frequency(groups=[5, 2]).over(list(counts), "x", counts)
    assert [len(level) for level in built.labels] == [8, 5, 2, 1]


def test_long_groups_have_short_names_that_differ():
    values = [f"municipality number {i}" for i in range(64)]
    built = Hierarchy.frequency().over(values, "town")
    assert all(len(label) <= 90 for level in built.labels for label in level)
    assert [len(set(level)) for level in built.labels] == [64, 32, 16, 8, 4, 2, 1]


def test_a_value_that_looks_like_a_group_stays_apart():
    counts = {"a": 1, "b": 1, "{a, b}": 9}
    built = Hierarchy.frequency(groups=2).over(list(counts), "x", counts)
    assert len(built.labels[1]) == 2
    checked_rows(built.rows(), "built")


@settings(max_examples=80, deadline=None)
@given(
    counts=st.dictionaries(st.text("abc", max_size=3), st.integers(0, 9), min_size=1, max_size=25)
)
def test_frequency_nests_and_covers(counts):
    built = Hierarchy.frequency().over(list(counts), "x", counts)
    checked_rows(built.rows(), "built")
    assert set(built.leaves) == set(counts)
    present = len(counts) - (MISSING in counts)
    for level in range(1, built.height - 1):
        present = (present + 1) // 2
        assert len(built.labels[level]) == present + (MISSING in counts)


def test_groups_must_fall():
    for wrong in ([2, 4], [4, 4], [1], []):
        with pytest.raises(ParameterError, match="groups"):
            Hierarchy.frequency(groups=wrong)


# -- automatic -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "name", "chosen"),
    [
        (["2024-01-01", "2023-05-06"], "seen", "dates"),
        (["17", "39", "90"], "age", "intervals"),
        (["17.5", "39.0"], "bmi", "intervals"),
        (["01234", "12345"], "x", "mask"),
        (["13053", "14853"], "zip", "mask"),
        (["13053", "14853"], "salary", "intervals"),
        (["A12", "B07"], "ward", "mask"),
        (["nurse", "cook", "clerk"], "job", "frequency"),
        (["5", "n/a"], "x", "frequency"),
        ([MISSING], "x", "frequency"),
    ],
)
def test_the_rule_is_chosen_by_the_values(values, name, chosen):
    built = Hierarchy.automatic().over([*values, MISSING], name)
    assert built.source == chosen
    assert set(built.leaves) == {*values, MISSING}


def test_no_values_at_all_is_an_error():
    with pytest.raises(HierarchyError, match="'x' has no values"):
        Hierarchy.automatic().over([], "x")
