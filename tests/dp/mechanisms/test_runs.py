"""A run of above-threshold says yes as often as was paid for, whoever asks and however."""

import copy
import dataclasses
import gc
import os
import pickle
import sys
import threading

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import BudgetExceeded

SURE = sf.dp.AboveThreshold(threshold=0, sensitivity=1, epsilon=1, positives=1)


@pytest.fixture
def eager_switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_switching")
@pytest.mark.parametrize("positives", [1, 3])
def test_threads_that_share_a_run_get_no_more_positives_than_allowed(positives):
    mechanism = dataclasses.replace(SURE, positives=positives)
    for _ in range(60):
        run, said, start = mechanism.start(), [], threading.Barrier(8)

        def ask(run=run, said=said, start=start):
            start.wait()
            try:
                said.extend(run.ask(10**6) for _ in range(positives))
            except BudgetExceeded:
                said.append(False)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert run.found == positives
        assert sum(said) <= positives


def test_a_run_cannot_be_copied_pickled_or_reset():
    run = SURE.start()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            attempt(run)
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        copy.deepcopy({"run": run})
    with pytest.raises(TypeError):
        dataclasses.replace(run)
    with pytest.raises(TypeError):
        type(run)(SURE, found=-9)
    with pytest.raises(AttributeError):
        run.found = -9
    assert run.ask(10**6)
    assert (run.found, run.finished) == (1, True)
    with pytest.raises(BudgetExceeded):
        run.ask(10**6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_cannot_go_on_with_a_run():
    run = SURE.start()
    child = os.fork()
    if not child:
        gc.freeze()  # what the parent holds is not for the child to finalise
        try:
            run.ask(10**6)
        except BudgetExceeded:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert run.ask(10**6)


def test_a_refused_question_leaves_the_run_usable():
    run = SURE.start()
    with pytest.raises(sf.errors.DataError):
        run.ask([1, 2])
    with pytest.raises(sf.errors.DataError):
        run.ask(float("nan"))
    assert run.found == 0
    assert run.ask(10**6)


def test_codes_have_one_type_for_every_threshold_and_answer():
    for threshold in (0, 2**100, -(2**100), 2**62):
        mechanism = dataclasses.replace(SURE, threshold=threshold)
        codes = mechanism.simulate([threshold, 10**40, -(10**40)], 200)
        assert codes.dtype == np.int64
        assert set(codes.tolist()) <= {0b11, 0b101}
        assert len(set(codes.tolist())) == 2
