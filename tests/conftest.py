"""How a run of the tests goes, and the databases that are started for it.

Every run has a random order (`--order-seed` repeats it) and the same draws (`--noise-seed` tries
others): `services/chance.py`. Which process does what is decided in `services/scheduling.py`.
"""

from __future__ import annotations

import gc
import hashlib
import os
import secrets
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "services"))

import chance
import golden
import kernel_types
import scheduling
import spark_session
import throwaway_postgres
from chromium import browser, chromium  # noqa: F401 - fixtures
from spark_session import spark  # noqa: F401 - a fixture

# Workers share the cores; threads of linear algebra that wait by spinning would take them away.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

# To read a thousand test modules takes most of the start, and is done once where it may be kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# How long an example takes says nothing about what is tested when other programs run beside it.
settings.register_profile("sfumato", deadline=None, derandomize=True, database=None)
settings.register_profile("soak", deadline=None)

EXAMPLES = 30
"""A test that asks Hypothesis for more examples gets fewer outside of a soak."""

LONG = 3.0
"""Seconds from which a test says by `@pytest.mark.slow("why")` what it needs them for."""

REASONS = {"slow", "soak", "scale", "browser"}

ROOT = Path(__file__).parents[1]

# Ledgers that no test names lie in the data directory of the user, whose own must stay as they are.
_DATA = tempfile.TemporaryDirectory(prefix="sfumato-tests-")
os.environ["XDG_DATA_HOME"] = _DATA.name


def pytest_addoption(parser):
    group = parser.getgroup("sfumato")
    group.addoption("--order-seed", type=int, help="the order of tests: the number a run has shown")
    group.addoption(
        "--shuffle-inside", action="store_true", help="tests of each file in random order, too"
    )
    group.addoption("--noise-seed", type=int, default=0, help="other draws: any number")
    group.addoption("--record-weights", action="store_true", help="keep how long files take")
    group.addoption(
        "--record-kernels", action="store_true", help="ship kernels for the types that are used"
    )
    group.addoption("--renew", action="store_true", help="write expected outputs anew")
    group.addoption("--soak", action="store_true", help="fresh draws; go on where a run has ended")


def pytest_configure(config):
    # Modules of Sfumato are compiled as they are: only tests need words for their assertions.
    getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", set()).discard("sfumato")
    golden.renewing = config.option.renew
    settings.load_profile("soak" if config.option.soak else "sfumato")
    if not hasattr(config, "workerinput"):  # the process that starts the workers, or the only one
        config.services = throwaway_postgres.prepare()
        if config.option.order_seed is None:
            config.option.order_seed = secrets.randbelow(10**6)
        if config.option.soak and not config.option.noise_seed:
            config.option.noise_seed = secrets.randbelow(10**9) + 1
        config.pluginmanager.register(Closing(config), "closing")
    else:
        config.option.order_seed, config.option.noise_seed = config.workerinput["seeds"]
    kernel_types.watch()
    chance.run_seed, chance.soaking = config.option.noise_seed, config.option.soak


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["seeds"] = node.config.option.order_seed, node.config.option.noise_seed


def pytest_report_header(config):
    seeds = f"--order-seed={config.option.order_seed} --noise-seed={config.option.noise_seed}"
    if config.option.shuffle_inside:
        seeds += " --shuffle-inside"
    return f"order and draws: {seeds}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Let tests that run for minutes do so, leave out what a soak has passed, shuffle the rest."""
    for item in items:
        _weigh_examples(item, soak=config.option.soak)
        if item.get_closest_marker("soak") or item.get_closest_marker("scale"):
            item.add_marker(pytest.mark.timeout(0))
    if config.option.soak:
        before = _passed(_soaked())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in before])
        items[:] = [item for item in items if item.nodeid not in before]
    scheduling.shuffle(items, config.option.order_seed, inside=config.option.shuffle_inside)


def _weigh_examples(item, *, soak):
    """Try a fifth of very many examples of Hypothesis, and all of them in a soak."""
    test = getattr(item, "obj", None)
    stated = getattr(test, "_hypothesis_internal_use_settings", None)
    if stated is None or stated.max_examples <= EXAMPLES:
        return
    if soak:
        item.add_marker(pytest.mark.soak)
    else:
        few = max(EXAMPLES, stated.max_examples // 5)
        test._hypothesis_internal_use_settings = settings(stated, max_examples=few)


def pytest_collection_finish(session):
    """Spare the collector of garbage the thousands of tests, which live until the end.

    And let it come more rarely: whatever grows, a tree of syntax for instance, is looked through
    again and again, which is a third of the time it takes to make.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    chance.begin(item.nodeid, fresh=item.get_closest_marker("fresh_noise") is not None)
    if getattr(item, "module", None) is not None:
        chance.rewind(item.module)


def pytest_runtest_teardown(item):
    """Leave the Spark session that tests share as it was, ANSI mode for instance."""
    if scheduling.unit(item.nodeid) == "spark":
        spark_session.restore()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """What several tests share is made of draws of its own, whichever of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with chance.shared(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call" and chance.stated():
        report.user_properties.append(("false alarm", chance.stated()))
    report.user_properties += [("kernel", line) for line in kernel_types.drain()]
    return report


def _soaked() -> Path:
    """Name the file of tests that passed a soak of the code as it is now."""
    told = [
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False).stdout
        for words in (["rev-parse", "HEAD"], ["diff", "HEAD"])
    ]
    return ROOT / ".soak" / hashlib.sha256(b"".join(told)).hexdigest()[:16]


def _passed(file: Path) -> set[str]:
    return set(file.read_text(encoding="utf-8").splitlines()) if file.exists() else set()


class Closing:
    """What the closing lines tell: long tests without a reason, false alarms, soaked tests."""

    def __init__(self, config):
        self.config = config
        self.seconds = defaultdict(float)
        self.reasons, self.failing = set(), set()
        self.alarms = {}
        self.kernels = set()
        self.soaked = _soaked() if config.option.soak else None
        self.before = len(_passed(self.soaked)) if self.soaked else 0

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration
        self.kernels |= {line for name, line in report.user_properties if name == "kernel"}
        # That a test starts a browser or asks a JVM is a reason that needs no words.
        if REASONS & set(report.keywords) or scheduling.unit(report.nodeid) == "spark":
            self.reasons.add(report.nodeid)
        if report.when != "call":
            return
        for name, probability in report.user_properties:
            if name == "false alarm":
                self.alarms[report.nodeid] = probability
        if self.soaked and report.passed:
            self.soaked.parent.mkdir(exist_ok=True)
            with self.soaked.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if self.config.option.record_weights:
            files = defaultdict(float)
            for nodeid, took in self.seconds.items():
                files[nodeid.partition("::")[0]] += took
            scheduling.record(files)
        if self.config.option.record_kernels:
            kernel_types.record(self.kernels)
        elif self.kernels:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if sum(self.alarms.values()) > chance.MOST and not self.soaked:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        tell = terminalreporter.write_line
        long = {n: took for n, took in self.seconds.items() if took > LONG}
        unsaid = sorted(set(long) - self.reasons, key=long.get, reverse=True)
        if unsaid and not self.soaked:
            terminalreporter.section(f"more than {LONG:g} s, and no @pytest.mark.slow says why")
            for nodeid in unsaid:
                tell(f"{long[nodeid]:6.1f} s  {nodeid}")
        if self.kernels:
            terminalreporter.section("kernels called with types that are not shipped")
            tell("--record-kernels adds them to native/signatures.txt; better, do not use them.")
            for line in sorted(self.kernels):
                tell(line)
        sum_ = sum(self.alarms.values())
        tell(
            f"false alarms: {len(self.alarms)} tests draw what no seed reaches; one of them fails "
            f"by chance with probability {sum_:.1g} (at most {chance.MOST:g})"
            + ("" if sum_ <= chance.MOST or self.soaked else ": THAT IS TOO MUCH")
        )
        if self.soaked:
            now = len(_passed(self.soaked))
            tell(f"soak: {now} tests passed on this code, {self.before} of them in runs before")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a file of tests to one process, the heaviest first (`services/scheduling.py`)."""
    return scheduling.ByWeight(config, log)


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
