"""One record more, however strange, changes nothing but outputs of mechanisms: `sf.dp`, sessions.

Every public function of `sf.dp` and every method of every session is called by an example on a
small data set, from every source it takes, with the outputs of its mechanisms recorded; then on
neighbours that have one hostile record more, first or last, with the outputs given again
(:mod:`replay`). All that comes out must be the same to the byte. A function that is born tomorrow
has no example yet, and a test here asks for one.
"""

from __future__ import annotations

import csv
import datetime as dt
import functools
import hashlib
import inspect
import json
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato.ask.shaped.session import ShapedSession
from sfumato.dp.publish.statistics.statistic import Statistic
from sfumato.dp.publish.topk import release as winners

sys.path.insert(0, str(Path(__file__).parent))

from replay import mechanisms_on_tape, record, replay
from table_places import in_postgres, in_spark

DP = sf.dp
P = {"epsilon": 40, "delta": 0.01}
C = DP.Column

HOSTILE: dict[str, Callable[[], Any]] = {
    "none": lambda: None, "NA": lambda: pd.NA, "nan": lambda: float("nan"),
    "sNaN": lambda: Decimal("sNaN"), "inf": lambda: float("inf"), "1e308": lambda: 1e308,
    "2**70": lambda: 2**70, "10**400": lambda: 10**400, "1.5": lambda: 1.5, "1.0": lambda: 1.0,
    "text": lambda: "x", "true": lambda: True, "minus zero": lambda: -0.0,
    "date": lambda: dt.date(2020, 1, 2), "nested": lambda: [1, [2]],
    "unhashable": lambda: {1: 2}, "new": lambda: "HIV",
}  # fmt: skip

# -- data and their sources -----------------------------------------------------------------------


class Unfit(Exception):
    """A source that cannot hold such a record: there is nothing to ask about."""


NUMBERS = [0, 1, 2, 2, 3, 3, 3, 4, 5, 5, 7, 9] * 2
WORDS = [*"aaaaaaaabbbbbbccc", *"aab"]
TABLE = [
    {"who": f"p{k // 2}", "g": 1 + k % 2, "w": "abca"[k % 4], "x": k % 7 * 1.25, "n": k % 5,
     "y": k // 2 % 2}
    for k in range(24)
]  # fmt: skip
BASKETS = [["a", "b"], ["a"], ["b", "c"], ["a", "c"], ["a", "b", "c"]] * 5
NUMBERED = [[0, 1], [1], [2, 1], [0, 2], [0, 1, 2]] * 5
POINTS = [((k * 7) % 10 / 10, (k * 3) % 10 / 10) for k in range(24)]
EDGES = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (1, 5)]
TRIPS = [[(k % 5, 1), (2, k % 3), (4, 4)] for k in range(12)]
TREES = [{"who": f"p{k}", "courses": [{"id": "abc"[k % 3]}, {"id": "a"}]} for k in range(12)]
TRACES = [
    {"trip": f"t{k // 3}", "who": f"p{k // 6}", "t": f"2024-01-01T{k % 3 + 9:02}:00:00",
     "x": k * 7 % 4, "y": k % 3}
    for k in range(24)
]  # fmt: skip


def _array(values: list[Any]) -> Any:
    """As numpy reads numbers; mixtures as objects, since a cell is what its owner gave."""
    same = len({type(value) for value in values} - {int, float}) == 0
    try:
        found = np.array(values) if same else None
    except OverflowError:
        found = None
    if found is None or found.dtype == object:
        found = np.empty(len(values), dtype=object)
        found[:] = values
    return found


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _csv(rows: list[dict[str, Any]], folder: Path) -> Path:
    path = folder / "t.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(rows[0])
        out.writerows(row.values() for row in rows)
    return path


def _parquet(rows: list[dict[str, Any]], folder: Path) -> Path:
    path = folder / "t.parquet"
    parquet.write_table(_arrow(rows), path)
    return path


def _lines(baskets: list[Any], folder: Path) -> Path:
    path = folder / "t.dat"
    path.write_text("".join(f"{' '.join(map(str, basket))}\n" for basket in baskets), "utf-8")
    return path


def _long(baskets: list[Any], folder: Path) -> Path:
    rows = [{"who": k, "item": item} for k, basket in enumerate(baskets) for item in basket]
    return _csv(rows, folder)


def _json_lines(records: list[Any], folder: Path) -> Path:
    path = folder / "t.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return path


def _edge_file(edges: list[Any], folder: Path) -> Path:
    path = folder / "t.edges"
    path.write_text("# nodes 6\n" + "".join(f"{a} {b}\n" for a, b in edges), "utf-8")
    return path


def _networkx(edges: list[Any], _: Path) -> Any:
    import networkx as nx

    graph = nx.Graph(edges)
    graph.add_nodes_from(range(6))
    return graph


def _arrow(rows: list[dict[str, Any]]) -> Any:
    """Make a table of Arrow, unless it makes something else of more than the odd record's cells."""
    table = pa.table(_columns(rows))
    for name, cells in _columns(rows).items():
        _kept(table[name], cells)
    return table


def _polars(rows: list[dict[str, Any]]) -> Any:
    frame = pl.DataFrame(_columns(rows), strict=True)
    for name, cells in _columns(rows).items():
        _kept(frame[name], cells)
    return frame


def _kept(held: Any, cells: list[Any]) -> Any:
    """Give an array if only the odd cell is another in it.

    Beside a date, Arrow makes a day of 0, and beside a number False is 0.
    """
    found = held.to_list() if isinstance(held, pl.Series) else held.to_pylist()
    if sum(_is_other(a, b) for a, b in zip(found, cells, strict=True)) > 1:
        raise Unfit
    return held


def _is_other(one: Any, two: Any) -> bool:
    return one is not two and (one != two or isinstance(one, bool) != isinstance(two, bool))


SEQUENCE = {
    "list": lambda values, _: values,
    "numpy": lambda values, _: _array(values),
    "pandas": lambda values, _: pd.Series(values),
    "polars": lambda values, _: _kept(pl.Series(values, strict=True), values),
    "arrow": lambda values, _: _kept(pa.array(values), values),
}
FRAME = {
    "dict": lambda rows, _: _columns(rows),
    "numpy": lambda rows, _: {name: _array(cells) for name, cells in _columns(rows).items()},
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: _polars(rows),
    "arrow": lambda rows, _: _arrow(rows),
    "csv": _csv,
    "parquet": _parquet,
    "read": lambda rows, _: sf.read(_columns(rows)),
}
LISTS = {
    "list": lambda baskets, _: baskets,
    "by person": lambda baskets, _: dict(enumerate(baskets)),
    "pandas": lambda baskets, _: pd.Series(baskets),
}


@dataclass(frozen=True)
class Data:
    """Records, the sources that they come in, and the records that something strange makes."""

    records: list[Any]
    sources: dict[str, Any]
    strange: Callable[[Any], list[Any]]


def _rows(odd: Any) -> list[Any]:
    """Make a row that is odd in all columns, or in one, as sources with typed columns take it."""
    return [dict.fromkeys(TABLE[0], odd), *({**TABLE[0], name: odd} for name in ("x", "w", "g"))]


LIST = {"list": lambda values, _: values}
DATA = {
    "numbers": Data(NUMBERS, SEQUENCE, lambda odd: [odd]),
    "words": Data(WORDS, SEQUENCE, lambda odd: [odd]),
    "truths": Data([False] * 20, SEQUENCE, lambda odd: [odd]),
    "table": Data(TABLE, FRAME, _rows),
    "columns": Data(TABLE, {n: FRAME[n] for n in ("dict", "numpy", "pandas", "polars")}, _rows),
    "baskets": Data(BASKETS, LISTS, lambda odd: [["c", odd], odd]),
    "numbered": Data(NUMBERED, LISTS, lambda odd: [[odd, 1], odd]),
    "lists": Data(BASKETS, LIST, lambda odd: [["c", odd], odd]),
    "numbered lists": Data(NUMBERED, LIST, lambda odd: [[odd, 1], odd]),
    "points": Data(POINTS, LIST, lambda odd: [(0.5, odd), odd]),
    "edges": Data(EDGES, LIST, lambda odd: [(0, odd), odd]),
    "trips": Data(TRIPS, LIST, lambda odd: [[(odd, 1), (1, 1)], [(1, odd)], odd]),
    "examples": Data([(x, y) for x, y in POINTS], LIST, lambda odd: [(odd, 0.5), (0.5, odd)]),
}  # fmt: skip


# -- an example of every function ------------------------------------------------------------------

BINS = {"bounds": (0, 10), "bins": 5}
XY = {"x": (0, 10), "n": (0, 5)}
DECLARED = {"g": C(values=[1, 2]), "w": C(values=["a", "b", "c"]), "x": C(bounds=(0, 10)),
            "n": C(bounds=(0, 5)), "y": C(values=[0, 1])}  # fmt: skip


def _learn(kind: Any, **options: Any) -> Callable[[Any], Any]:
    """Fit a model of `n` to `y`, or to `x`, and hand it out as it is and as a release."""

    def fit(rows: Any) -> Any:
        model = kind(bounds={"n": (0, 5), "g": (1, 2)}, **options)
        wanted = "x" if "target" in options else "y"
        used = {n: rows[n] for n in ("n", "g")} if isinstance(rows, dict) else rows[["n", "g"]]
        fitted = model.fit(used) if kind is DP.PCA else model.fit(used, rows[wanted])
        return fitted, fitted.release("model")

    return fit


def _train(rows: Any) -> Any:
    import torch

    torch.manual_seed(1)
    network = torch.nn.Linear(1, 1)
    data = [(np.float32([_float(x)]), np.float32([_float(y)])) for x, y in rows]
    return DP.train(
        network, data, torch.nn.functional.mse_loss, lot=4, steps=2, epsilon=4, delta=1e-4,
        progress=print,
    )  # fmt: skip


def _float(cell: Any) -> float:
    """Read a cell as the author of a data set for torch has to, before `train` sees it."""
    return float(cell) if isinstance(cell, (int, float)) and abs(cell) < 1e300 else 0.0


Ask = Callable[[Any], Any]
EXAMPLES: dict[str, list[tuple[str, Ask]]] = {
    "count": [("truths", lambda v: DP.count(v, epsilon=1)),
              ("numbers", lambda v: DP.count(v, epsilon=1)),
              ("words", lambda v: DP.count(v, epsilon=1, neighbours=DP.Customer(transactions=2)))],
    "sum": [("numbers", lambda v: DP.sum(v, bounds=(0, 10), epsilon=1))],
    "mean": [("numbers", lambda v: DP.mean(v, bounds=(0, 10), epsilon=1))],
    "var": [("numbers", lambda v: DP.var(v, bounds=(0, 10), epsilon=1))],
    "std": [("numbers", lambda v: DP.std(v, bounds=(0, 10), epsilon=1))],
    "min": [("numbers", lambda v: DP.min(v, bounds=(0, 10), epsilon=1))],
    "max": [("numbers", lambda v: DP.max(v, bounds=(0, 10), epsilon=1))],
    "median": [("numbers", lambda v: DP.median(v, bounds=(0, 10), epsilon=1))],
    "quantile": [("numbers", lambda v: DP.quantile(v, 0.3, bounds=(0, 10), epsilon=1))],
    "quantiles": [("numbers", lambda v: DP.quantiles(v, [0.3, 0.6], bounds=(0, 10), epsilon=1))],
    "price": [("numbers", lambda v: DP.price(v, [1, 2, 5], epsilon=1))],
    "top1": [("words", lambda v: DP.top1(v, list("abc"), epsilon=1)),
             ("numbers", lambda v: DP.top1(v, [1, 2, 3], epsilon=1))],
    "histogram": [
        ("numbers", lambda v: DP.histogram(v, **BINS, epsilon=1)),
        ("words", lambda v: DP.histogram(v, bins=["a", "b", "c"], **P)),
        ("numbers", lambda v: DP.histogram(v, bins=[0, 1, 2, 3], epsilon=1)),
        ("numbers", lambda v: DP.histogram(v, **BINS, sums=v, sum_bounds=(0, 10), rho=1)),
    ],
    "ordered_histogram": [
        ("numbers", lambda v: DP.ordered_histogram(v, bounds=(0, 10), cells=32, epsilon=1)),
    ],
    "spatial_histogram": [
        ("points", lambda v: DP.spatial_histogram(v, bounds=[(0, 1)] * 2, side=16, epsilon=1)),
        ("columns", lambda v: DP.spatial_histogram(v, bounds=XY, side=16, epsilon=1)),
    ],
    "KMeans": [
        ("points", lambda v: DP.KMeans(2, bounds=[(0, 1)] * 2, epsilon=9).fit(v).release().data),
        ("points", lambda v: DP.KMeans(2, bounds=[(0, 1)] * 2, epsilon=9, algorithm="lecture",
                                       rounds=2).fit(v)),
        ("columns", lambda v: DP.KMeans(2, bounds=XY, epsilon=9).fit(v)),
    ],
    "top_k": [
        ("baskets", lambda v: DP.top_k(v, 2, items=list("abcd"), epsilon=9)),
        ("baskets", lambda v: DP.top_k(v, 2, items=list("abcd"), epsilon=9, counts=True)),
        ("baskets", lambda v: DP.top_k(v, 2, items=list("abcd"), rho=9, algorithm="gaussian")),
        ("baskets", lambda v: DP.top_k(v, 2, items=list("abcd"), rho=9, set_size=2, counts=True)),
        ("baskets", lambda v: DP.top_k(v, 3, **P)),
        ("numbered", lambda v: DP.top_k(v, 3, **P)),
        ("numbered", lambda v: DP.top_k(v, 2, items=[0, 1, 2], epsilon=9)),
        ("numbers", lambda v: DP.top_k(v, 2, items=[0, 1, 2, 3], epsilon=9)),
        ("words", lambda v: DP.top_k(v, 2, **P)),
    ],
    "set_union": [("baskets", lambda v: DP.set_union(v, **P)),
                  ("numbered", lambda v: DP.set_union(v, **P)),
                  ("numbers", lambda v: DP.set_union(v, **P))],
    "select_partitions": [("words", lambda v: DP.select_partitions(v, **P)),
                          ("numbers", lambda v: DP.select_partitions(v, **P))],
    "count_generalized": [("table", lambda v: DP.count_generalized(v, {"g": 0, "w": 0}, **P))],
    "synthesize": [
        ("table", lambda v: DP.synthesize(v, columns=DECLARED, size=20, **P)),
        ("table", lambda v: DP.synthesize(v, columns=DECLARED, search=0.2, size=20, **P)),
    ],
    "synthesize_sets": [
        ("lists", lambda v: DP.synthesize_sets(v, items=["a", "b", "c"], rho=9, top=2)),
        ("lists", lambda v: DP.synthesize_sets(v, top=2, **P)),
        ("numbered lists", lambda v: DP.synthesize_sets(v, top=2, **P)),
    ],
    "synthesize_graph": [("edges", lambda v: DP.synthesize_graph(v, vertices=6, epsilon=9))],
    "synthesize_trajectories": [
        ("trips", lambda v: DP.synthesize_trajectories(v, box=(0, 5, 0, 5), degrees=False, rho=9)),
    ],
    "LogisticRegression": [("columns", _learn(DP.LogisticRegression, classes=[0, 1], **P))],
    "LinearRegression": [("columns", _learn(DP.LinearRegression, target=(0, 10), **P))],
    "NaiveBayes": [("columns", _learn(DP.NaiveBayes, classes=[0, 1], epsilon=9))],
    "AdditiveClassifier": [("columns", _learn(DP.AdditiveClassifier, classes=[0, 1], **P))],
    "AdditiveRegressor": [("columns", _learn(DP.AdditiveRegressor, target=(0, 10), **P))],
    "PCA": [("columns", _learn(DP.PCA, **P))],
}  # fmt: skip
TRAINED: dict[str, list[tuple[str, Ask]]] = {"train": [("examples", _train)]}
"""What needs torch, in a test of its own."""

EXACT = "takes an exact answer, whose size and type are public; rows were counted by the caller"
PLANS = "is about public parameters alone and takes no rows"
NO_ROWS = {
    **dict.fromkeys(
        ("above_threshold", "discrete_gaussian", "exponential", "gaussian", "geometric", "laplace",
         "permute_and_flip", "report_noisy_max"), EXACT,
    ),
    "randomized_response": "perturbs each answer of a public number of people by itself",
    **dict.fromkeys(
        ("account", "amplify", "calibrate", "compose_advanced", "compose_parts", "explain",
         "forecast_ordered", "forecast_spatial", "geometric_pair", "pair_of", "plan", "plan_sample",
         "plan_top_k", "plan_union", "predict_graph", "predict_sets", "predict_synthesis",
         "predict_trajectories", "sensitivity", "trade_off_of"), PLANS,
    ),
    "compare_with_original": "is for the owner, who compares a copy with the rows; it says so",
    "local_sensitivity": "is for study: it tells of the data, and says so",
    "read_model": "reads what was released",
    "read_network": "reads what was released",
}  # fmt: skip


def test_every_public_function_has_an_example():
    for name in DP.__all__:
        value = getattr(DP, name)
        if inspect.isfunction(value) or hasattr(value, "fit"):
            known = (EXAMPLES | TRAINED).get(name) or name in NO_ROWS
            assert known, f"give an example call for sf.dp.{name}"


# -- examples for sessions ------------------------------------------------------------------------

COUNTED = "SELECT g, COUNT(*) AS many, SUM(x) AS total, AVG(n) AS mean, MEDIAN(x) AS half FROM t"
COPIED = {"epsilon": 9, "delta": 0.01, "size": 20}


TYPES = {"who": "text", "g": "integer", "w": "text", "x": "number", "n": "integer", "y": "integer"}
PURE, APPROXIMATE = sf.PureDP(900), sf.ApproxDP(900, 0.5)
STATED = {"bounds": {"x": (0, 10), "n": (0, 5)},
          "keys": {"g": [1, 2], "w": ["a", "b", "c"], "y": [0, 1]}}  # fmt: skip
SCHEMA = sf.Schema(
    attributes={name: {"role": "insensitive", "type": kind} for name, kind in TYPES.items()}
)


def _table(source: Any, unit: Any, budget: Any, public: dict[str, Any]) -> Any:
    """Open a session whose owner states that this is public of its columns."""
    ledger = sf.Ledger(None)
    return sf.Session(source, name="t", unit=unit, budget=budget, ledger=ledger, **public)


def _saved(session: Any) -> dict[str, str]:
    """Save a release with its report, and give all files without times and digests of them."""
    release = session.quantiles("x", cells=16, epsilon=2)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        session.save(release, folder, report=True)
        return {f.name: _timeless(f.read_text("utf-8")) for f in sorted(folder.iterdir())}


def _timeless(text: str) -> str:
    text = re.sub(r"tmp\w{8}|\d{4}-\d\d-\d\d[T ][\d:.]+(\+00:00|Z)?|[0-9a-f]{64}", "…", text)
    return re.sub(r'"number": \d+', "…", text)


def _asked_again(session: Any) -> Any:
    """What is given again is what was given, and costs nothing."""
    return [session.top_k("g", 1, epsilon=1) for _ in range(2)], session.remaining, session.spent


SESSION: dict[str, list[Ask]] = {
    "sql": [
        lambda s: s.sql(f"{COUNTED} GROUP BY g", epsilon=4),
        lambda s: s.sql("SELECT COUNT(*), COUNT(x) FROM t WHERE w = 'a' AND x > 2", epsilon=4),
        lambda s: s.sql("SELECT g, y, COUNT(*) FROM t GROUP BY ROLLUP (g, y)", epsilon=4),
    ],
    "table": [lambda s: s.table().count().ask(epsilon=1),
              lambda s: s.table().group_by("y").sum("x").ask(epsilon=1)],
    "ask": [lambda s: s.ask(s.table().group_by("g").avg("n"), epsilon=1)],
    "together": [lambda s: s.together(["SELECT COUNT(*) FROM t WHERE x > 3",
                                       "SELECT COUNT(*) FROM t WHERE x <= 3"], epsilon=1)],
    "estimate": [lambda s: s.estimate(f"{COUNTED} GROUP BY g", epsilon=1)],
    "histogram": [lambda s: s.histogram("x", bins=4, sums="n", missing=True, epsilon=1),
                  lambda s: s.histogram(["w", "y"], epsilon=1)],
    "map": [lambda s: s.map(latitude="x", longitude="n", box=(0, 0, 9, 5), rows=2, columns=2,
                            epsilon=1)],
    "kmeans": [lambda s: s.kmeans(["x", "n"], 2, epsilon=4),
               lambda s: s.kmeans(["x"], 2, algorithm="lecture", epsilon=4)],
    "top_k": [lambda s: s.top_k("w", 2, epsilon=4, counts=True), _asked_again],
    "quantiles": [lambda s: s.quantiles("x", cells=64, epsilon=4)],
    "spatial_histogram": [lambda s: s.spatial_histogram("x", "n", side=16, epsilon=4)],
    "predict": [lambda s: s.predict("kmeans", ["x"], 2, rows=24, epsilon=1)],
    "save": [_saved],
    "fit": [lambda s: s.fit(DP.NaiveBayes(epsilon=4), target="y")],
    "cross_validate": [lambda s: s.cross_validate(DP.NaiveBayes(epsilon=4), target="y")],
    "forecast": [lambda s: s.forecast(DP.NaiveBayes(epsilon=4), rows=24, target="y")],
    "close": [lambda s: s.close()],
}  # fmt: skip
SESSION_WITH_DELTA: dict[str, list[Ask]] = {
    "sql": [lambda s: s.sql("SELECT n, COUNT(*) AS many FROM t GROUP BY n", **P),
            lambda s: s.sql(f"{COUNTED} GROUP BY g", **P)],
    "synthesize": [lambda s: s.synthesize(**COPIED)],
    "top_k": [lambda s: s.top_k("who", 2, **P)],
    "set_union": [lambda s: s.set_union("w", **P), lambda s: s.set_union("n", **P)],
    "fit": [lambda s: s.fit(DP.LinearRegression(**P), target="x"), lambda s: s.fit(DP.PCA(**P))],
}  # fmt: skip


def _trained_in(session: Any) -> Any:
    import torch

    def network(inputs: int) -> Any:
        torch.manual_seed(1)
        return torch.nn.Linear(inputs, 2)

    return session.train(
        network, torch.nn.functional.cross_entropy, target="y", columns=["x", "n"], epsilon=4,
        delta=1e-4, lot=4, steps=2,
    )  # fmt: skip


SESSION_TRAINED: dict[str, list[Ask]] = {"train": [_trained_in]}
"""A method of a session that needs torch."""

Q = sf.dp.queries
BOX = (0.0, 4.0, 0.0, 4.0)
LISTED = {"list": lambda records, _: records}


@dataclass(frozen=True)
class Shaped(Data):
    """Data of a shape, what is said when they are read, what is protected, and questions."""

    options: dict[str, Any]
    unit: Any
    questions: list[Any]


SHAPED = {
    "sets": Shaped(
        BASKETS, {**LISTED, "lines": _lines, "csv": _long}, lambda odd: [["a", odd], [odd]],
        {}, DP.Transaction(items=3), [Q.SetsWith(["a"]), Q.ItemsBought(["a", "b"])],
    ),
    "trees": Shaped(
        TREES, {**LISTED, "json lines": _json_lines},
        lambda odd: [{"who": "z", "courses": [{"id": odd}]}], {}, DP.Tree(vertices=5),
        [Q.TreesWith("courses.id", "a"), Q.LabelCounts("courses.id", ["a", "b"]),
         Q.VerticesPerLevel(["courses"]), Q.Enrolments("courses.id", "a")],
    ),
    "graph": Shaped(
        EDGES, {**LISTED, "edges": _edge_file, "networkx": _networkx},
        lambda odd: [(0, 5), (1, 4)],  # nodes are public, so an edge joins two of them
        {"nodes": range(6)}, "edge",
        [Q.Edges(), Q.Nodes(), Q.DegreeAtLeast(2), Q.DegreeDistribution(), Q.Triangles(), Q.Stars(),
         Q.Cliques()],
    ),
    "trajectories": Shaped(
        TRACES, {name: FRAME[name] for name in ("dict", "pandas", "csv", "parquet")},
        lambda odd: [{**TRACES[0], "trip": "z", "who": "z", "x": odd},
                     {**TRACES[0], "trip": "z", "who": odd}],
        {"bounds": BOX, "trip": "trip", "person": "who", "time": "t", "x": "x", "y": "y"}, "trip",
        [Q.Trips(), Q.TripsThrough((0, 2, 0, 2)), Q.TripsByHour(), Q.CellVisits(2, most=2),
         Q.TripsBetween(2)],
    ),
}  # fmt: skip
WINNERS = {
    "sets": {"what": "item", "among": ["a", "b", "c"]},
    "trees": {"what": "courses.id", "among": ["a", "b", "c"]},
    "graph": {"what": "node"}, "trajectories": {"what": "cell", "cells": 2},
}  # fmt: skip


def _shaped_asks(shape: str) -> dict[str, list[Ask]]:
    """Give the examples for the methods of a session on data of some shape."""
    copied = {"epsilon": 9} if shape == "graph" else {"epsilon": 9, "delta": 0.01}
    won = WINNERS[shape]
    return {
        "ask": [lambda s, q=q: s.ask(q, epsilon=4) for q in SHAPED[shape].questions],
        "estimate": [lambda s: s.estimate(SHAPED[shape].questions[0], epsilon=1)],
        "top_k": [lambda s: s.top_k(k=2, epsilon=4, counts=True, **won)],
        "predict_top_k": [lambda s: s.predict_top_k(k=2, epsilon=4, **won)],
        "synthesize": [] if shape == "trees" else [lambda s: s.synthesize(**copied)],
        "save": [lambda s: s.save(s.top_k(k=1, epsilon=4, **won), tempfile.mkdtemp()).name],
        "close": [lambda s: s.close()],
    }  # fmt: skip


SESSION_OF_PEOPLE = {name: SESSION[name] for name in ("sql", "kmeans", "top_k", "fit")}
"""What keeps some rows of each person, or counts people."""


def _public_methods(kind: type) -> list[str]:
    return [name for name, value in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"]


def test_every_method_of_every_session_has_an_example():
    for name in _public_methods(sf.Session):
        known = SESSION | SESSION_WITH_DELTA | SESSION_TRAINED
        assert known.get(name), f"give an example call for Session.{name}"
    for shape in SHAPED:
        for name in _public_methods(ShapedSession):
            assert name in _shaped_asks(shape), f"give an example call for ShapedSession.{name}"


def test_every_statistic_has_an_example():
    given = {type(question) for data in SHAPED.values() for question in data.questions}
    for name in Q.__all__:
        assert getattr(Q, name) in given, f"give an example for sf.dp.queries.{name}"
        assert issubclass(getattr(Q, name), Statistic)


# -- what is asked of what, and on which neighbours -----------------------------------------------


def _new_entries(subject: Any) -> Callable[[], str]:
    """Give what reads the entries that a session's ledger has got since."""
    if not isinstance(subject, (sf.Session, ShapedSession)):
        return str
    before = subject.ledger.count()

    def read() -> str:
        lines = []
        for entry in subject.ledger.entries()[before:]:
            told = {name: value for name, value in vars(entry).items() if name not in CHANGING}
            told["refers"] = entry.refers and entry.refers - before
            lines.append(_timeless(json.dumps(told, default=repr)))
        return "\n".join(lines)

    return read


CHANGING = {"number", "time", "fingerprint", "previous", "hash"}
"""Of an entry: what counts and dates it, and what is keyed by a secret of each ledger."""


@dataclass
class Group:
    """Questions about one kind of data: how records become it in every source, and what is odd.

    It is data for a function, or an open session. Those are kept, with what was recorded on them,
    until the last question is asked.
    """

    name: str
    records: list[Any]
    sources: dict[str, Callable[[list[Any]], Any]]
    strange: Callable[[Any], list[Any]]
    asks: dict[str, Ask]
    may_fail: bool = False
    kept: dict[Any, Any] = field(default_factory=dict)

    def subject(self, source: str, kind: str | None, number: int, *, first: bool) -> Any:
        """Give the data, or the neighbour with one odd record more; Unfit where none can be."""
        key = source, kind, number, first
        if key not in self.kept:
            odd = [] if kind is None else [self.strange(HOSTILE[kind]())[number]]
            try:
                self.kept[key] = self.sources[source](
                    [*odd, *self.records] if first else [*self.records, *odd]
                )
            except BaseException as error:  # polars panics where it cannot hold a cell
                if isinstance(error, KeyboardInterrupt):
                    raise
                self.kept[key] = Unfit()
        if isinstance(self.kept[key], Unfit):
            raise Unfit
        return self.kept[key]

    def tell(
        self, label: str, neighbours: list[Neighbour]
    ) -> tuple[Counter[str], dict[str, list[str]]]:
        """Ask about the data and about neighbours; count by source, say which are told apart."""
        asked, found = Counter[str](), dict[str, list[str]]()
        ask = self.asks[label]
        for source, kind, number, first in neighbours:
            key = source, label
            if key not in self.kept:
                own = self.subject(source, None, 0, first=False)
                self.kept[key] = record(lambda own=own: ask(own), _new_entries(own))
                failure = self.kept[key][1].failure
                assert self.may_fail or not failure, f"{label} has to work, and fails: {failure}"
            try:
                other = self.subject(source, kind, number, first=first)
            except Unfit:
                continue
            deep = not asked
            asked[source] += 1
            differing = replay(
                lambda other=other: ask(other), *self.kept[key], _new_entries(other), deep=deep
            )
            if differing:
                where = "first" if first else "last"
                found[f"{source}, {kind} {number} {where}"] = differing
        return asked, found

    def tell_all(self, neighbours: list[Neighbour]) -> tuple[Counter[str], dict[str, Any]]:
        """Ask everything, in its order, and let go of what was asked."""
        try:
            told = {label: self.tell(label, neighbours) for label in self.asks}
        finally:
            self.close()
        found = {label: differing for label, (_, differing) in told.items() if differing}
        return sum((asked for asked, _ in told.values()), Counter[str]()), found

    def close(self) -> None:
        """Let go of what was kept."""
        for made in self.kept.values():
            if isinstance(made, (sf.Session, ShapedSession)):
                made.close()
        self.kept.clear()

    def everyone(self) -> list[Neighbour]:
        """List all neighbours: every source, every odd record, first and last."""
        many = len(self.strange(None))
        return [
            (source, kind, number, first)
            for source in self.sources for kind in HOSTILE for number in range(many)
            for first in (True, False)
        ]  # fmt: skip

    def few(self) -> list[Neighbour]:
        """List neighbours for every odd record, by turns in every source, first and last.

        Where much is asked of the same data, a quarter of them in three sources, since a session
        is asked all its questions; of tables, half of them. All are chosen somewhere.
        """
        sources, many, turn = list(self.sources), len(self.strange(None)), len(self.name)
        if len(self.asks) > 1:
            sources = (sources * 2)[turn % len(sources) :][:3]
        step = 4 if len(self.asks) > 1 else 2 if self.records is TABLE else 1
        return [
            (
                sources[(i + i // len(sources)) % len(sources)], kind, (turn + i) % many,
                bool((turn + i) // many % 2),
            )
            for i, kind in enumerate(list(HOSTILE)[turn // 2 % step :: step])
        ]  # fmt: skip


Neighbour = tuple[str, str, int, bool]


def _groups_of_functions(examples: dict[str, list[tuple[str, Ask]]]) -> list[Group]:
    made = []
    for name, asks in examples.items():
        for number, (kind, ask) in enumerate(asks):
            data = DATA[kind]
            sources = {
                source: lambda rows, make=make: make(rows, FOLDER)
                for source, make in data.sources.items()
            }
            label = f"{name} {number}"
            made.append(Group(label, data.records, sources, data.strange, {label: ask}))
    return made


def _folder() -> Path:
    return Path(tempfile.mkdtemp(dir=FOLDER))


def _group_of_sessions(
    name: str, unit: Any, asks: dict[str, list[Ask]], budget: Any = PURE, *,
    public: Any = None, tables: Any = None, may_fail: bool = False,
) -> Group:  # fmt: skip
    public = {**STATED, "schema": SCHEMA} if public is None else public
    tables = {n: make for n, make in FRAME.items() if n != "numpy"} if tables is None else tables
    sources = {
        source: lambda rows, make=make: _table(make(rows, _folder()), unit, budget, public)
        for source, make in tables.items()
    }
    return Group(name, TABLE, sources, _rows, _labelled(name, asks), may_fail)


def _group_of_shape(shape: str) -> Group:
    data = SHAPED[shape]

    def opened(held: Any) -> Any:
        source = sf.read(held, shape=shape, **data.options)
        return sf.Session(
            source, unit=data.unit, budget=APPROXIMATE, name="t", ledger=sf.Ledger(None)
        )

    sources = {
        source: lambda rows, make=make: opened(make(rows, _folder()))
        for source, make in data.sources.items()
    }
    name = f"{shape} session"
    asks = _labelled(name, _shaped_asks(shape))
    return Group(name, data.records, sources, data.strange, asks)


def _labelled(name: str, asks: dict[str, list[Ask]]) -> dict[str, Ask]:
    return {
        f"{name}: {method} {number}": ask
        for method, listed in asks.items()
        for number, ask in enumerate(listed)
    }


FOLDER = Path(tempfile.gettempdir()) / f"neighbours-{os.getpid()}"
PERSON = sf.Unit("who", rows=2)
GROUPS = [
    *_groups_of_functions(EXAMPLES),
    _group_of_sessions("session", "row", SESSION),
    _group_of_sessions("session with delta", "row", SESSION_WITH_DELTA, APPROXIMATE),
    _group_of_sessions("session of people", PERSON, SESSION_OF_PEOPLE),
    _group_of_sessions("session without types", "row", SESSION_OF_PEOPLE, public=STATED),
    _group_of_sessions(
        "session of unknown columns", "row", SESSION_OF_PEOPLE, public={}, may_fail=True
    ),
    *(_group_of_shape(shape) for shape in SHAPED),
]
WORDS_OF_TYPES = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE"}
KINDS = {name: WORDS_OF_TYPES[kind] for name, kind in TYPES.items()}
SERVERS: dict[str, Any] = {}
"""The address of a database and a session of Spark, once a test has asked for them."""
IN_DATABASES = {
    place: [
        _group_of_sessions(f"{name} in {place}", unit, asks, budget, tables={place: put})
        for name, unit, asks, budget in (
            ("session", "row", SESSION, PURE),
            ("session with delta", "row", SESSION_WITH_DELTA, APPROXIMATE),
            ("session of people", PERSON, SESSION_OF_PEOPLE, PURE),
        )
    ]
    for place, put in {
        "postgres": lambda rows, _: in_postgres(
            SERVERS["postgres"], KINDS, [*_columns(rows).values()]
        ),
        "spark": lambda rows, _: in_spark(SERVERS["spark"], KINDS, [*_columns(rows).values()]),
    }.items()
}
WITH_TORCH = [
    *_groups_of_functions(TRAINED),
    _group_of_sessions("torch", "row", SESSION_TRAINED, APPROXIMATE),
]


def _params(groups: list[Group]) -> list[Any]:
    why = "many questions to sessions that are open once"
    return [
        pytest.param(
            group, id=group.name.replace(" ", "-"),
            marks=[pytest.mark.slow(why)] if len(group.asks) > 1 else [],
        )
        for group in groups
    ]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def taped():
    FOLDER.mkdir(exist_ok=True)
    with mechanisms_on_tape():
        yield
    shutil.rmtree(FOLDER, ignore_errors=True)


@pytest.mark.parametrize("group", _params(GROUPS))
def test_a_strange_record_changes_nothing(group):
    asked, found = group.tell_all(group.few())
    assert found == {}
    assert asked


def test_many_neighbours_are_asked():
    assert sum(len(group.few()) * len(group.asks) for group in GROUPS) > 500
    for groups in ([g for g in GROUPS if len(g.asks) > 1 and g.records is TABLE], GROUPS):
        chosen = [neighbour for group in groups for neighbour in group.few()]
        assert {source for source, *_ in chosen} == {s for g in groups for s in g.sources}
        assert {kind for _, kind, *_ in chosen} == set(HOSTILE)
        assert {first for *_, first in chosen} == {True, False}


# -- the test sees what it is for ---------------------------------------------------------------


def _named(name: str) -> Group:
    return next(group for group in GROUPS if group.name == name)


def _keep_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = DP.KMeans.fit

    def fitted(self: Any, rows: Any) -> Any:
        model = fit(self, rows)
        model.labels_ = model.predict(rows)
        return model

    monkeypatch.setattr(DP.KMeans, "fit", fitted)


def _count_names(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = winners._unknown

    def counted(baskets: Any, *args: Any) -> Any:
        found = unknown(baskets, *args)
        many = len(winners.baskets_of(baskets).names)
        return replace(found, entries=(replace(found.entries[0], numbers=many),))

    monkeypatch.setattr(winners, "_unknown", counted)


def _order_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    read = winners.baskets_of

    def as_they_come(baskets: Any, **options: Any) -> Any:
        found = read(baskets, **options)
        seen = dict.fromkeys(item for basket in baskets for item in basket)
        order = [list(found.names).index(name) for name in seen]
        places = np.argsort(np.array(order))[found.items]
        return replace(found, names=list(seen), items=places)

    monkeypatch.setattr(winners, "baskets_of", as_they_come)


def _exact_total(monkeypatch: pytest.MonkeyPatch) -> None:
    put = DP.OrderedHistogram.__init__

    def made(self: Any, *args: Any, **options: Any) -> None:
        put(self, *args, **options)
        warnings.warn(f"{sys._getframe(1).f_locals['exact'].sum()} rows", stacklevel=2)

    monkeypatch.setattr(DP.OrderedHistogram, "__init__", made)


BROKEN = [
    ("KMeans 0", _keep_labels, "labels_"),
    ("top_k 4", _count_names, "numbers"),
    ("top_k 4", _order_of_rows, "items"),
    ("ordered_histogram 0", _exact_total, "rows"),
]


@pytest.mark.parametrize(("name", "breaks", "words"), BROKEN)
def test_a_copy_that_hands_out_private_facts_is_told(monkeypatch, name, breaks, words):
    """Labels of rows, a number of private names, an order of rows, a warning with a total."""
    breaks(monkeypatch)
    group = _named(name)
    fresh = Group(name, [["a"], *group.records] if "top_k" in name else group.records,
                  {"list": lambda rows: rows}, group.strange, group.asks)  # fmt: skip
    if "top_k" in name:
        fresh.strange = lambda odd: [["c", odd if isinstance(odd, str) else "z"]]
    _, found = fresh.tell(name, fresh.few())
    assert any(words in line for lines in found.values() for line in lines)


# -- all neighbours, for minutes ------------------------------------------------------------------


@functools.cache
def _code() -> str:
    """Name the code that is tested, as it was when this run began."""
    code = hashlib.sha256(Path(__file__).read_bytes())
    for place in sorted(Path(sf.__file__).parent.rglob("*.py")):
        code.update(place.read_bytes())
    return code.hexdigest()[:16]


def _tell_all(group: Group, neighbours: list[Neighbour], config: pytest.Config) -> None:
    """Ask about neighbours of one source; what this very code was asked before is not asked again.

    What could be asked is counted in the cache of pytest, by source.
    """
    source = neighbours[0][0]
    key = f"neighbours/{_code()}/{group.name}/{source}".replace(" ", "-")
    if config.cache.get(key, None) is None:
        asked, found = group.tell_all(neighbours)
        assert found == {}
        config.cache.set(key, asked[source])
    sys.__stderr__.write(f"{group.name}, {source}: {config.cache.get(key, None):,} pairs\n")


def _params_of_sources() -> list[Any]:
    return [
        pytest.param(group, source, id=f"{group.name}-{source}".replace(" ", "-"))
        for group in GROUPS for source in group.sources
    ]  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize(("group", "source"), _params_of_sources())
def test_no_strange_record_in_any_source_changes_anything(group, source, pytestconfig):
    _tell_all(group, [one for one in group.everyone() if one[0] == source], pytestconfig)


@pytest.mark.soak
@pytest.mark.parametrize("group", _params(IN_DATABASES["postgres"]))
def test_no_strange_record_in_postgres_changes_anything(group, postgres_url, pytestconfig):
    SERVERS["postgres"] = postgres_url
    _tell_all(group, group.everyone(), pytestconfig)


@pytest.mark.soak
@pytest.mark.parametrize("group", _params(IN_DATABASES["spark"]))
def test_no_strange_record_in_spark_changes_anything(group, spark, pytestconfig):
    SERVERS["spark"] = spark
    _tell_all(group, group.few(), pytestconfig)


@pytest.mark.soak
def test_thousands_of_neighbours_are_asked():
    assert sum(len(group.everyone()) * len(group.asks) for group in GROUPS) > 5_000


@pytest.mark.soak
@pytest.mark.parametrize("group", _params(WITH_TORCH))
def test_training_tells_nothing(group):
    pytest.importorskip("torch")
    with mechanisms_on_tape(torch=True):
        _, found = group.tell_all(group.few())
    assert found == {}
