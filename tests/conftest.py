"""Fixtures that several folders of tests share: databases that are started for the run."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "services"))

import throwaway_postgres
from spark_session import spark  # noqa: F401 - a fixture

# How long an example takes says nothing about what is tested when other programs run beside it.
settings.register_profile("sfumato", deadline=None)
settings.load_profile("sfumato")

# Ledgers that no test names lie in the data directory of the user, whose own must stay as they are.
_DATA = tempfile.TemporaryDirectory(prefix="sfumato-tests-")
os.environ["XDG_DATA_HOME"] = _DATA.name


def pytest_collection_finish(session):
    """Spare the collector of garbage the thousands of tests, which live until the end."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Let tests that run for minutes do so."""
    for item in items:
        if item.get_closest_marker("soak") is not None:
            item.add_marker(pytest.mark.timeout(0))


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # the process that starts the workers, or the only one
        config.services = throwaway_postgres.prepare()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a file of tests to one worker, and all that ask Spark to one, so that one JVM serves.

    Tests of a file share what is dear to make: fixtures, tables, compiled kernels; two workers that
    began it together would make all of it twice. Only files of few and long tests are shared out.
    (The mark ``xdist_group`` would say it, but not every version of pytest lets xdist read it.)
    """
    from xdist.scheduler import LoadScopeScheduling

    shared_out = (
        "docs/test_examples.py", "release/test_every_algorithm.py",
        "claims/test_no_false_alarms.py", "claims/test_weaknesses.py",
    )  # fmt: skip

    class OneJvm(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            if "/test_spark" in file or ("/engines/" in file and "spark" in nodeid):
                return "spark"
            return nodeid if file.endswith(shared_out) else file

        def remove_node(self, node):
            """Take back the work of a process that died, except for the test it died of.

            That is told as failed. Handed to the next process, and to the one after, a test that
            hangs would be ended by its timeout again and again.
            """
            work = self.assigned_work.pop(node)
            left = [(unit, name) for unit in work.values() for name in unit if not unit[name]]
            if not left:
                return None
            unit, died_of = left[0]
            unit[died_of] = True
            self.workqueue.update({
                scope: unit for scope, unit in work.items() if not all(unit.values())
            })  # fmt: skip
            for other in self.assigned_work:
                self._reschedule(other)
            return died_of

    return OneJvm(config, log)


def pytest_unconfigure(config):
    if hasattr(config, "services"):
        throwaway_postgres.stop(config.services)


def pytest_terminal_summary(terminalreporter, config):
    reason = throwaway_postgres.missing(config.services)
    if reason:
        terminalreporter.section("POSTGRES WAS NOT TESTED", sep="!", red=True)
        terminalreporter.write_line(reason)
    missing = [str(report.longrepr) for report in terminalreporter.getreports("skipped")]
    without_spark = [reason for reason in missing if "SPARK NOT TESTED" in reason]
    if without_spark:
        terminalreporter.section("SPARK WAS NOT TESTED", sep="!", red=True)
        terminalreporter.write_line(without_spark[0])


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """Give the address of a running server, without a database; skip where there is none."""
    try:
        return throwaway_postgres.url(Path(os.environ[throwaway_postgres.HOME]))
    except throwaway_postgres.Unavailable as error:
        pytest.skip(f"POSTGRES NOT TESTED: {error}")


@pytest.fixture(scope="session")
def postgres_url(postgres_server):
    """Give the address of a database of this worker's own, as postgresql://…, for the whole run."""
    name = f"shared_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    with throwaway_postgres.database(postgres_server, name) as address:
        yield address


@pytest.fixture(scope="session")
def emptied_postgres_url(postgres_server):
    name = f"emptied_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    with throwaway_postgres.database(postgres_server, name) as address:
        yield address


@pytest.fixture
def fresh_postgres_url(emptied_postgres_url):
    """Give the address of an empty database.

    It is emptied after the test, which takes milliseconds; to make another takes a third of a
    second.
    """
    yield emptied_postgres_url
    throwaway_postgres.empty(emptied_postgres_url)
