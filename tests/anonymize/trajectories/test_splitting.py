"""k^m of traces that are cut: cuts that pay, pieces that hold, and who could put them together."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain, combinations, pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.trajectories.splitting import (
    Cells,
    best_windows,
    going_on,
    moments_of,
    show_window,
)

BOUNDS = (0, 1600, 0, 1600)
HOUR = 3600.0


def commuters(n=14, hours=5, seed=3):
    """People who are in few cells every hour, so that whole days are rare and hours are not."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"p{i}", *(rng.integers(0, 4, 2) * 400 + 200).tolist(), int(hour * HOUR) + 10)
        for i in range(n)
        for hour in range(hours)
        if rng.random() < 0.9
    ]
    columns = dict(
        zip(("person", "x", "y", "time"), map(list, zip(*rows, strict=True)), strict=True)
    )
    return sf.read(columns, shape="trajectories", bounds=BOUNDS, unit="person")


@pytest.fixture(scope="module")
def people():
    return commuters()


def released_pieces(release):
    """Return (group, person, set of boxes) of every piece, from the columns that are given away."""
    columns = release.data
    shown = [name for name in columns if name not in {"trace", "person", "group"}]
    found = defaultdict(set)
    for row in zip(
        *(columns[c].tolist() for c in ("group", "trace", "person", *shown)), strict=True
    ):
        found[row[:3]].add(row[3:])
    return found


@pytest.mark.parametrize(("k", "m"), [(2, 2), (3, 1), (3, 2)])
def test_m_observations_of_a_piece_are_those_of_k_people(people, k, m):
    release = sf.anonymize(
        people, sf.KmAnonymity(k, m=m), algorithm="split", levels=2, time_bin=HOUR, price=0.1
    )
    assert release.verify().holds
    people_by_itemset = defaultdict(set)
    pieces = released_pieces(release)
    for (group, _, person), boxes in pieces.items():
        for size in range(1, m + 1):
            for itemset in combinations(sorted(boxes, key=str), size):
                people_by_itemset[itemset].add((group, person))
    assert min(map(len, people_by_itemset.values())) >= k
    # a person has one piece in a window
    assert max(Counter((group, person) for group, _, person in pieces).values()) == 1


def test_cuts_are_the_best_of_all(people):
    cells = Cells(3, 2, 2, HOUR)
    edges = moments_of(people, HOUR)
    assert len(edges) == 6
    inner = range(1, len(edges) - 1)
    tried = {}
    for chosen in chain.from_iterable(combinations(inner, size) for size in range(len(inner) + 1)):
        ends = [0, *chosen, len(edges) - 1]
        windows = [
            show_window(people, cells, float(edges[a]), float(edges[b])) for a, b in pairwise(ends)
        ]
        tried[chosen] = (
            sum(w.cost for w in windows),
            sum(going_on(people, edges[i]) for i in chosen),
        )
    assert len(tried) == 16
    used = set()
    for price in (0.0, 0.2, 0.5, 1.0, 50.0):
        for most in (0, 1, 2, 9):
            cuts, windows = best_windows(people, cells, edges, price, most)
            cost = sum(w.cost for w in windows) + price * sum(going_on(people, c) for c in cuts)
            best = min(c + price * p for chosen, (c, p) in tried.items() if len(chosen) <= most)
            assert cost == pytest.approx(best)
            assert len(windows) == len(cuts) + 1
            used.add(len(cuts))
    assert len(used) > 2  # the prices made a difference


def test_cutting_shows_more_and_none_is_the_plain_search(people):
    promise = sf.KmAnonymity(3, m=2)
    options = {"levels": 2, "time_bin": HOUR}
    whole = sf.anonymize(people, promise, algorithm="generalize", **options)
    uncut = sf.anonymize(people, promise, algorithm="split", cuts=0, **options)
    free = sf.anonymize(people, promise, algorithm="split", price=0, **options)
    left = "observations left out"
    facts = [r.provenance.record.facts for r in (whole, uncut, free)]
    assert facts[0][left] == facts[1][left]
    assert facts[1]["cuts common to all traces"] == 0
    assert facts[2]["cuts common to all traces"] >= 1
    assert free.loss["boxes"] < whole.loss["boxes"] or facts[2][left] < facts[0][left]
    assert free.loss["cuts"] > 0
    assert uncut.loss["cuts"] == 0


def test_a_release_says_that_pieces_are_protected(people, tmp_path):
    promise = sf.KmAnonymity(3, m=2)
    release = sf.anonymize(people, promise, algorithm="split", levels=2, time_bin=HOUR, price=0.1)
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds
    assert '"protected_unit": "piece"' in (tmp_path / "out/release.json").read_text()
    page = (tmp_path / "out/report.html").read_text()
    assert "puts pieces together" in page
    assert "All traces are cut at" in page


@pytest.mark.parametrize("change", ["a piece in two windows", "two pieces of a person"])
def test_verification_sees_windows_that_are_none(people, change):
    release = sf.anonymize(
        people, sf.KmAnonymity(3, m=2), algorithm="split", levels=2, time_bin=HOUR, price=0
    )
    view = {name: np.array(column) for name, column in release.data.items()}
    group = view["group"]
    if change == "a piece in two windows":
        assert len(np.unique(group)) > 1
        view["group"] = 1 + (view["trace"] % 2)  # windows that have nothing to do with time
        view["person"] = view["trace"]
    else:
        view["person"] = np.ones_like(view["person"])
    found = sf.verify(view, shape="trajectories", definition=sf.KmAnonymity(1, m=1))
    assert not found.holds
    assert any(finding.serious for finding in found.findings)


def test_pieces_are_put_together_where_people_stay_and_not_where_they_mix():
    """Nothing is promised against whoever looks where pieces end and begin: people who stay
    where they are and alone there are found again, others hardly."""
    promise, options = sf.KmAnonymity(2, m=2), {"levels": 2, "time_bin": HOUR, "price": 0}
    moving = commuters(n=40, hours=4, seed=9)
    mixing = sf.attack.rejoin_pieces(sf.anonymize(moving, promise, algorithm="split", **options))
    assert mixing.people >= 30
    assert mixing.success < 0.25
    rows = np.arange(20)  # ten people who stay where they are, before and behind one cut
    corner = (rows % 10 * 400.0)[:, None] + np.array([0.0, 100.0, 0.0, 100.0])
    plan = SimpleNamespace(
        starts=np.arange(21), boxes=corner, group=rows // 10, whole=rows % 10
    )  # fmt: skip
    release = SimpleNamespace(decision=SimpleNamespace(content=plan))
    assert sf.attack.rejoin_pieces(release).success == 1.0
    with pytest.raises(sf.errors.ParameterError, match="split"):
        sf.attack.rejoin_pieces(sf.anonymize(moving, sf.KAnonymity(3), time_bin=HOUR))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"price": -1}, "price"),
        ({"cuts": -1}, "cuts"),
        ({"time_bin": 0}, "time_bin"),
        ({"levels": 99}, "levels"),
    ],
)
def test_options_that_make_no_sense_are_refused(people, options, words):
    with pytest.raises(sf.errors.ParameterError, match=words):
        sf.anonymize(people, sf.KmAnonymity(2, m=1), algorithm="split", **options)
    with pytest.raises(sf.errors.ParameterError, match="whole traces alike"):
        sf.anonymize(people, sf.KAnonymity(2), algorithm="split")
