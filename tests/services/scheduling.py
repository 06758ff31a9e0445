"""The order of tests: the longest files first, all else by lot; and files that one process keeps.

Tests of a file share what is dear to make (fixtures, tables, compiled kernels), so that a file goes
to one process, and everything with Spark to one, so that one JVM serves. Files of few and long
tests are handed out test by test. How long a file takes is read from ``weights.json``, which
``pytest --record-weights`` writes.

The order of files is another one each run; ``--order-seed`` repeats one, and ``--shuffle-inside``
draws one for the tests of each file, too. A file whose tests build on one another says so,
``ordered = "why"``, and runs as it is written.
"""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

WEIGHTS = Path(__file__).parent / "weights.json"
ROOT = Path(__file__).resolve().parents[2]
SHARED_OUT = (
    "tests/docs/test_examples.py",
    "tests/anonymize/test_every_algorithm.py",
    "tests/audit/claims/test_no_false_alarms.py",
    "tests/audit/claims/test_weaknesses.py",
    "tests/dp/test_neighbours.py",
)
CORE = (
    "tests/test_layers.py",
    "tests/test_public_surface.py",
    "tests/anonymize/test_every_algorithm.py",
    "tests/ask/session/test_ten_questions.py",
    "tests/ask/sql/test_golden.py",
    "tests/audit/verification/test_verify.py",
    "tests/dp/mechanisms/test_statements.py",
    "tests/govern/test_spending.py",
    "tests/release/test_round_trips.py",
)
"""Tested by `make quick` whatever changed."""

QUICK = 40.0
"""Seconds of tests, shared by two processes, that `make quick` runs."""

HEAVY = 3.0
"""Seconds from which a file is started by its weight and not by lot."""


def weights() -> dict[str, float]:
    """Give seconds per file, as recorded."""
    return json.loads(WEIGHTS.read_text(encoding="utf-8")) if WEIGHTS.exists() else {}


def record(seconds: dict[str, float]) -> None:
    """Keep the seconds per file that matter."""
    kept = {file: round(took, 1) for file, took in sorted(seconds.items()) if took >= 0.5}
    WEIGHTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def shuffle(items: list, seed: int, *, inside: bool = False) -> None:
    """Put files in random order; `inside`, the tests of each, unless it says why they are not."""
    lot = random.Random(seed)
    files: dict[str, list] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    names = sorted(files)
    lot.shuffle(names)
    for name in names:
        if inside and not hasattr(getattr(files[name][0], "module", None), "ordered"):
            lot.shuffle(files[name])
    items[:] = [item for name in names for item in files[name]]


def unit(nodeid: str) -> str:
    """Name the unit that one process does as a whole."""
    file = nodeid.partition("::")[0]
    if "/test_spark" in file or ("/engines/" in file and "spark" in nodeid):
        return "spark"
    return nodeid if file in SHARED_OUT else file


def by_weight(work: dict[str, dict[str, bool]]) -> list[str]:
    """Order units: Spark first, whose JVM starts slowly, then the heavy ones, the rest as it came.

    A file that is handed out test by test weighs as a whole: its tests come early, side by side.
    """
    known = weights()

    def rank(scope: str) -> float:
        took = known.get(scope.partition("::")[0], 0.0)
        return float("-inf") if scope == "spark" else -took if took >= HEAVY else 0.0

    return sorted(work, key=rank)


class ByWeight(LoadScopeScheduling):
    """Hands out units of work, the heaviest first."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def schedule(self) -> None:
        """Order the units once all processes have told which tests there are."""
        if self.collection is None and self._check_nodes_have_same_collection():
            work: dict[str, dict[str, bool]] = {}
            first = next(iter(self.registered_collections.values()))
            for nodeid in first:
                work.setdefault(unit(nodeid), {})[nodeid] = False
            self.ordered = by_weight(work)
            self._number = {nodeid: number for number, nodeid in enumerate(first)}
        super().schedule()

    def _assign_work_unit(self, node) -> None:
        """Give the next unit, and forget what is done: the books are read after every test."""
        held = self.assigned_work.setdefault(node, {})
        for scope in [scope for scope, tests in held.items() if all(tests.values())]:
            del held[scope]
        scope = next(scope for scope in self.ordered if scope in self.workqueue)
        self.ordered = self.ordered[self.ordered.index(scope) :]
        work = held[scope] = self.workqueue.pop(scope)
        node.send_runtest_some([self._number[test] for test, done in work.items() if not done])

    def remove_node(self, node):
        """Take back the work of a process that died, except for the test it died of.

        That is told as failed. Handed to the next process, and to the one after, a test that
        hangs would be ended by its timeout again and again.
        """
        work = self.assigned_work.pop(node)
        left = [(unit, name) for unit in work.values() for name in unit if not unit[name]]
        if not left:
            return None
        unit_, died_of = left[0]
        unit_[died_of] = True
        back = {scope: tests for scope, tests in work.items() if not all(tests.values())}
        self.workqueue.update(back)
        self.ordered = [*back, *(scope for scope in self.ordered if scope not in back)]
        for other in self.assigned_work:
            self._reschedule(other)
        return died_of


def files_of_changes() -> list[str]:
    """Name the files of tests that a change concerns, with the core, for half a minute at most.

    Changed is what differs from the last commit; where nothing does, what that commit changed. A
    module is tested by the file of its name and by those of the folder that its own has in tests.
    """
    changed = _git("diff", "--name-only", "HEAD") + _git("ls-files", "-o", "--exclude-standard")
    near: list[Path] = []
    for path in map(Path, changed or _git("diff", "--name-only", "HEAD~1", "HEAD")):
        if path.parts[:2] == ("src", "sfumato"):
            folder = Path("tests", *path.parts[2:-1])
            near += [folder / f"test_{path.name}", *sorted((ROOT / folder).glob("test_*.py"))]
        elif path.parts[0] == "tests" and path.name.startswith("test_"):
            near.append(path)
    known, left, kept = weights(), QUICK, []
    named = [(ROOT / path).relative_to(ROOT).as_posix() for path in near]
    for file in dict.fromkeys([*named, *CORE]):
        takes = known.get(file, 0.5)
        if (ROOT / file).exists() and takes <= left and "spark" not in file:
            left -= takes
            kept.append(file)
    return kept


def _git(*words: str) -> list[str]:
    told = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.split()


if __name__ == "__main__":
    print(*files_of_changes())
