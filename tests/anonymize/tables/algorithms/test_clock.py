"""Algorithms that run out of time: what they return keeps the promise, and they return soon."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from hangs import usually

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.diversity import RecursiveLDiversity
from sfumato.anonymize.loss.measures import separable
from sfumato.anonymize.tables.algorithms.bottom_up.clustering import cluster
from sfumato.anonymize.tables.algorithms.cell_suppression import suppress_cells
from sfumato.anonymize.tables.algorithms.clock import Clock, running
from sfumato.anonymize.tables.algorithms.full_domain.lattice import search
from sfumato.anonymize.tables.algorithms.local import local
from sfumato.anonymize.tables.algorithms.top_down.mondrian import partition
from sfumato.anonymize.tables.algorithms.top_down.specialization import specialize
from sfumato.anonymize.tables.apply.recheck import recheck
from sfumato.anonymize.tables.problem import Problem
from sfumato.anonymize.tables.recoding import Local
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable

TREE = Hierarchy.from_rows([(str(i), str(i // 2), str(i // 4), "*") for i in range(16)])
LOCAL = {
    "local": local.recode,
    "cluster": cluster,
    "mondrian": partition,
    "topdown": specialize,
    "cells": suppress_cells,
}
ALGORITHMS = {
    **LOCAL,
    "optimal": search,
    "levels": lambda problem, **options: specialize(problem, scope="full-domain", **options),
}


def random_problem(rows, attributes, definition, *, share=0.0, limit=0):
    """Return records spread evenly, with a sensitive value that `share` of them have."""
    generator = np.random.default_rng(7)
    quasi = generator.integers(0, 16, (rows, attributes))
    names = definition.sensitive
    rare = (generator.random((rows, len(names))) < share).astype(np.int64)
    lines, counts = np.unique(np.hstack([quasi, rare]), axis=0, return_counts=True)
    table = FrequencyTable(
        tuple(f"q{a}" for a in range(attributes)),
        names,
        np.ascontiguousarray(lines[:, :attributes], np.int32),
        np.ascontiguousarray(lines[:, attributes:], np.int32),
        counts.astype(np.int64),
        (("no", "yes"),) * len(names),
    )
    trees = (TREE,) * attributes
    costs, suppressed = separable("LM", trees, table)
    return Problem(table, trees, definition, costs, suppressed, suppression_limit=limit)


def class_sizes(recoding):
    kept = recoding.class_ >= 0
    return np.bincount(recoding.class_[kept], weights=recoding.count[kept])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_time_at_all_still_gives_a_release_that_holds(name):
    problem = random_problem(400, 5, KAnonymity(4))
    found = ALGORITHMS[name](problem, time_limit=1e-9)
    recheck(problem, found)
    if isinstance(found, Local):
        assert class_sizes(found).min() >= 4
        assert class_sizes(found).sum() == 400


@pytest.mark.parametrize("name", LOCAL)
def test_more_time_is_not_worse(name):
    problem = random_problem(200, 3, KAnonymity(4))
    hurried = LOCAL[name](problem, time_limit=1e-9).record.facts["loss"]
    assert LOCAL[name](problem, time_limit=1e9).record.facts["loss"] <= hurried


def test_ctrl_c_ends_local_recoding_with_what_it_has():
    local.recode(random_problem(60, 3, KAnonymity(3)))  # compiled before the clock starts
    problem = random_problem(3_000, 24, KAnonymity(3))
    pressed = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    handler = signal.getsignal(signal.SIGINT)
    with usually(0.6):
        pressed.start()
        found = local.recode(problem)
        assert "stopped early" in found.record.label
    assert class_sizes(found).min() >= 3
    assert signal.getsignal(signal.SIGINT) is handler


def test_the_second_ctrl_c_ends_at_once():
    with running(None) as clock:
        assert not clock.late
        signal.raise_signal(signal.SIGINT)
        assert clock.late
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_elsewhere_than_in_the_main_thread_the_clock_only_measures():
    found = []

    def run():
        with running(1e-9) as clock:
            time.sleep(0.01)
            found.append(clock.late)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [True]


def test_pieces_cover_everything_once_and_end_with_the_time():
    clock = Clock()
    covered = [i for piece in clock.pieces(1_000, 3) for i in range(piece.start, piece.stop)]
    assert covered == list(range(1_000))
    first = next(pieces := clock.pieces(1_000, 3))
    clock.interrupt()
    assert (first, list(pieces)) == (slice(0, 3), [])


@pytest.mark.parametrize("name", LOCAL)
def test_suppression_is_traded_against_loss_where_the_whole_table_breaks_the_promise(name):
    """72 % of one value do not fit recursive (2, 2)-diversity; half may be suppressed."""
    problem = random_problem(600, 3, RecursiveLDiversity(2, 2, "illness"), share=0.28, limit=300)
    found = LOCAL[name](problem)
    recheck(problem, found)
    assert found.count[found.class_ < 0].sum() <= 300
    assert found.record.facts["loss"] < (0.7 if name == "local" else 0.85)  # one class of * loses 1


def test_large_tables_lose_no_more_than_their_relaxed_partition(monkeypatch):
    monkeypatch.setattr(local, "LARGE", 0)
    problem = random_problem(800, 4, KAnonymity(2))
    cut = partition(problem, strict=False).record.facts["loss"]
    assert local.recode(problem).record.facts["loss"] <= cut + 1e-9
