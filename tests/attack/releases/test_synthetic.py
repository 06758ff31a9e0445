"""Attacks on synthetic rows find a copy of the data, and nothing in a private synthesis."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError


def people(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 90, n)
    town = rng.integers(0, 60, n)
    job = rng.choice(["a", "b", "c"], n)
    ill = rng.integers(0, 40, n)
    return {"age": age, "town": town, "job": job, "ill": ill}


MEMBERS, OUTSIDERS = people(600, 1), people(600, 2)


@pytest.fixture(scope="module")
def private():
    known = {
        "age": sf.dp.Column(bounds=(0, 89)),
        "town": sf.dp.Column(bounds=(0, 59)),
        "job": sf.dp.Column(values=["a", "b", "c"]),
        "ill": sf.dp.Column(bounds=(0, 39)),
    }
    return sf.dp.synthesize(MEMBERS, columns=known, epsilon=1, delta=1e-6, size=600)


def attacks(rows):
    return [
        sf.attack.synthetic_membership(rows, MEMBERS, OUTSIDERS),
        sf.attack.synthetic_inference(rows, MEMBERS, OUTSIDERS, secret="ill"),
        sf.attack.synthetic_singling_out(rows, MEMBERS, OUTSIDERS),
    ]


def test_a_copy_that_is_the_data_leaks_in_every_way():
    for found in attacks(MEMBERS):
        assert found.succeeds, str(found)
        assert found.risk > 0.1
        assert "leaks" in str(found)


def test_a_private_synthesis_shows_no_leak(private):
    for found in attacks(private):
        assert not found.succeeds, str(found)
        assert "not to be published" in str(found)


def test_rows_of_other_people_show_no_leak():
    assert not any(found.succeeds for found in attacks(people(600, 3)))


def test_tables_that_cannot_be_compared_are_refused():
    with pytest.raises(ParameterError, match="columns in common"):
        sf.attack.synthetic_membership({"x": [1]}, {"y": [1]}, {"y": [1]})
    with pytest.raises(ParameterError, match="no column 'secret'"):
        sf.attack.synthetic_inference(MEMBERS, MEMBERS, OUTSIDERS, secret="secret")


def test_the_check_before_it_leaves_tries_all_of_them(private, tmp_path):
    found = sf.attack.precheck(private, original=MEMBERS, outsiders=OUTSIDERS, secret="ill")
    assert [tried.name for tried in found.tried] == [
        "membership by the nearest row", "singling out by 3 columns", "inference of ill",
    ]  # fmt: skip
    assert found.holds, str(found)
    folder = private.save(tmp_path / "out").parent
    again = sf.attack.precheck(folder, original=MEMBERS, outsiders=OUTSIDERS)
    assert len(again.tried) == 6  # membership, singling out, and every column
    alone = sf.attack.precheck(private)
    assert not alone.tried
    assert all("outsiders=" in why for _, why in alone.skipped)


def test_a_copy_that_is_the_data_is_stopped_before_it_leaves(private, tmp_path):
    import csv

    folder = private.save(tmp_path / "out").parent
    with (folder / "release.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(MEMBERS)
        writer.writerows(zip(*MEMBERS.values(), strict=True))
    found = sf.attack.precheck(folder, original=MEMBERS, outsiders=OUTSIDERS, secret="ill")
    assert len(found.succeeding) == 3
    assert "not to be published" in found.outcome("singling out by 3 columns").told()
