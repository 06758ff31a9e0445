"""Kernels in two forms: the same result to the bit, and the compiler only where it pays."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import compiled, compiler
from sfumato.anonymize.tables.algorithms.full_domain import evaluation, grouping, judging, rollup
from sfumato.compiled import WaitingAccount
from sfumato.data.tables import permutation, rows

whole = st.integers(0, 40)
FORMS = ("plain", "compiled")


def both(kernel, *args):
    """Run both forms on copies; return results and arguments after the call."""
    answers = []
    for form in FORMS:
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        answers.append((getattr(kernel, form)(*copies), copies))
    return answers


def same(one, other):
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other) and np.asarray(one).dtype == np.asarray(other).dtype


def numbered(keys):
    """Number keys in the order in which they first occur."""
    seen = {}
    groups = [seen.setdefault(key, len(seen)) for key in keys]
    return groups, [keys.index(key) for key in seen]


@settings(max_examples=60, deadline=None)
@given(st.lists(whole, max_size=60), st.sampled_from([41, 5_000, 2**40, 2**61]))
def test_equal_keys_get_the_same_number(small, space):
    keys = np.array([key * (space // 41) for key in small], dtype=np.int64)
    (plain, _), (fast, _) = both(grouping._dense, keys, space)
    assert same(plain, fast)
    groups, first = numbered(keys.tolist())
    assert plain[0].tolist() == groups
    assert plain[1].tolist() == first


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_keys_are_mixed_radix_numbers(data):
    n, members = data.draw(st.integers(1, 20)), data.draw(st.integers(0, 30))
    generator = np.random.default_rng(data.draw(whole))
    columns = generator.integers(0, 6, (3, n)).astype(np.int32)
    radix = generator.integers(1, 4, (3, 2))
    nodes = generator.integers(0, 9, (3, 2, 6)).astype(np.int32) % radix[:, :, None]
    nodes = nodes.astype(np.int32)
    positions, levels = np.array([2, 0, 1]), generator.integers(0, 2, 3)
    chosen = generator.integers(0, n, members)
    keys = generator.integers(0, 5, members)
    (plain, one), (fast, other) = both(
        grouping._add_keys, columns, nodes, radix, positions, levels, chosen, keys, 5
    )
    assert plain == fast == 5 * radix[positions, levels].prod()
    assert np.array_equal(one[6], other[6])
    space, wanted = 5, keys.tolist()
    for position, level in zip(positions, levels, strict=True):
        digits = [int(nodes[position, level, columns[position, m]]) for m in chosen]
        wanted = [w + d * space for w, d in zip(wanted, digits, strict=True)]
        space *= int(radix[position, level])
    assert one[6].tolist() == wanted


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2**40)), max_size=40))
def test_sums_per_group(pairs):
    groups, weights = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    (plain, _), (fast, _) = both(rollup.sum_per_group, groups, weights, 8)
    assert same(plain, fast)
    assert plain.tolist() == [sum(w for g, w in pairs if g == i) for i in range(8)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40), st.integers(1, 10))
def test_classes_and_records_are_counted(pairs, minimum):
    sizes = np.array([size for size, _ in pairs], dtype=np.int64)
    fails = np.array([failing for _, failing in pairs], dtype=np.bool_)
    removed = np.where(fails, sizes // 2, 0)
    (plain, _), (fast, _) = both(evaluation._tally, sizes, fails, removed, minimum)
    assert plain == tuple(map(int, fast))
    assert plain == (
        sum(s for s, f in pairs if f),
        sum(s > 0 for s, _ in pairs),
        sum(s > 0 and not f for s, f in pairs),
        sum(s * s for s, f in pairs if not f),
        sum(s * max(s, minimum) for s, _ in pairs),
        sum(s >= minimum for s, _ in pairs if s > 0),
        sum(s for s, _ in pairs if s < minimum),
        sum((s - (s // 2 if f else 0)) // minimum for s, f in pairs),
        sum(s // 2 for s, f in pairs if f),
    )


classes = st.lists(st.dictionaries(st.integers(0, 5), st.integers(1, 9), max_size=6), max_size=12)


def histogram_of(found):
    """Return dictionaries of counts as the arrays of a histogram."""
    starts = np.cumsum([0, *map(len, found)]).astype(np.int64)
    values = np.array([v for c in found for v in sorted(c)], dtype=np.int32)
    counts = np.array([c[v] for c in found for v in sorted(c)], dtype=np.int64)
    return starts, values, counts


@settings(max_examples=60, deadline=None)
@given(classes, st.data())
def test_histograms_are_added_up(found, data):
    groups = data.draw(st.lists(st.integers(0, 3), min_size=len(found), max_size=len(found)))
    given_groups = np.array(groups, dtype=np.int64)
    (plain, _), (fast, _) = both(rollup._merge, *histogram_of(found), given_groups, 4, 6)
    assert same(plain, fast)
    wanted = [{} for _ in range(4)]
    for g, c in zip(groups, found, strict=True):
        for v, n in c.items():
            wanted[g][v] = wanted[g].get(v, 0) + n
    assert same(tuple(plain), histogram_of(wanted))
    dense = rollup.Histogram(*plain).dense(0, 4, 6)
    assert dense.tolist() == [[c.get(v, 0) for v in range(6)] for c in wanted]


@settings(max_examples=40, deadline=None)
@given(classes, st.data())
def test_released_records_are_counted_per_value(found, data):
    gone = data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found)))
    (plain, _), (fast, _) = both(
        judging._released, *histogram_of(found), np.array(gone, dtype=np.bool_), 6
    )
    assert same(plain, fast)
    left = [c for c, g in zip(found, gone, strict=True) if not g]
    assert plain.tolist() == [sum(c.get(v, 0) for c in left) for v in range(6)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=20), st.integers(0, 99))
def test_what_suppression_adds_is_summed_alike(pairs, seed):
    generator = np.random.default_rng(seed)
    gains, quasi = generator.random((2, 3, 4)), generator.integers(0, 4, (5, 2)).astype(np.int32)
    representatives, records = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    levels = generator.integers(0, 3, 2)
    (plain, _), (fast, _) = both(
        evaluation._sum_gains, gains, quasi, levels, representatives, records
    )
    assert plain == fast
    assert plain == pytest.approx(
        sum(n * sum(gains[a, levels[a], quasi[r, a]] for a in range(2)) for r, n in pairs)
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 30), st.lists(st.one_of(st.just(0), st.integers(0, 2**64 - 1)), max_size=50))
def test_places_are_swapped_with_the_words_that_favour_none(n, drawn):
    words = np.array(drawn, dtype=np.uint64)
    items = np.arange(n, dtype=np.int64)
    (plain, one), (fast, other) = both(permutation._swap_down, items, n - 1, words)
    assert plain == fast
    order, position = list(range(n)), n - 1
    for word in drawn:
        if position <= 0:
            break
        if word >= 2**64 % (position + 1):
            there = word % (position + 1)
            order[position], order[there] = order[there], order[position]
            position -= 1
    assert one[0].tolist() == other[0].tolist() == order
    assert plain == position


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=9), min_size=1, max_size=9), st.data())
def test_lines_are_copied_in_order(lines, data):
    order = data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=30))
    starts = np.cumsum([0, *map(len, lines)]).astype(np.int64)
    joined = np.frombuffer(b"".join(lines), dtype=np.uint8)
    buffer = np.zeros(9 * len(order) + 1, dtype=np.uint8)
    for filled, args in both(rows._gather, np.array(order, dtype=np.int64), joined, starts, buffer):
        assert args[3][:filled].tobytes() == b"".join(lines[i] for i in order)


def test_a_process_rents_until_it_would_have_paid_the_price(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(compiler, "LIBRARY", None)
    account = WaitingAccount(price=1.0)
    assert [account.worth(0.4) for _ in range(4)] == [False, False, True, True]
    assert account.lost == 0.8
    assert account.worth(5.0)
    assert not account.worth(0.1)
    account.foresee(0.2)
    assert account.worth(0.0)
    monkeypatch.setitem(sys.modules, "numba", compiled)
    assert account.worth(0.0)


@pytest.mark.parametrize("promise", [sf.KAnonymity(4), sf.DistinctLDiversity(2, "diagnosis")])
def test_a_release_does_not_depend_on_the_form(promise, monkeypatch, tmp_path):
    made = sf.examples.patients(700, seed=5)
    people = sf.read(made.columns, schema=made.schema)
    written = []
    for pays in (False, True):
        monkeypatch.setattr(compiled, "free", lambda pays=pays: pays)
        monkeypatch.setattr(compiled.ACCOUNT, "worth", lambda _, pays=pays: pays)
        release = sf.anonymize(people, promise, suppression=0.05, seed=9)
        release.rows.write_csv(tmp_path / f"{pays}.csv")
        written.append(((tmp_path / f"{pays}.csv").read_bytes(), release.levels, release.loss))
    assert written[0] == written[1]


def test_a_small_file_needs_no_compiler(tmp_path):
    code = (
        "import sys; from sfumato.cli import run; "
        f"run(['example', {str(tmp_path / 'clinic')!r}, '-n', '500']); "
        f"run(['anonymize', {str(tmp_path / 'clinic' / 'patients.csv')!r}, '-s', "
        f"{str(tmp_path / 'clinic' / 'patients.yaml')!r}, '-k', '5', '-o', "
        f"{str(tmp_path / 'out')!r}, '-q']); "
        "print(sorted({'numba', 'scipy', 'llvmlite'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert (tmp_path / "out" / "report.html").exists()
