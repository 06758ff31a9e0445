"""A comparison says what releases with the same settings would lose."""

from itertools import product

import pytest

import sfumato as sf
from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluator
from sfumato.anonymize.tables.algorithms.full_domain.lattice import Lattice, search
from sfumato.anonymize.tables.apply.rows import RowSettings
from sfumato.anonymize.tables.release import prepare
from sfumato.errors import ParameterError, Unsatisfiable


@pytest.fixture(scope="module")
def people():
    example = sf.examples.patients(300, seed=2)
    return sf.read(example.columns, schema=example.schema)


def test_every_line_is_the_loss_of_the_release_with_these_settings(people):
    found = sf.compare(
        people, sf.KAnonymity(2), k=[3, 6], algorithm=["optimal", "mondrian"], suppression=[0, 0.05]
    )
    assert [(line.k) for line in found.lines] == [3] * 4 + [6] * 4
    for line in found.lines:
        release = sf.anonymize(
            people, sf.KAnonymity(line.k), algorithm=line.algorithm, suppression=line.suppression
        )
        assert release.loss["LM"] == pytest.approx(line.loss)
        assert release.suppressed == line.suppressed
    assert found.best(3).loss == min(line.loss for line in found.lines if line.k == 3)


def test_what_no_release_can_keep_has_no_loss_and_is_drawn_as_such(people):
    found = sf.compare(people, sf.KAnonymity(2), k=[2, 301], algorithm=["optimal"])
    assert found.lines[-1].loss is None
    assert found.best(301) is None
    assert "not possible" in found.picture
    assert "not possible" in str(found)


@pytest.mark.parametrize(
    "wrong", [{"algorithm": ["optimum"]}, {"suppression": [2]}, {"k": []}, {"algorithm": []}]
)
def test_settings_that_cannot_be_tried_are_refused_before_the_search(people, wrong):
    with pytest.raises(ParameterError):
        sf.compare(people, sf.KAnonymity(2), **wrong)


@pytest.mark.parametrize(
    "levels", [{"age": (2, 2)}, {"age": (1, 3), "zip": (0, 3)}, {"job": (0, 0)}]
)
def test_the_best_node_within_the_levels_is_found_as_by_trying_all(people, levels):
    problem = prepare(people, sf.KAnonymity(3), RowSettings(), None, "LM", 0.1).problem
    names = problem.table.quasi_names
    allowed = [
        range(levels.get(n, (0, h - 1))[0], levels.get(n, (0, h - 1))[1] + 1)
        for n, h in zip(names, problem.heights.tolist(), strict=True)
    ]
    whole, evaluator = Lattice(problem), Evaluator(problem)
    tried = [evaluator.evaluate(node) for node in product(*allowed)]
    losses = [whole.loss(e) for e in tried if whole._holds(e)]
    if not losses:
        with pytest.raises(Unsatisfiable, match="levels"):
            search(problem, levels=levels)
        return
    found = search(problem, levels=levels)
    assert found.record.facts["loss"] == pytest.approx(min(losses))
    for name, level in zip(names, found.levels, strict=True):
        low, high = levels.get(name, (0, 99))
        assert low <= level <= high


def test_levels_that_do_not_exist_are_refused(people):
    for wrong in ({"ages": (0, 1)}, {"age": (3, 1)}, {"age": (0, 99)}):
        with pytest.raises(ParameterError):
            sf.anonymize(people, sf.KAnonymity(3), levels=wrong)
