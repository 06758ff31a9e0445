"""Connections in five classes: read, encoded by declared ranges, judged by class."""

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import sfumato as sf
from sfumato.attack.models import (
    compare_privacy,
    draw_privacy,
    judge_detector,
    read_connections,
)
from sfumato.attack.models.intrusion import CLASSES
from sfumato.attack.models.privacy_table import choose_hidden
from sfumato.errors import DataError, ParameterError

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "intrusion"


def test_made_up_traffic_has_five_classes_in_declared_ranges():
    found = read_connections(sf.examples.traffic(600, seed=3))
    assert set(found.classes) == set(CLASSES)
    assert found.rows.min() >= 0
    assert found.rows.max() <= 1
    assert len(found.columns) == found.rows.shape[1] == len(found.dynamic)
    for group in found.one_hot:
        assert (found.rows[:, list(group)].sum(axis=1) == 1).all()
    again = read_connections(sf.examples.traffic(600, seed=3))
    assert (again.rows == found.rows).all()


def test_a_detector_is_judged_by_class():
    train, test = (read_connections(sf.examples.traffic(1_500, seed=s)) for s in (1, 2))
    model = LogisticRegression(max_iter=500, class_weight="balanced").fit(train.rows, train.classes)
    found = judge_detector(model, test, trained_on=train)
    said = model.predict(test.rows)
    assert found.accuracy == pytest.approx((said == test.classes).mean())
    dos = test.classes == "dos"
    assert found.recall["dos"] == pytest.approx((said[dos] == "dos").mean())
    assert 0.6 < found.macro_f1 < 1


@pytest.mark.scale
@pytest.mark.real_data
@pytest.mark.skipif(not DATA.is_dir(), reason="NSL-KDD is not at hand in ../shared/data")
def test_a_balanced_line_on_nsl_kdd():
    train = read_connections(DATA / "KDDTrain20.txt.gz")
    test = read_connections(DATA / "KDDTest.txt.gz")
    counts = {name: int((train.classes == name).sum()) for name in CLASSES}
    assert counts == {"benign": 13_449, "dos": 9_234, "probe": 2_289, "r2l": 209, "u2r": 11}
    model = LogisticRegression(class_weight="balanced", max_iter=200).fit(train.rows, train.classes)
    found = judge_detector(model, test, trained_on=train)
    assert found.macro_f1 > 0.645
    assert found.seen > 0.86


def test_what_privacy_changes_has_both_attackers():
    train, test = (read_connections(sf.examples.traffic(700, seed=s)) for s in (1, 2))
    sides = [(part.rows[:, part.dynamic], (part.classes != "benign").astype(int))
             for part in (train, test)]  # fmt: skip
    rows, labels = sides[1]
    found = compare_privacy(*sides[0], validation=(rows[:200], labels[:200]),
                            test=(rows[200:], labels[200:]), epsilons=[1])  # fmt: skip
    assert [row.model for row in found.rows][-1] == "private, ε = 1"
    plain = found.rows[0]
    assert plain.poisoned > plain.error
    assert "adapted poison" in str(found)
    assert found.rows[-1].bound is not None
    assert np.isfinite(found.rows[-1].margin)


def test_what_privacy_changes_has_attributes_of_members_and_of_others(tmp_path):
    """The column with fewest values is guessed, here one that is told by the label of anybody."""
    generator = np.random.default_rng(5)
    rows = generator.random((600, 3))
    labels = generator.integers(0, 2, 600)
    rows[:, 1] = np.where(generator.random(600) < 0.9, labels, 1 - labels)
    rows[:, 2] = rows[:, 2].round(1)
    pairs = [(rows[part], labels[part]) for part in (slice(300), slice(300, 400), slice(400, 600))]
    assert choose_hidden(rows) == 1
    assert choose_hidden(rows[:, :1]) is None
    found = compare_privacy(*pairs[0], validation=pairs[1], test=pairs[2], epsilons=[10])
    assert found.hidden == 1
    plain, private = found.rows[0].attribute, found.rows[-1].attribute
    assert plain.members > 0.8
    assert plain.outsiders > 0.8
    assert plain.bound is None
    assert private.bound >= private.outsiders
    assert f"{plain.members:.3f} / {plain.outsiders:.3f}" in str(found)
    drawn = ET.parse(draw_privacy(found, tmp_path / "drawn.svg")).getroot()
    assert "private, ε = 10" in drawn.attrib["aria-label"]
    assert len(drawn.findall("{*}circle")) == 3 + 3 * len(found.rows)
    with pytest.raises(ParameterError, match="different values"):
        compare_privacy(*pairs[0], validation=pairs[1], test=pairs[2], hidden=0)
    with pytest.raises(ParameterError, match="from 0 to 2"):
        compare_privacy(*pairs[0], validation=pairs[1], test=pairs[2], hidden=3)


@pytest.mark.parametrize("lines", [[], [[1, 2, 3]], [[0] * 41 + ["unheard of"]]], ids=str)
def test_bad_lines_are_refused(lines):
    with pytest.raises(DataError):
        read_connections(lines)


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_connections(tmp_path / "absent.txt")
    (tmp_path / "text.txt").write_text("a,b\n")
    with pytest.raises(DataError):
        read_connections(tmp_path / "text.txt")
