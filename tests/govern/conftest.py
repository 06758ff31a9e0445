"""Ledgers to test with: in a file, in Postgres, in memory."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import traceback

import pytest

from sfumato import PureDP
from sfumato.dp.accounting.costs import Cost
from sfumato.govern import Charge, Ledger, Limits, Registration


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Give the address of a ledger that several processes can use."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return request.getfixturevalue("fresh_postgres_url")


@pytest.fixture(params=["sqlite", "postgres", "memory"])
def ledger(request, tmp_path):
    """Give an empty ledger of each kind."""
    places = {"sqlite": str(tmp_path / "ledger.sqlite"), "memory": None}
    if request.param == "postgres":
        places["postgres"] = request.getfixturevalue("fresh_postgres_url")
    with Ledger(places[request.param]) as made:
        yield made


@pytest.fixture
def registration():
    return Registration(
        dataset="patients",
        unit="row",
        rules={"age": [0, 120]},
        purposes=("care", "research"),
        limits=Limits(
            dataset=PureDP(3),
            analyst=PureDP(1),
            analysts={"ann": PureDP(0.5)},
            purposes={"care": PureDP(2)},
        ),
    )


@pytest.fixture
def charge():
    """Make a charge; what is not said is that of ann's first question."""

    def make(**changes):
        usual = {
            "dataset": "patients",
            "analyst": "ann",
            "purpose": "care",
            "fingerprint": "f" * 64,
            "question": "SELECT COUNT(*)",
            "cost": Cost(0.1),
            "guarantee": "ε = 0.1",
        }
        return Charge(**{**usual, **changes})

    return make


@pytest.fixture
def in_child():
    """Run a function in a forked process; give how it ended: (signal, exit code)."""

    def run(function):
        child = os.fork()
        if child == 0:
            gc.freeze()  # what the parent holds is not for the child to finalise
            code = 0
            try:
                code = function() or 0
            except BaseException:  # noqa: BLE001 - whatever it was, the parent must learn
                traceback.print_exc()
                code = 99
            finally:
                sys.stderr.flush()
                os._exit(code)
        return child

    def wait(child):
        end, (found, status) = time.monotonic() + 120, os.waitpid(child, os.WNOHANG)
        while not found and time.monotonic() < end:
            time.sleep(0.005)
            found, status = os.waitpid(child, os.WNOHANG)
        if not found:  # a fork can inherit a lock that nobody will release
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("the child process did not end")
        ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        return ended, os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1

    run.wait = wait
    return run
