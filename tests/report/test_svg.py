"""Charts: geometry computed by hand, texts escaped, everything well formed."""

from __future__ import annotations

import math
from itertools import pairwise, product
from xml.etree import ElementTree as ET

import pytest

from sfumato.data.wording import some
from sfumato.report.figures import count, decimal, figure, label, percent, span
from sfumato.report.svg import Dot, Point, Series, bar, curve, histogram, lattice

BAD = '<script>alert("x")</script>&'


def parsed(markup):
    return ET.fromstring(str(markup))


def share(element, name):
    value = element.get(name)
    assert value.endswith("%")
    return float(value[:-1])


def test_a_bar_is_as_long_as_its_share():
    (rect,) = parsed(bar(0.25)).findall("rect")
    assert share(rect, "width") == 25
    wide, thin = parsed(bar(0.5, "before", 0.125)).findall("rect")
    assert (share(wide, "width"), share(thin, "width")) == (50, 12.5)
    assert (wide.get("class"), thin.get("class")) == ("before", "after")


@pytest.mark.parametrize(("given", "drawn"), [(-1.0, 0), (0.0, 0), (1.0, 100), (7.0, 100)])
def test_a_bar_never_leaves_its_cell(given, drawn):
    assert share(parsed(bar(given)).find("rect"), "width") == drawn


def test_columns_are_as_high_as_their_values():
    chart = parsed(
        histogram(["a", "b"], [Series("s", "before", (4, 1)), Series("t", "after", (2, 0))],
                  label="told")
    )  # fmt: skip
    heights = [float(r.get("height")) for r in chart.findall("rect")]
    assert heights == [4 * heights[2], 2 * heights[2], heights[2], 0]
    assert heights[2] > 0
    assert chart.get("aria-label") == "told"
    assert chart.get("role") == "img"


def test_columns_of_one_place_stand_beside_each_other_and_inside():
    series = [Series("s", "before", (1,) * 9), Series("t", "after", (1,) * 9)]
    rects = parsed(histogram([str(i) for i in range(9)], series, label="")).findall("rect")
    edges = sorted((share(r, "x"), share(r, "x") + share(r, "width")) for r in rects)
    assert edges[0][0] >= 0
    assert edges[-1][1] <= 100
    assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(edges))


def test_a_histogram_of_nothing_is_still_a_picture():
    assert parsed(histogram(["a"], [Series("s", "after", (0,))], label="none")).findall("rect")


def test_a_curve_is_logarithmic_across():
    points = [Point(k, 0.1, str(k), "0.1") for k in (2, 4, 8, 32)]
    circles = parsed(curve(points, label="", x_name="k")).findall("circle")
    x = [share(c, "cx") for c in circles]
    step = x[1] - x[0]
    assert step > 0
    assert x[2] - x[1] == pytest.approx(step, abs=0.02)
    assert x[3] - x[2] == pytest.approx(2 * step, abs=0.03)
    assert 0 < x[0] < x[-1] < 100


def test_a_curve_falls_where_its_values_fall_and_marks_one_point():
    points = [Point(2, 0.2, "2", ""), Point(3, 0.1, "3", "", marked=True), Point(5, 0.4, "5", "")]
    circles = parsed(curve(points, label="", x_name="k")).findall("circle")
    y = [float(c.get("cy")) for c in circles]
    assert y[1] > y[0] > y[2]
    # 0.4 is the ceiling, so the distances from it are as 1 − 0.2/0.4 to 1 − 0.1/0.4.
    assert (y[0] - y[2]) / (y[1] - y[2]) == pytest.approx(2 / 3, abs=0.01)
    assert [c.get("class") for c in circles] == ["after", "chosen", "after"]


@pytest.mark.parametrize("n", [1, 2])
def test_a_curve_of_few_points_is_drawn(n):
    points = [Point(k, 0.0, str(k), "0") for k in (2, 3)][:n]
    chart = parsed(curve(points, label="", x_name="k"))
    assert len(chart.findall("circle")) == n
    assert sum(line.get("class") == "curve" for line in chart.findall("line")) == n - 1


def test_a_lattice_has_its_nodes_in_layers_and_all_its_edges():
    shape = (3, 2, 2)
    nodes = list(product(*map(range, shape)))
    chart = parsed(lattice([Dot(node, "holds", "") for node in nodes], label="12 nodes"))
    circles = chart.findall("circle")
    assert len(circles) == 12
    heights = {}
    for node, circle in zip(nodes, circles, strict=True):
        heights.setdefault(sum(node), set()).add(float(circle.get("cy")))
    assert all(len(ys) == 1 for ys in heights.values())
    rows = [heights[total].pop() for total in sorted(heights)]
    assert rows == sorted(rows, reverse=True)  # coarser is higher up
    edges = sum(
        sum(abs(p - q) for p, q in zip(a, b, strict=True)) == 1 for a in nodes for b in nodes
    )
    assert len(chart.findall("line")) == edges // 2


def test_every_text_is_escaped():
    charts = [
        histogram([BAD], [Series(BAD, "after", (1,), (BAD,))], label=BAD),
        curve([Point(2, 0.5, BAD, BAD, BAD)], label=BAD, x_name=BAD),
        lattice([Dot((0,), "chosen", BAD, BAD)], label=BAD),
    ]
    for chart in charts:
        assert "<script" not in chart
        assert BAD in parsed(chart).get("aria-label")


def test_numbers_are_written_for_people():
    assert count(1234567) == "1,234,567"
    assert [some(1, "class", "classes"), some(2000, "class", "classes")] == [
        "1 class",
        "2,000 classes",
    ]
    spoken = [percent(x).replace("\N{NO-BREAK SPACE}", " ") for x in
              (0, 0.00001, 0.0004, 0.001, 0.1234, 0.9999, 1.0)]  # fmt: skip
    assert spoken == ["0 %", "<0.1 %", "<0.1 %", "0.1 %", "12.3 %", ">99.9 %", "100 %"]
    assert [decimal(x) for x in (0.0, 1e-9, 0.26175)] == ["0.0000", "<0.0001", "0.2617"]
    assert [figure(x) for x in (None, math.inf, 5.0, 0.28296)] == ["–", "∞", "5", "0.283"]
    assert [label(""), label("*")] == ["(missing)", "*"]
    assert [span(1, 1), span(3, 4), span(1000, None)] == ["1", "3–4", "1,000+"]


def test_a_share_that_is_not_zero_never_reads_as_zero():
    for exponent in range(1, 300, 7):
        assert not percent(math.pow(10, -exponent)).startswith("0\N{NO-BREAK SPACE}")
        assert decimal(math.pow(10, -exponent)) != "0.0000"
