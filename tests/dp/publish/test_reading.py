"""Private cells are read one by one: one hostile record changes what no other record becomes.

Every function is given the same records in several containers, alone and with one hostile record
put first or last. What reaches its mechanism is recorded as a multiset, before noise: it must be
the same multiset, and at most what the one record adds; and nothing may raise.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data import cells as cells_module
from sfumato.data.cells import as_text
from sfumato.dp.learn import estimator, naive_bayes
from sfumato.dp.mechanisms.exponential import Exponential
from sfumato.dp.mechanisms.laplace import Geometric
from sfumato.dp.mechanisms.pricing import Pricing
from sfumato.dp.mechanisms.quantiles import ExponentialQuantile
from sfumato.dp.publish import arrays, generalized, histogram
from sfumato.dp.publish.binning import axis
from sfumato.dp.publish.kmeans.estimator import KMeans
from sfumato.dp.publish.ranges import ordered, spatial
from sfumato.dp.publish.synthesis import graphs, sets, trajectories
from sfumato.dp.publish.synthesis.tables import prepare
from sfumato.dp.publish.topk import release as topk
from sfumato.dp.publish.topk import union

HOSTILE = {
    "None": None,
    "pd.NA": pd.NA,
    "NaT": pd.NaT,
    "NaN": float("nan"),
    "sNaN": Decimal("sNaN"),
    "inf": float("inf"),
    "1e308": 1e308,
    "2**70": 2**70,
    "10**400": 10**400,
    "10**5000": 10**5000,
    "1.5": 1.5,
    "text": "x",
    "True": True,
    "-0.0": -0.0,
    "Decimal": Decimal("1.50"),
    "date": date(2020, 1, 2),
    "datetime": datetime(2020, 1, 2, 3),  # noqa: DTZ001 - as cells of tables are
    "nested list": [1, [2]],
    "dict": {"a": 1},
    "tuple of lists": (1, [2]),
    "object": object(),
    "complex": 1 + 2j,
    "new": "never seen",
}
BASES = {
    "ints": [1, 2] * 3,
    "floats": [1.0, 2.5] * 3,
    "wholes": [1.0, 2.0, 0.0] * 2,
    "truths": [True, False] * 3,
    "texts": ["b", "a"] * 3,
    "dates": [date(2020, 1, 1), date(2020, 1, 3)] * 3,
}
CONTAINERS = {
    "list": list,
    "objects": lambda cells: _objects(cells),  # noqa: PLW0108 - it is defined below
    "array": np.array,
    "pandas": pd.Series,
    "polars": pl.Series,
    "arrow": pa.array,
}
P = {"epsilon": 1, "delta": 1e-6}


def _objects(cells):
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array


def held(container, cells):
    """Put cells into a container; None where it takes no such cells, or makes others of them."""
    if container == "polars" and any(type(c) is int and c > 10**4999 for c in cells):
        return None  # its complaint cannot be caught
    try:
        made = CONTAINERS[container](cells)
    except BaseException:  # noqa: BLE001 - libraries refuse cells in their own ways, before ours
        return None
    if container in {"polars", "arrow"}:
        kept = made.to_pylist() if container == "arrow" else made.to_list()
        if [as_text(cell) for cell in kept] != [as_text(cell) for cell in cells]:
            return None
    return None if getattr(made, "ndim", 1) != 1 else made


class Seen(BaseException):
    """What reached a mechanism."""


def stop(read):
    def instead(*args, **kwargs):
        raise Seen(read(*args, **kwargs))

    return instead


def seen(call):
    with pytest.raises(Seen) as caught:
        call()
    return caught.value.args[0]


def unchanged(without, within, most=1):
    return not without - within and (within - without).total() <= most


def with_odd(base, odd):
    yield [odd, *base]
    yield [*base, odd]


# -- functions of one column ---------------------------------------------------------------------


def _multiset(numbers):
    return Counter(map(repr, np.asarray(numbers).tolist()))


def _vector(counts, *_, **__):
    return Counter({k: int(n) for k, n in enumerate(np.asarray(counts).ravel().tolist()) if n})


@pytest.fixture
def watched(monkeypatch):
    """Stop every mechanism when the exact data reach it."""
    monkeypatch.setattr(arrays, "_noisy", stop(lambda _, column, *__: _multiset(column)))
    monkeypatch.setattr(Geometric, "release", stop(lambda _, exact: _vector(exact)))
    monkeypatch.setattr(
        ExponentialQuantile, "release",
        stop(lambda self, values: _multiset(self._places(values))),
    )  # fmt: skip
    monkeypatch.setattr(
        Pricing, "release",
        stop(lambda self, limits: Counter(dict(enumerate(map(int, self.revenues(limits)))))),
    )  # fmt: skip
    monkeypatch.setattr(ordered, "release_ordered", stop(_vector))
    monkeypatch.setattr(Exponential, "release", stop(lambda _, scores: Counter(scores)))
    monkeypatch.setattr(topk, "peel", stop(_vector))
    monkeypatch.setattr(union, "cut", stop(lambda baskets, _: _named(baskets)))
    monkeypatch.setattr(topk, "cut", stop(lambda baskets, _: _named(baskets)))


def _named(baskets):
    return Counter(
        {repr(n): int(c) for n, c in zip(baskets.names, baskets.supports(), strict=True)}
    )


OF_NUMBERS = {
    "sum": lambda x: sf.dp.sum(x, bounds=(0, 5), epsilon=1),
    "mean": lambda x: sf.dp.mean(x, bounds=(0, 5), epsilon=1),
    "var": lambda x: sf.dp.var(x, bounds=(0, 5), epsilon=1),
    "min": lambda x: sf.dp.min(x, bounds=(0, 5), epsilon=1),
    "max": lambda x: sf.dp.max(x, bounds=(0, 5), epsilon=1),
    "median": lambda x: sf.dp.median(x, bounds=(0, 5), epsilon=1),
    "quantile": lambda x: sf.dp.quantile(x, 0.1, lower=0, upper=5, epsilon=1),
    "quantiles": lambda x: sf.dp.quantiles(x, [0.1, 0.5], bounds=(0, 5), epsilon=1),
    "price": lambda x: sf.dp.price(x, [1, 2], epsilon=1),
    "histogram": lambda x: sf.dp.histogram(x, bins=5, bounds=(0, 5), epsilon=1),
    "ordered_histogram": lambda x: sf.dp.ordered_histogram(x, bounds=(0, 5), cells=5, epsilon=1),
}
LISTED = [1, 2.5, "a", "b", "2020-01-01", date(2020, 1, 3), 0]
OF_VALUES = {
    "histogram of categories": lambda x: sf.dp.histogram(x, bins=["z", *LISTED], epsilon=1),
    "top1": lambda x: sf.dp.top1(x, LISTED, epsilon=1),
    "top_k": lambda x: sf.dp.top_k(x, 1, items=LISTED, epsilon=1),
    "top_k of anything": lambda x: sf.dp.top_k(x, 1, **P),
    "select_partitions": lambda x: sf.dp.select_partitions(x, **P),
    "set_union": lambda x: sf.dp.set_union(x, **P),
}


KNOWN = {}
OFTEN = ("list", "pandas")
often = pytest.mark.parametrize(
    "container",
    [c if c in OFTEN else pytest.param(c, marks=pytest.mark.soak) for c in CONTAINERS],
)


@pytest.mark.parametrize("odd", HOSTILE)
@often
@pytest.mark.usefixtures("watched")
def test_a_hostile_cell_changes_no_other_cell_of_a_column(odd, container):
    for kind, base in BASES.items():
        column = list(with_odd(base, HOSTILE[odd]))[len(kind + container + odd) % 2]
        plain, spoilt = held(container, base), held(container, column)
        if spoilt is None:
            continue
        functions = OF_VALUES if kind in {"texts", "dates"} else {**OF_NUMBERS, **OF_VALUES}
        for name, function in functions.items():
            key = name, container, kind
            if key not in KNOWN:
                KNOWN[key] = seen(lambda f=function, x=plain: f(x))
            after = seen(lambda f=function, x=spoilt: f(x))
            assert unchanged(KNOWN[key], after, 3 if name == "price" else 2), key


@pytest.mark.parametrize("odd", HOSTILE)
@pytest.mark.usefixtures("watched")
def test_a_row_is_counted_unless_it_is_false(odd):
    for container in ("list", "objects", "pandas", "arrow"):
        for column in with_odd([False] * 6 + [True], HOSTILE[odd]):
            spoilt = held(container, column)
            if spoilt is not None:
                assert seen(lambda x=spoilt: sf.dp.count(x, epsilon=1)) == {0: 2}
    assert seen(lambda: sf.dp.count(np.array([False, True]), epsilon=1)) == {0: 1}
    assert seen(lambda: sf.dp.count([0, 1, 2], epsilon=1)) == {0: 3}


# -- rows, baskets, edges, traces ----------------------------------------------------------------

ROWS = [[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]


def _rows(odd):
    """Rows of two cells, of which one is odd, or which are odd as a whole."""
    return [[odd, 1.0], [1.0, odd], odd, [odd], [1, 2, odd], None]


@pytest.mark.parametrize("odd", HOSTILE)
def test_a_hostile_row_changes_no_other_row(odd, monkeypatch):
    points = stop(lambda _, rows, __: Counter(map(tuple, rows.round(9).tolist())))
    monkeypatch.setattr(KMeans, "_released", points)
    monkeypatch.setattr(spatial, "release_spatial", stop(_vector))
    monkeypatch.setattr(Geometric, "release", stop(lambda _, exact: _vector(exact)))
    box = [(0, 5), (0, 5)]
    functions = {
        "kmeans": lambda x: KMeans(2, epsilon=1, bounds=box).fit(x),
        "spatial": lambda x: sf.dp.spatial_histogram(x, bounds=box, side=16, epsilon=1),
        "histogram": lambda x: sf.dp.histogram(x, bins=[3, [0, 1, 2, 5]], bounds=box, epsilon=1),
        "features": lambda x: naive_bayes.NaiveBayes(bounds=box, classes=[0, 1]).fit(
            x, [0, 1, 1, 0][: len(x)]
        ),
    }
    monkeypatch.setattr(
        naive_bayes, "count_classes",
        stop(lambda codes, *_: Counter(map(tuple, codes.tolist()))),
    )  # fmt: skip
    for name, function in functions.items():
        if name == "histogram":
            monkeypatch.setattr(histogram, "axes_of", _axes_of_two)
        before = seen(lambda f=function: f(ROWS))
        for row in _rows(HOSTILE[odd]):
            for rows in with_odd(ROWS, row):
                assert unchanged(before, seen(lambda f=function, x=rows: f(x))), (name, row)


def _axes_of_two(_, bins, bounds):
    return axis(3, bounds[0]), axis(bins[1], None)


def _baskets(odd):
    return [[odd], [odd, "a"], odd, None, (odd,), [[odd]], [[1, [2]], "a"], {"a"}, "a"]


@pytest.mark.parametrize("odd", HOSTILE)
@pytest.mark.usefixtures("watched")
def test_a_hostile_basket_changes_no_other_basket(odd, monkeypatch):
    monkeypatch.setattr(sets, "_frequencies", stop(lambda kept, *_: Counter(map(repr, kept))))
    base = [["a", "b"], ["a"], [1, 2.0], [True], [-0.0]]
    functions = {
        "top_k": lambda x: sf.dp.top_k(x, 1, items=["a", "b", 1, 2, 0], epsilon=1),
        "top_k of anything": lambda x: sf.dp.top_k(x, 1, **P),
        "set_union": lambda x: sf.dp.set_union(x, **P),
        "synthesize_sets": lambda x: sf.dp.synthesize_sets(x, **P),
        "synthesize_sets, listed": lambda x: sf.dp.synthesize_sets(x, items=["a", 1], rho=1),
    }
    for name, function in functions.items():
        before = seen(lambda f=function: f(base))
        for place, basket in enumerate(_baskets(HOSTILE[odd])):
            baskets = list(with_odd(base, basket))[place % 2]
            ways = [baskets, _objects(baskets), dict(enumerate(baskets))]
            given = ways[place % (2 if name.startswith("synthesize") else 3)]
            assert unchanged(before, seen(lambda f=function, x=given: f(x)), 4), (name, basket)


@pytest.mark.parametrize("odd", HOSTILE)
@pytest.mark.usefixtures("watched")
def test_a_hostile_person_changes_whose_no_other_basket_is(odd):
    base, people = [["a"], ["a", "b"], ["b"]], [1, 2, 2.0]
    before = seen(lambda: sf.dp.set_union(base, people=people, **P))
    for owners in with_odd(people, HOSTILE[odd]):
        first = owners[0] is HOSTILE[odd] and owners[1:] == people
        baskets = [["c"], *base] if first else [*base, ["c"]]
        after = seen(lambda x=baskets, who=owners: sf.dp.set_union(x, people=who, **P))
        assert unchanged(before, after)
        assert before == {"'a'": 2, "'b'": 1}


@pytest.mark.parametrize("odd", HOSTILE)
def test_a_hostile_edge_or_trace_changes_no_other(odd, monkeypatch):
    edges = stop(lambda pairs, _: Counter(map(tuple, np.sort(pairs, axis=1).tolist())))
    monkeypatch.setattr(graphs, "neighbours_of", edges)
    monkeypatch.setattr(
        trajectories, "CodeArray", stop(lambda codes: Counter(map(tuple, codes.T.tolist())))
    )
    cell = HOSTILE[odd]
    base = [(1, 2), ("a", 1.0), [2, "a"]]
    graph = {"vertices": [1, 2, "a"], "epsilon": 1}
    before = seen(lambda: sf.dp.synthesize_graph(base, **graph))
    assert before.total() == 3
    for edge in ((cell, 1), (1, cell), cell, (1, 2, cell), None, ([1], [2])):
        for given in with_odd(base, edge):
            after = seen(lambda x=given: sf.dp.synthesize_graph(x, **graph))
            assert unchanged(before, after), edge
    trips = [[(0, 0), (1, 1)], np.array([[0.5, 0.5], [1, 0]])]
    before = seen(lambda: sf.dp.synthesize_trajectories(trips, box=(0, 1, 0, 1), rho=1))
    for trip in ([(cell, 1), (1, 1)], [[10**400, 1], [1, 1]], cell, [cell, cell], None, [(1, 1)]):
        for given in with_odd(trips, trip):
            after = seen(lambda x=given: sf.dp.synthesize_trajectories(x, box=(0, 1, 0, 1), rho=1))
            assert unchanged(before, after), trip


# -- tables --------------------------------------------------------------------------------------


DECLARED = {
    "ints": [[1, 2], sf.dp.Column(bounds=(0, 9))],
    "floats": [[1.0, 2.5], sf.dp.Column(bounds=(0.0, 9.0))],
    "wholes": [[0, 1, 2], sf.dp.Column(bounds=(0.0, 9.0), special=[2])],
    "truths": [[True, False], sf.dp.Column(bounds=(0, 1))],
    "texts": [["a", "b"]],
    "dates": [[date(2020, 1, 1), "2020-01-03"], sf.dp.Column(bounds=("2019-01-01", "2021-01-01"))],
}


def table_of(container, bases):
    """Make a table of all kinds of columns; those that the container does not take are left out."""
    columns = {kind: held(container, cells) for kind, cells in bases.items()}
    known = {kind: column for kind, column in columns.items() if column is not None}
    if container == "pandas":
        return pd.DataFrame(known), known
    if container == "polars":
        return pl.DataFrame(known), known
    return (pa.table(known) if container == "arrow" else known), known


def coded(people, declared):
    """Count the codes of each column."""
    prepared = prepare(people, **P, rho=None, columns=declared)
    records = prepared.table.code_rows(prepared.declared, None, 1)
    rows = np.concatenate(list(records.pieces()), axis=1)
    return {name: Counter(row.tolist()) for name, row in zip(prepared.declared, rows, strict=True)}


def grouped(people, names):
    data = sf.dp.count_generalized(people, dict.fromkeys(names, 0), **P)
    return Counter({row[:-1]: row[-1] for row in data.rows})


def keep_all_groups(monkeypatch):
    monkeypatch.setattr(generalized, "_sample", lambda counts, _: counts)
    plan = generalized.SamplePlan(Fraction(1), 1, 0.0)
    monkeypatch.setattr(generalized, "plan_sample", lambda **_: plan)
    monkeypatch.setattr(generalized, "release_numbers", lambda table, *_, **__: table)


def tables():
    """Give every record in the containers that are read often, in turns with both declarations."""
    for number, odd in enumerate(HOSTILE):
        for place, container in enumerate(CONTAINERS):
            for which in (0, -1):
                turn = container in OFTEN and (number + OFTEN.index(container) + which) % 2
                marks = [] if turn else [pytest.mark.soak]
                yield pytest.param(odd, container, which, (number + place) // 2 % 2, marks=marks)


@pytest.mark.parametrize(("odd", "container", "which", "place"), tables())
def test_a_hostile_record_changes_no_other_row_of_a_table(
    odd, container, which, place, monkeypatch
):
    keep_all_groups(monkeypatch)
    odd_ones = {kind: list(with_odd(base, HOSTILE[odd]))[place] for kind, base in BASES.items()}
    spoilt, names = table_of(container, odd_ones)
    if not names:
        return
    declared = {name: DECLARED[name][which] for name in names}
    # Of truth values NumPy has made numbers before they are read.
    grouping = [name for name in names if (name, container) != ("truths", "array")]
    key = container, which, *names
    if key not in KNOWN:
        plain, _ = table_of(container, {name: BASES[name] for name in names})
        KNOWN[key] = coded(plain, declared), grouped(plain, grouping)
    before, groups = KNOWN[key]
    after = coded(spoilt, declared)
    assert [name for name in names if not unchanged(before[name], after[name])] == []
    assert unchanged(groups, grouped(spoilt, grouping))


def test_one_missing_cell_does_not_make_all_others_missing():
    known = {"g": sf.dp.Column(values=[1, 2]), "t": [True, False]}
    for odd in (None, 1.5, "x"):
        people = pd.DataFrame({"g": [1, 2] * 50 + [odd], "t": [True, False] * 50 + [odd]})
        made = sf.dp.synthesize(people, columns=known, epsilon=50, delta=1e-6, size=40).data
        assert set(made["g"].dropna()) == {1, 2}
        assert set(made["t"].dropna()) == {True, False}
        assert made["t"].dropna().map(type).eq(bool).all()


def test_a_cell_among_a_hundred_thousand_does_not_make_reading_fail():
    """The engine would guess the type of a column of objects from some of them."""
    column = [1, None] * 50_000
    for odd in (2**40, 1.5, "x", True):
        column[3] = odd
        assert coded({"x": column}, {"x": sf.dp.Column(bounds=(0, 9))})["x"].total() == 100_000


def test_rows_of_a_person_are_chosen_alike_whatever_type_columns_have():
    people = {"who": ["a", "b"] * 20, "x": [float(k) for k in range(40)]}
    unit = {"neighbours": sf.dp.Unit("who", rows=3), "columns": {"x": list(range(40))}}

    def kept(rows):
        prepared = prepare(rows, **P, rho=None, **unit)
        records = prepared.table.code_rows(prepared.declared, "who", 3)
        return Counter(np.concatenate(list(records.pieces()), axis=1)[0].tolist())

    for odd in ("text", None, 2.5):
        more = {"who": [*people["who"], "c"], "x": [*people["x"], odd]}
        assert unchanged(kept(people), kept(more))


def test_the_kind_of_a_searched_column_is_declared():
    people = {"x": [1, 2] * 50}
    with pytest.raises(sf.errors.ParameterError, match=r"kind of column 'x' is not declared"):
        sf.dp.synthesize(people, columns={"x": sf.dp.Column()}, search=0.2, **P)
    known = {"x": sf.dp.Column(kind="integer")}
    for odd in ([], [None], ["x"]):
        made = sf.dp.synthesize(
            {"x": [*people["x"] * 20, *odd]}, columns=known, search=0.2, epsilon=9, delta=1e-6
        ).data
        assert {type(cell) for cell in np.asarray(made["x"]).tolist()} <= {int, float, type(None)}


@pytest.mark.parametrize("declared", [["m", "f"], ("m", "f"), {"m", "f"}, np.array(["m", "f"])])
def test_values_may_be_declared_by_a_plain_list(declared):
    made = sf.dp.synthesize({"sex": ["m", "f"] * 40}, columns={"sex": declared}, size=9, **P)
    assert set(made.data["sex"]) <= {"m", "f", None}


def test_a_range_declares_whole_numbers():
    made = sf.dp.synthesize({"x": [1, 2] * 40}, columns={"x": range(5)}, size=9, **P)
    assert {cell for cell in made.data["x"] if cell is not None} <= set(range(5))
    with pytest.raises(sf.errors.ParameterError, match="a list of its values, bounds"):
        sf.dp.synthesize({"x": [1]}, columns={"x": 5}, **P)


# -- labels, classes, bounds ---------------------------------------------------------------------


def test_an_item_is_spelt_the_same_whoever_comes_first():
    for first, others in (([1.0], [1]), ([True], [1]), ([Decimal(1)], [1.0]), (["1"], ["1"])):
        for baskets in ([first] + [others] * 400, [others] * 400 + [first]):
            (item,) = sf.dp.set_union(baskets, **P).items
            assert repr(item) == ("'1'" if first == ["1"] else "1")
    for column in ([-0.0] + [0.0] * 800, [0.0] * 800 + [-0.0]):
        assert repr(sf.dp.set_union(column, **P).items) == "(0,)"
        assert repr(sf.dp.select_partitions(np.array(column), **P).items) == "(0,)"
        assert repr(sf.dp.top_k(column, 1, **P).items) == "(0,)"


@pytest.mark.parametrize("odd", HOSTILE)
def test_a_hostile_label_changes_no_other_label(odd):
    for classes in ((0, 1), ("0", "1"), (False, True)):
        for label in (HOSTILE[odd], [HOSTILE[odd]]):
            for labels in with_odd([0, 1, 1.0], label):
                for given in (labels, _objects(labels), pd.Series(labels)):
                    found = estimator.read_labels(given, classes, 4)[1].tolist()
                    assert [0, 1, 1] in (found[1:], found[:-1])


def test_an_array_of_any_objects_has_classes_0_and_1():
    for odd in (None, "x", 2.5):
        labels = _objects([0, 1, odd])
        assert estimator.read_labels(labels, None, 3)[1].tolist() == [0, 1, -1]


@pytest.mark.parametrize("bounds", [(-1e308, 1e308), (0, 5e-324), (0, 10**400)])
def test_bounds_without_room_are_refused_before_rows_are_read(bounds, monkeypatch):
    monkeypatch.setattr(cells_module, "as_number", stop(lambda cell: cell))
    cell = [1.0, "x"]
    rows = [[1.0, "x"]]
    for call in (
        lambda: sf.dp.sum(cell, bounds=bounds, epsilon=1),
        lambda: sf.dp.mean(cell, bounds=bounds, epsilon=1),
        lambda: sf.dp.var(cell, bounds=bounds, epsilon=1),
        lambda: sf.dp.median(cell, bounds=bounds, epsilon=1),
        lambda: sf.dp.histogram(cell, bins=4, bounds=bounds, epsilon=1),
        lambda: sf.dp.ordered_histogram(cell, bounds=bounds, epsilon=1),
        lambda: sf.dp.spatial_histogram(rows, bounds=[bounds, bounds], epsilon=1),
        lambda: sf.dp.KMeans(2, bounds=[bounds, bounds], epsilon=1).fit(rows),
        lambda: sf.dp.LinearRegression(bounds=bounds, target=(0, 1)).fit(rows, [1]),
        lambda: sf.dp.LinearRegression(bounds=(0, 1), target=bounds).fit(rows, [1]),
        lambda: sf.dp.synthesize({"x": [1]}, columns={"x": sf.dp.Column(bounds=bounds)}, **P),
        lambda: sf.dp.synthesize_trajectories([], box=(*bounds, 0, 1), rho=1),
    ):
        with pytest.raises(sf.errors.ParameterError):
            call()
