"""Losses against formulas over rows in plain Python, and the worked examples."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymize.loss.measures import (
    OBJECTIVES,
    attribute_losses,
    check_objective,
    class_loss,
    losses,
    normalized_weights,
    raw_values,
    separable,
)
from sfumato.anonymize.tables.apply.cells import released_cells
from sfumato.anonymize.tables.recoding import SUPPRESSED, FullDomain, Local, SearchRecord
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable
from sfumato.errors import ParameterError

WORKCLASS = Hierarchy.from_rows(
    [
        ("state", "government", "*"),
        ("local", "government", "*"),
        ("federal", "government", "*"),
        ("private", "private", "*"),
        ("inc", "self-employed", "*"),
        ("not-inc", "self-employed", "*"),
        ("without-pay", "unemployed", "*"),
        ("never-worked", "unemployed", "*"),
    ]
)
AGE = Hierarchy.from_rows(
    [(str(a), "30-35" if a < 35 else "35-40", "30-40") for a in range(30, 40)], ordered=True
)
TREES = (WORKCLASS, AGE)
RECORD = SearchRecord("test")


def table_of(rows, hierarchies=TREES, names=("workclass", "age")):
    tuples = Counter(rows)
    quasi = [[h.codes[v] for h, v in zip(hierarchies, row, strict=True)] for row in tuples]
    n_names = len(names)
    return FrequencyTable(
        names,
        (),
        np.array(quasi, dtype=np.int32).reshape(len(tuples), n_names),
        np.zeros((len(tuples), 0), dtype=np.int32),
        np.array(list(tuples.values()), dtype=np.int64),
    )


def local(shares, nodes):
    """Build a local recoding from (tuple, class, count) and per class (level, low, high)."""
    tuple_, class_, count = (np.array(c, dtype=np.int64) for c in zip(*shares, strict=True))
    cells = np.array(nodes, dtype=np.int64).reshape(len(nodes), 2, 3)
    return Local(tuple_, class_, count, cells[..., 0], cells[..., 1], cells[..., 2], RECORD)


# -- worked examples ------------------------------------------------------------------


def test_loss_metric_of_the_workclass_tree():
    loss = {
        (leaf, level): WORKCLASS.loss[WORKCLASS.codes[leaf], level]
        for leaf in WORKCLASS.leaves
        for level in range(3)
    }
    assert loss["private", 0] == loss["private", 1] == 0
    assert loss["never-worked", 1] == pytest.approx(1 / 7)
    assert loss["state", 1] == pytest.approx(2 / 7)
    assert loss["private", 2] == 1
    assert AGE.loss[0, 1] == pytest.approx(4 / 9)


def test_loss_metric_of_the_two_records():
    rows = [("state", "31"), ("private", "36")]
    table = table_of(rows)
    # Record 1 becomes (government, 30–35), record 2 (private, 30–40).
    recoding = local(
        [(0, 0, 1), (1, 1, 1)],
        [
            [(1, WORKCLASS.codes["state"], 0), (1, 1, 0)],
            [(0, WORKCLASS.codes["private"], 0), (2, 6, 0)],
        ],
    )
    found = losses(table, TREES, recoding, {"workclass": 0.6, "age": 0.4})
    assert found["LM"] * 2 == pytest.approx(0.749206, abs=5e-7)
    costs, _ = separable("LM", TREES, table, {"workclass": 0.6, "age": 0.4})
    government = costs[0][WORKCLASS.codes["state"], 1] + costs[1][1, 1]
    private = costs[0][WORKCLASS.codes["private"], 0] + costs[1][6, 2]
    assert government == pytest.approx(0.349206, abs=5e-7)
    assert private == pytest.approx(0.4, abs=1e-12)


# -- by hand --------------------------------------------------------------------------


def test_class_losses_by_hand():
    # Classes of 3 and 2, one record suppressed, n = 6.
    sizes = np.array([3, 2])
    assert class_loss("DM", sizes, 1) == pytest.approx((9 + 4 + 6) / 36)
    assert class_loss("AECS", sizes, 1) == pytest.approx(1 / 3)
    assert class_loss("AECS", sizes, 0) == pytest.approx(1 / 2)
    assert class_loss("DM", np.array([], dtype=np.int64), 6) == 1
    assert class_loss("AECS", np.array([], dtype=np.int64), 6) == 1


def test_classes_that_look_alike_count_as_one():
    rows = [("private", "31"), ("private", "31"), ("inc", "30"), ("state", "39")]
    table = table_of(rows)
    private = WORKCLASS.codes["private"]
    # "private" on level 0 and on level 1 is the same label; range 31..31 is the leaf 31.
    recoding = local(
        [(0, 0, 1), (0, 1, 1), (1, SUPPRESSED, 1), (2, 2, 1)],
        [[(0, private, 0), (0, 1, 0)], [(1, private, 0), (-1, 1, 1)], [(2, 0, 0), (-1, 5, 9)]],
    )
    assert raw_values(table, TREES, recoding) == {
        "classes": 2.0,
        "average class size": 1.5,
        "discernibility": 2.0**2 + 1 + 4,
        "suppressed": 1.0,
    }


def test_range_costs_by_hand():
    table = table_of([("private", "30")] * 3 + [("private", "32")] + [("private", "39")] * 4)
    private = [(0, WORKCLASS.codes["private"], 0)]
    recoding = local(
        [(0, 0, 3), (1, 0, 1), (2, 1, 4)], [[*private, (-1, 0, 2)], [*private, (0, 9, 0)]]
    )
    found = attribute_losses(table, TREES, released_cells(table, TREES, recoding))["age"]
    assert found["LM"] == pytest.approx(4 * (2 / 9) / 8)
    assert found["MD"] == pytest.approx(4 * (1 / 2) / 8)
    mixed = 3 * math.log(4 / 3) + math.log(4)
    whole = 3 * math.log(8 / 3) + math.log(8) + 4 * math.log(2)
    assert found["NUE"] == pytest.approx(mixed / whole)
    assert attribute_losses(table, TREES, released_cells(table, TREES, recoding))["workclass"] == {
        "LM": 0,
        "MD": 0,
        "NUE": 0,
    }


# -- random tables --------------------------------------------------------------------

rows_strategy = st.lists(
    st.tuples(st.sampled_from(WORKCLASS.leaves), st.sampled_from(AGE.leaves)),
    min_size=1,
    max_size=30,
)
weight_strategy = st.tuples(st.integers(0, 5), st.integers(1, 5))


def brute_force(rows, trees, levels, suppressed_rows, weights):
    """All losses by looping over rows, in fractions where they are rational."""
    n = len(rows)
    share = [Fraction(w, sum(weights)) for w in weights]
    labels = [
        tuple(h.rows()[h.codes[v]][level] for h, v, level in zip(trees, row, levels, strict=True))
        for row in rows
    ]
    found = {"LM": Fraction(0), "MD": Fraction(0), "NUE": 0.0}
    for a, (h, level) in enumerate(zip(trees, levels, strict=True)):
        below = Counter(r[level] for r in h.rows())
        path = {r[0]: r for r in h.rows()}
        whole = -sum(math.log(sum(r[a] == s[a] for s in rows) / n) for r in rows)
        lost = 0.0
        for row, label, out in zip(rows, labels, suppressed_rows, strict=True):
            value = row[a]
            same_node = [s[a] for s in rows if path[s[a]][level] == label[a]]
            steps = len(set(path[value][: level + 1])) - 1
            if out:
                found["LM"] += share[a]
                found["MD"] += share[a]
                lost -= math.log(sum(value == s[a] for s in rows) / n)
            else:
                found["LM"] += share[a] * Fraction(below[label[a]] - 1, h.size - 1)
                found["MD"] += share[a] * Fraction(level if steps else 0, h.height - 1)
                lost -= math.log(same_node.count(value) / len(same_node))
        constant = sum(suppressed_rows) / n
        found["NUE"] += float(share[a]) * (lost / whole if whole > 1e-12 else constant)
    released = Counter(label for label, out in zip(labels, suppressed_rows, strict=True) if not out)
    out = sum(suppressed_rows)
    found["LM"] /= n
    found["MD"] /= n
    found["DM"] = Fraction(sum(c * c for c in released.values()) + out * n, n * n)
    found["AECS"] = Fraction(1, len(released) + (out > 0))
    return found


@settings(max_examples=80, deadline=None)
@given(
    rows_strategy,
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.sets(st.integers(0, 29)),
    weight_strategy,
)
def test_full_domain_losses_equal_brute_force(rows, levels, out, weights):
    table = table_of(rows)
    distinct = list(Counter(rows))
    suppressed = np.array([i in out for i in range(len(distinct))])
    recoding = FullDomain(levels, suppressed, RECORD)
    found = losses(table, TREES, recoding, weights)
    gone = [bool(suppressed[distinct.index(row)]) for row in rows]
    expected = brute_force(rows, TREES, levels, gone, weights)
    assert set(found) == set(OBJECTIVES)
    for name, value in expected.items():
        assert found[name] == pytest.approx(float(value), abs=1e-9), name
        assert 0 <= found[name] <= 1


@settings(max_examples=40, deadline=None)
@given(rows_strategy, st.tuples(st.integers(0, 2), st.integers(0, 2)), st.sets(st.integers(0, 29)))
def test_local_losses_equal_the_same_full_domain_recoding(rows, levels, out):
    """A full-domain recoding written as a local one, one class per distinct tuple."""
    table = table_of(rows)
    suppressed = np.array([i in out for i in range(table.distinct)])
    shares, nodes = [], []
    for i in range(table.distinct):
        shares.append((i, SUPPRESSED if suppressed[i] else len(nodes), int(table.counts[i])))
        if not suppressed[i]:
            # high is meaningless beside a level: it must not be looked at
            nodes.append([(levels[a], int(table.quasi[i, a]), 99) for a in range(2)])
    recoding = local(shares, nodes)
    full = losses(table, TREES, FullDomain(levels, suppressed, RECORD))
    assert losses(table, TREES, recoding) == pytest.approx(full)


@settings(max_examples=60, deadline=None)
@given(rows_strategy, st.sampled_from(["LM", "MD", "NUE"]), weight_strategy)
def test_prices_add_up_and_never_fall(rows, name, weights):
    table = table_of(rows)
    costs, suppressed = separable(name, TREES, table, weights)
    everything = sum(
        float((suppressed[a][table.quasi[:, a]] * table.counts).sum()) for a in range(2)
    )
    assert everything == pytest.approx(table.rows)
    for a in range(2):
        occurring = np.unique(table.quasi[:, a])
        assert (np.diff(costs[a], axis=1) >= -1e-12).all()
        assert (costs[a][:, 0] == 0).all()
        assert (costs[a][occurring, -1] <= suppressed[a][occurring] + 1e-12).all()


@settings(max_examples=40, deadline=None)
@given(rows_strategy, st.sampled_from(["LM", "MD", "NUE"]), st.data())
def test_separable_prices_are_what_losses_measures(rows, name, data):
    table = table_of(rows)
    levels = data.draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    costs, _ = separable(name, TREES, table, [2, 1])
    paid = sum(
        float((costs[a][table.quasi[:, a], levels[a]] * table.counts).sum()) for a in range(2)
    )
    nothing = np.zeros(table.distinct, dtype=np.bool_)
    found = losses(table, TREES, FullDomain(levels, nothing, RECORD), [2, 1])
    assert found[name] == pytest.approx(paid / table.rows)


def test_coarser_never_loses_less():
    rng = np.random.default_rng(5)
    rows = [
        (WORKCLASS.leaves[i], AGE.leaves[j])
        for i, j in zip(rng.integers(0, 8, 200), rng.integers(0, 10, 200), strict=True)
    ]
    table = table_of(rows)
    nothing = np.zeros(table.distinct, dtype=np.bool_)
    found = {
        (i, j): losses(table, TREES, FullDomain((i, j), nothing, RECORD))
        for i in range(3)
        for j in range(3)
    }
    for (i, j), here in found.items():
        for above in ((i + 1, j), (i, j + 1)):
            if above in found:
                assert all(found[above][name] >= here[name] - 1e-12 for name in OBJECTIVES)
    assert found[0, 0]["LM"] == 0
    assert all(found[2, 2][name] == pytest.approx(1) for name in OBJECTIVES)


# -- parameters -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights",
    [{"height": 1}, [1], [1, -1], [0, 0], [float("nan"), 1], {"age": float("inf")}],
)
def test_weights_that_make_no_sense_are_refused(weights):
    with pytest.raises(ParameterError):
        normalized_weights(("workclass", "age"), weights)


def test_weights_by_name():
    assert normalized_weights(("workclass", "age"), {"age": 3}).tolist() == [0.25, 0.75]
    assert normalized_weights(("workclass", "age")).tolist() == [0.5, 0.5]


def test_objectives_are_named():
    assert check_objective("NUE") == "NUE"
    with pytest.raises(ParameterError, match="LM, MD, NUE, DM, AECS"):
        check_objective("entropy")
    with pytest.raises(ParameterError, match="sum over cells"):
        separable("DM", TREES, table_of([("private", "30")]))


# -- real data ------------------------------------------------------------------------


@pytest.mark.real_data
def test_adult_optimum_without_suppression_costs_what_is_known():
    import importlib.util
    from pathlib import Path

    home = Path(__file__).resolve().parents[3] / "bench" / "adult.py"
    spec = importlib.util.spec_from_file_location("adult", home)
    adult = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adult)
    if not adult.FOLDER.exists():
        pytest.skip(f"no Adult data in {adult.FOLDER}")
    from sfumato.anonymize.definitions.anonymity import KAnonymity

    problem = adult.problem(KAnonymity(5))
    nothing = np.zeros(problem.table.distinct, dtype=np.bool_)
    recoding = FullDomain((0, 4, 0, 2, 3, 2, 2, 1), nothing, RECORD)
    found = losses(problem.table, problem.hierarchies, recoding)
    assert found["LM"] == pytest.approx(0.660842, abs=5e-7)
