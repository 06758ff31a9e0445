"""Pictures of answers: well-formed, escaped, and true to the numbers they show."""

from __future__ import annotations

import datetime as dt
import re
import xml.etree.ElementTree as ET
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.ask.answers.answer import Answer
from sfumato.ask.answers.noisy_column import NoisyColumn
from sfumato.ask.binned.bin_labels import real_labels, whole_labels
from sfumato.ask.pictures.picture import MOST_BARS, heat_map, notebook, picture
from sfumato.ask.price.measures import Recipe
from sfumato.ask.price.noise import Noise
from sfumato.dp.accounting.costs import Cost, SpentTotals
from sfumato.errors import ParameterError
from sfumato.govern.standing import Standing
from sfumato.pictures.marks import figure, fitted, plain, text_width, wrapped

SVG = "{http://www.w3.org/2000/svg}"
HALF = 13  # of the 95 % interval of geometric noise of this scale
SCALE = Fraction(13, 3)


def answer(keys, places, *, extra=None, ranges=None, notes=(), **measures):
    columns = {
        name: NoisyColumn(
            Recipe(name, "count"), (Noise("geometric", SCALE),), tuple((v,) for v in values)
        )
        for name, values in measures.items()
    }
    further = extra or {}
    rows = tuple(
        (*place, *(v[i] for v in measures.values()), *(v[i] for v in further.values()))
        for i, place in enumerate(places)
    )
    return Answer(
        question="q",
        columns=(*keys, *measures, *further),
        rows=rows,
        guarantee=sf.PureDP(0.1),
        cost=Cost(Fraction(1, 10)),
        standing=Standing(((sf.PureDP(1.0), SpentTotals()),), sf.PureDP(1.0).neighbours),
        notes=tuple(notes),
        measures=columns,
        ranges=ranges or {},
        keys=tuple(keys),
    )


def marks(drawn, kind, tag="rect"):
    root = ET.fromstring(drawn)
    return [one for one in root.iter(f"{SVG}{tag}") if kind in one.get("class", "").split()]


def number(mark, name):
    return float(mark.get(name))


def titles(drawn):
    return [one.text for one in ET.fromstring(drawn).iter(f"{SVG}title")]


def test_bars_are_as_long_as_their_numbers_and_whiskers_as_their_intervals():
    found = answer(["sex"], [("male",), ("female",), ("other",)], n=[400, 100, -50])
    drawn = picture(found)
    up, down = marks(drawn, "above"), marks(drawn, "below")
    assert [len(up), len(down)] == [2, 1]
    long, short = (number(bar, "width") for bar in up)
    assert long / short == pytest.approx(4, rel=0.01)
    assert long / number(down[0], "width") == pytest.approx(8, rel=0.01)
    zero = number(up[0], "x")
    assert number(down[0], "x") + number(down[0], "width") == pytest.approx(zero, abs=0.1)
    whisker = marks(drawn, "whisker", "line")[0]
    assert found.intervals()["n"][0] == (400 - HALF, 400 + HALF)
    wide = number(whisker, "x2") - number(whisker, "x1")
    assert wide / long == pytest.approx(2 * HALF / 400, rel=0.02)
    narrow = picture(found, 0.5)
    inner = marks(narrow, "whisker", "line")[0]
    assert number(inner, "x2") - number(inner, "x1") < 0.5 * wide
    assert "male: 400, interval 387 … 413" in titles(drawn)


def test_steps_of_a_scale_become_columns_in_their_order():
    labels = real_labels([Fraction(i, 2) for i in range(9)])
    values = [5, 10, -4, 40, 20, 0, 1, 3]
    drawn = picture(answer(["bmi"], [(label,) for label in labels], n=values))
    bars = sorted(marks(drawn, "above") + marks(drawn, "below"), key=lambda bar: number(bar, "x"))
    heights = [number(bar, "height") for bar in bars]
    assert [h / heights[3] for h in heights] == pytest.approx(
        [abs(v) / 40 for v in values], abs=0.01
    )
    assert len({bar.get("width") for bar in bars}) == 1
    texts = re.findall(r">([\d.]+)</text>", drawn)
    assert {"0", "4"} <= set(texts)  # edges, not bins, are named


@pytest.mark.parametrize(
    "places",
    [
        [(dt.date(2024, m, 1),) for m in range(1, 13)],
        [(i,) for i in range(200)],
        [(label,) for label in whole_labels(list(range(0, 110, 10)))],
    ],
)
def test_dates_whole_numbers_and_bins_stand_side_by_side(places):
    drawn = picture(answer(["k"], places, n=[7] * len(places)))
    bars = marks(drawn, "above")
    assert len(bars) == len(places)
    assert len({bar.get("y") for bar in bars}) == 1


def test_a_sorted_answer_keeps_its_order():
    drawn = picture(answer(["k"], [(3,), (1,), (2,)], n=[30, 20, 10]))
    bars = sorted(marks(drawn, "above"), key=lambda bar: number(bar, "y"))
    assert [number(bar, "width") for bar in bars] == sorted(
        (number(bar, "width") for bar in bars), reverse=True
    )


def test_one_number_stands_alone_and_none_has_no_bar():
    drawn = picture(answer([], [()], n=[1234], extra={"mean": [None]}))
    assert ">1,234</text>" in drawn
    assert "1,221 … 1,247" in drawn
    assert "no number" in drawn
    assert len(marks(drawn, "above")) == 1


def test_two_keys_become_a_grid_whose_strength_is_the_number():
    places = [(a, b) for a in ("male", "female") for b in ("x", "y", "z")]
    values = [100, 50, 0, -25, 10, None]
    drawn = picture(answer(["sex", "k"], places, extra={"n": values}))
    cells = [
        one
        for one in marks(drawn, "hot") + marks(drawn, "cold")
        if one.find(f"{SVG}title") is not None
    ]
    strength = {one.find(f"{SVG}title").text: number(one, "fill-opacity") for one in cells}
    assert len(cells) == 5
    assert strength["male, x: 100"] == 1
    assert strength["male, y: 50"] == pytest.approx(0.52)
    assert "cold" in next(c for c in cells if "−25" in c.find(f"{SVG}title").text).get("class")
    assert "female, z: –" in titles(drawn)
    assert "no number" in drawn


def test_a_map_has_north_up_and_degrees_at_its_axes():
    lat = real_labels([Fraction(46) + Fraction(i, 4) for i in range(4)])
    lon = real_labels([Fraction(-1) + Fraction(i, 2) for i in range(5)])
    places = [(a, b) for a in lat for b in lon]
    found = answer(["latitude", "longitude"], places, n=list(range(1, 13)))
    drawn = picture(found)
    assert drawn == heat_map(found)
    cells = {
        one.find(f"{SVG}title").text.split(":")[0]: one
        for one in marks(drawn, "hot")
        if one.find(f"{SVG}title") is not None
    }
    south, north = cells[f"{lat[0]}, {lon[0]}"], cells[f"{lat[2]}, {lon[0]}"]
    west, east = cells[f"{lat[0]}, {lon[0]}"], cells[f"{lat[0]}, {lon[3]}"]
    assert number(north, "y") < number(south, "y")
    assert number(west, "x") < number(east, "x")
    shape = number(west, "height") / number(west, "width")
    assert shape == pytest.approx(0.25 / (0.5 * 0.6894), rel=0.05)  # cos 46.4°
    assert {"46.4° N", "0.5° W", "0.5° E", "0°"} <= set(re.findall(r">([^<]*°[^<]*)</text>", drawn))
    assert "± 13" in drawn


def test_a_map_is_of_latitude_and_longitude():
    grid = answer(["a", "b"], [(i, j) for i in "xy" for j in "uv"], n=[1, 2, 3, 4])
    with pytest.raises(ParameterError, match="latitude"):
        heat_map(grid)
    words = answer(["latitude", "longitude"], [(i, j) for i in "xy" for j in "uv"], n=[1, 2, 3, 4])
    with pytest.raises(ParameterError, match="grid of bins"):
        heat_map(words)
    with pytest.raises(ParameterError, match="no number 'm'"):
        heat_map(words, measure="m")
    assert "latitude" in picture(words)  # drawn as any two keys


HOSTILE = "</title></text></svg><script>alert(1)</script>&'\"\x00\x1b\ud800"
CASES = {
    "hostile": answer([HOSTILE], [(HOSTILE,), ("b",)], **{HOSTILE: [1, 2]}),
    "hostile grid": answer(
        [HOSTILE, "k"], [(HOSTILE * i, j) for i in (1, 2) for j in ("x", HOSTILE)], n=[1, 2, 3, 4]
    ),
    "unicode": answer(["k"], [("東京都" * 20,), ("مدينة",), ("e\u0301" * 40,), ("🙂",)], n=[1] * 4),
    "missing": answer(["k"], [(None,), ("",), ("a\nb",)], n=[0, 0, 0]),
    "one": answer(["k"], [("a",)], n=[5]),
    "none": answer(["k"], [], n=[]),
    "many": answer(["k"], [(f"c{i}",) for i in range(1000)], n=list(range(1000))),
    "all negative": answer(["k"], [("a",), ("b",)], n=[-5, -500]),
    "zero": answer(["k"], [("a",), ("b",)], extra={"n": [0, 0]}),
    "null scale": answer(["k"], [(1,), (2,), (None,)], n=[3, 4, 5]),
    "three keys": answer(["a", "b", "c"], [(i, j, 1) for i in "xy" for j in "uv"], n=[1, 2, 3, 4]),
    "sparse": answer(["a", "b"], [(i, i) for i in range(9)], n=list(range(9))),
    "huge": answer(["k"], [("a",), ("b",)], extra={"n": [1e300, -1e-12]}),
    "quantile": answer([], [()], extra={"median": [40.5]}, ranges={"median": (0.0, 100.0)}),
    "words": answer(["k"], [("a",), ("b",)], extra={"verdict": ["good", "bad"]}),
    "no keys shown": answer([], [(), ()], n=[5, 6]),
    "truth": answer(["k"], [(True,), (False,)], n=[5, 6]),
    "wide": answer(
        ["a", "b"], [(f"a long name {i}", j) for i in range(40) for j in range(60)],
        n=list(range(2400)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_picture_is_whole_safe_and_within_its_card(case):
    for drawn in (picture(CASES[case]), picture(CASES[case], 0.5)):
        root = ET.fromstring(drawn)
        assert not list(root.iter(f"{SVG}script"))
        assert "href" not in drawn
        assert "nan" not in drawn.lower()
        height = float(root.get("height"))
        for box in root.iter(f"{SVG}rect"):
            right = number(box, "x") + number(box, "width") if box.get("x") else 720
            assert right <= 720.5
            assert float(box.get("y", 0)) + number(box, "height") <= height + 0.5


@pytest.mark.parametrize("case", CASES)
def test_notebooks_show_the_table_the_picture_and_the_cost(case):
    shown = notebook(CASES[case])
    assert "<script" not in shown
    assert "<table" in shown
    assert "<svg" in shown
    assert "Cost: pure differential privacy with ε = 0.1" in shown
    assert CASES[case]._repr_html_() == shown


def test_a_stored_answer_says_so_and_notes_are_told():
    from dataclasses import replace

    found = answer(["k"], [("<b>",)], n=[5], notes=["a <note>"])
    shown = notebook(replace(found, stored=True))
    assert "Cost: nothing: the same answer was given before" in shown
    assert "a &lt;note&gt;" in shown
    assert "<td>&lt;b&gt;</td>" in shown
    assert "-8 … 18" in shown.replace("−", "-")
    assert "Left: pure differential privacy with ε = 1 " in shown
    assert "Left:" not in notebook(replace(found, standing=None))
    numbers = notebook(answer(["k"], [(1234,)], n=[-5678], extra={"mean": [None]}))
    assert "<td>1234</td>" in numbers  # a key is shown as it is, a number as numbers are
    assert '<td class="n">−5,678</td>' in numbers
    assert '<td class="n">–</td>' in numbers


def test_more_rows_than_are_drawn_are_announced():
    drawn = picture(CASES["many"])
    assert f"The first {MOST_BARS} of 1,000 rows." in drawn
    assert len(marks(drawn, "above")) == MOST_BARS


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "–"), (0, "0"), (1234567, "1,234,567"), (-5, "−5"), (12.0, "12"),
        (1234.5678, "1,235"), (0.00012345, "0.0001234"), (1e-9, "1.000e−09"),
        (1.5, "1.5"), (2e16, "2.000e+16"), (float("inf"), "∞"), (-0.25, "−0.25"),
    ],
)  # fmt: skip
def test_numbers_are_written(value, written):
    assert figure(value) == written


def test_texts_fit_their_room():
    long = "word " * 100
    assert text_width(fitted(long, 100)) <= 100
    assert fitted(long, 100).endswith("…")
    assert fitted("short", 100) == "short"
    assert all(text_width(line) <= 200 for line in wrapped(long, 200))
    assert plain(None) == "(missing)"
    assert plain("a\x00b\n c") == "a\ufffdb c"


@pytest.mark.parametrize(("down", "across"), [(1, 30), (30, 1), (200, 300)])
def test_a_map_of_any_size_is_a_map(down, across):
    table = {"latitude": [46.5, 46.7], "longitude": [11.2, 11.9]}
    with sf.Session(
        table, public_types=True, name="t", unit="row", budget=sf.PureDP(100)
    ) as session:
        answer = session.map(
            latitude="latitude", longitude="longitude", box=(46, 11, 47, 12), rows=down,
            columns=across, epsilon=50,
        )  # fmt: skip
    drawn = picture(answer)
    assert not marks(drawn, "above")  # no bars
    assert "° N" in drawn
    assert "° E" in drawn
    assert "Each interval" not in drawn
    assert "moved a cell" in drawn
    assert len(drawn) < 3_000_000
    if down * across == 60_000:
        full = [one for one in drawn.split("<path")[1:] if 'class="hot"' in one]
        darkest = max(full, key=lambda one: float(one.split('fill-opacity="')[1].split('"')[0]))
        assert 'fill-opacity="1.000"' in darkest
        assert 1 <= darkest.count("M") <= 4  # two rows in all, and hardly any noise
