"""What was published is a release: saved, stored, given again, charged in a session."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.publish.publication_records import dump, load
from sfumato.errors import BudgetExceeded, ParameterError, SfumatoError

RNG = np.random.default_rng(8)


def made():
    rows = RNG.random((400, 2))
    return {
        "clusters": sf.dp.KMeans(3, epsilon=1, bounds={"x": (0, 1), "y": (0, 2)}).fit(
            {"x": rows[:, 0], "y": rows[:, 1]}
        ),
        "winners": sf.dp.top_k([["a", "b"]] * 90, 2, items=list("abc"), epsilon=1, counts=True),
        "sets": sf.dp.top_k([["a", "b"]] * 90, 2, items=list("abc"), epsilon=1, set_size=2),
        "ordered": sf.dp.ordered_histogram(rows[:, 0], bounds=(0, 1), cells=64, epsilon=1),
        "map": sf.dp.spatial_histogram(rows, bounds=(0, 1), side=16, epsilon=1),
        "union": sf.dp.set_union([["a"]] * 90, epsilon=1, delta=1e-6),
    }


@pytest.mark.parametrize("name", ["clusters", "winners", "sets", "ordered", "map", "union"])
def test_a_release_is_saved_with_its_promise_and_no_label(tmp_path, name):
    found = made()[name]
    release = found.release("shop")
    assert release.promise == found.guarantee
    path = release.save(tmp_path / "out", report=False)
    facts = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    assert facts["name"] == "shop"
    assert facts["promise"][0]["kind"] in {"PureDP", "ApproxDP"}
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(release.artefact) + 1
    assert "label" not in path.read_text(encoding="utf-8")


def test_a_report_shows_the_numbers(tmp_path):
    page = made()["winners"].release().report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "count ±" in page


@pytest.mark.parametrize("name", ["clusters", "winners", "sets", "ordered"])
def test_what_is_stored_comes_back_whole(name):
    found = made()[name]
    again = load(dump(found))
    assert dump(again) == dump(found)
    assert again.picture() == found.picture()
    assert again.guarantee == found.guarantee
    assert again.release().manifest()["columns"] == found.release().manifest()["columns"]


# -- sessions -------------------------------------------------------------------------------------


@pytest.fixture
def session():
    example = sf.examples.visits(1_500, seed=1)
    visits = sf.read(example.columns, schema=example.schema, name="visits")
    with sf.Session(
        visits,
        public_types=True,
        unit=sf.Unit("patient", groups=3, rows_per_group=2),
        budget=sf.PureDP(5),
    ) as opened:
        yield opened


def test_a_session_charges_and_gives_again_for_nothing(session):
    first = session.kmeans(["minutes", "cost"], 3, bounds={"cost": (0, 500)}, epsilon=1)
    assert first.promise == sf.PureDP(1.0, neighbours=sf.dp.Neighbours("unbounded", session.unit))
    assert session.spent.epsilon == 1.0
    again = session.kmeans(["minutes", "cost"], 3, bounds={"cost": (0, 500)}, epsilon=1)
    assert session.spent.epsilon == 1.0
    assert np.array_equal(first.data.cluster_centers_, again.data.cluster_centers_)
    assert first.data.cluster_centers_.shape == (3, 2)
    assert sum(entry.cost for entry in first.data.entries_) * 6 == 1  # six rows of a patient
    session.kmeans(["minutes", "cost"], 4, bounds={"cost": (0, 500)}, epsilon=1)
    assert session.spent.epsilon == 2.0


def test_winners_count_people_and_ranges_cost_once(session):
    won = session.top_k("department", 3, epsilon=1, counts=True)
    assert len(won.data.items) == 3
    assert won.data.counts.max() < 1_700  # patients, not visits
    spread = session.quantiles("minutes", epsilon=2)
    middle = spread.data.quantile([0.25, 0.5, 0.75])
    assert (np.diff(middle) >= 0).all()
    assert session.spent.epsilon == 3.0
    with pytest.raises(BudgetExceeded):
        session.quantiles("minutes", epsilon=4)


def test_what_is_refused_costs_nothing(session):
    for ask in (
        lambda: session.kmeans(["nothing"], 3, epsilon=1),
        lambda: session.kmeans(["minutes"], 0, epsilon=1),
        lambda: session.kmeans(["cost"], 2, epsilon=1),
        lambda: session.top_k("department", 1_000, epsilon=1),
        lambda: session.quantiles("cost", epsilon=1),
        lambda: session.top_k("latitude", 3, epsilon=1),
    ):
        with pytest.raises(SfumatoError) as caught:
            ask()
        assert isinstance(caught.value, ParameterError), caught.value
    assert session.spent.epsilon == 0


def test_a_person_keeps_at_most_her_rows():
    from sfumato.ask.session.publications import keep_some as _kept

    rows = [("a", i) for i in range(9)] + [("b", 1)]
    kept = _kept(rows, 2)
    assert sum(row[0] == "a" for row in kept) == 2
    assert ("b", 1) in kept
    seen = {row[1] for _ in range(60) for row in _kept(rows, 2) if row[0] == "a"}
    assert seen == set(range(9))


@pytest.mark.parametrize("name", ["clusters", "winners", "ordered", "map"])
def test_a_report_shows_the_picture_and_may_be_given_away(tmp_path, name):
    page = made()[name].release().report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "May be given away" in page
    assert page.count("<svg") >= 1
    assert "Loss: every measure" not in page


def test_maps_and_words_are_bought_in_a_session_and_predicted_before():
    example = sf.examples.visits(900, seed=2)
    visits = sf.read(example.columns, schema=example.schema, name="visits")
    with sf.Session(
        visits,
        public_types=True,
        unit=sf.Unit("patient", groups=3, rows_per_group=2),
        budget=sf.ApproxDP(9, 1e-4),
    ) as session:
        box = {"latitude": (46.2, 47.1), "longitude": (10.4, 12.5)}
        told = session.predict("spatial_histogram", "longitude", "latitude", bounds=box, rows=900, epsilon=2)  # fmt: skip  # noqa: E501
        assert told.errors
        first = session.spatial_histogram("longitude", "latitude", bounds=box, epsilon=2)
        again = session.spatial_histogram("longitude", "latitude", bounds=box, epsilon=2)
        assert np.array_equal(first.data.counts, again.data.counts)
        assert "rarely named" in str(
            session.predict("set_union", "department", rows=900, epsilon=2, delta=1e-6)
        )
        words = session.set_union("department", epsilon=2, delta=1e-6)
        assert set(words.data.items) <= set(example.columns["department"])
        assert words.promise.neighbours.unit == session.unit
        pairs = session.top_k("department", 3, set_size=2, epsilon=2, delta=1e-6)
        assert len(pairs.data.items) == 3
        assert session.spent.epsilon == 6
        with pytest.raises(ParameterError, match="no publication"):
            session.predict("kmedians", rows=10, epsilon=1)
        with pytest.raises(ParameterError, match="delta="):
            session.set_union("department", epsilon=2)
    with pytest.raises(ParameterError, match="closed"):
        session.kmeans(["minutes"], 2, epsilon=1)


def test_a_budget_in_rho_pays_for_what_is_published():
    rng = np.random.default_rng(0)
    with sf.Session(
        {"x": rng.random(4000)}, unit="row", budget=sf.ZCDP(1), bounds={"x": (0, 1)}, name="x"
    ) as session:
        found = session.quantiles("x", cells=256, rho="0.25")
        assert found.promise == sf.ZCDP(0.25)
        assert abs(found.data.quantile(0.5) - 0.5) < 0.1
        session.kmeans(["x"], 2, rho="0.25")
        assert session.remaining.rho == 0.5
        with pytest.raises(ParameterError, match="rho= alone"):
            session.kmeans(["x"], 2, rho="0.25", epsilon=1)
        with pytest.raises(BudgetExceeded):
            session.kmeans(["x"], 3, rho="0.75")
