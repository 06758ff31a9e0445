"""The size and the form of `src/`, beside the limits they must keep: `make measure`.

    python tools/measure.py [SRC] [--check] [--no-journeys]

Code lines are lines with a token of code on them, docstrings and comments left out; comments are
lines of their own. An import line is a line of an import statement. `folders`, `depth` and
`modules` count packages, the topmost too. A module has a single importer if one other module, which
is no `__init__`, imports it anywhere, for types too. A circle is a set of modules that reach each
other by imports at the top of modules and inside functions, those for types left out. How modules
on a journey are counted says `tools/journeys.py`.

With `--check` the exit code is 1 where a limit is missed.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "sfumato"

LIMITS = {
    "code lines": 86_000,
    "modules": 460,
    "folders": 45,
    "depth": 2,
    "import lines, % of code": 7,
    "comments per 100 code lines, algorithms": 4,
    "noqa": 250,
    "modules with a single importer, %": 13,
    "circles of imports": 0,
    "modules of the most frequent name": 3,
    "code lines of the longest module": 700,
    "journey: anonymize": 60,
    "journey: question": 45,
    "journey: http": 60,
    "journey: synthesis": 25,
    "journey: checker": 12,
}
"""What a figure may be at most; only comments are at least."""

AT_LEAST = {"comments per 100 code lines, algorithms"}

ALGORITHMS = ("anonymize", "attack", "audit", "definitions", "dp", "local", "verify")
"""The packages with algorithms, where comments are counted; those that are not there are not."""

BUDGETS = {
    "workbench": (4_500, ("workbench",)),
}
"""Code lines that a capability may have at most, and the modules or packages that hold it."""

SILENT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
"""Tokens that make no line a line of code."""

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """One name that a module imports: what is written, and whether only type checkers read it."""

    module: str
    name: str
    for_types: bool


class Module:
    """One file: its place among the others, its lines, and what it imports."""

    def __init__(self, root: Path, file: Path) -> None:
        self.text = file.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.file = file.relative_to(root)
        self.is_package = file.name == "__init__.py"
        parts = self.file.with_suffix("").parts
        self.name = ".".join((PACKAGE, *(parts[:-1] if self.is_package else parts)))
        self.code, self.comments = self._lines()

    def _lines(self) -> tuple[int, int]:
        """Count lines of code and of comments."""
        code: set[int] = set()
        comments = 0
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT:
                comments += token.line.strip().startswith("#")
            elif token.type not in SILENT:
                code.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(self.tree):
            if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
                code.difference_update(_span(node.body[0]))
        return len(code), comments

    @cached_property
    def import_lines(self) -> int:
        """Count the lines of import statements."""
        statements = ast.Import | ast.ImportFrom
        return sum(len(_span(n)) for n in ast.walk(self.tree) if isinstance(n, statements))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """All that is imported, wherever that is written."""
        types = {
            inner
            for node in ast.walk(self.tree)
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
            for statement in node.body
            for inner in ast.walk(statement)
        }
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found += [Import(alias.name, "", node in types) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = self._base(node)
                found += [Import(base, alias.name, node in types) for alias in node.names]
        return tuple(found)

    def _base(self, node: ast.ImportFrom) -> str:
        """Name the module that is imported from, in full."""
        if not node.level:
            return node.module or ""
        above = self.name.split(".")[: None if self.is_package else -1]
        above = above[: len(above) - node.level + 1]
        return ".".join(above + ([node.module] if node.module else []))


def _span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


class Tree:
    """All modules below a folder, and who imports whom."""

    def __init__(self, root: Path) -> None:
        files = sorted(file for file in root.rglob("*.py") if "__pycache__" not in file.parts)
        if not files:
            raise SystemExit(f"error: no modules in {root}")
        self.modules = {module.name: module for module in (Module(root, file) for file in files)}
        self.folders = {module.file.parent for module in self.modules.values()}
        self.leaves = [module for module in self.modules.values() if not module.is_package]

    def code(self, *places: str) -> int:
        """Count the code lines of some packages or modules, or of all."""
        return sum(module.code for module in self.below(*places))

    def below(self, *places: str) -> list[Module]:
        """List the modules of some places, which are named from the package on; or all."""
        names = [f"{PACKAGE}.{place}" for place in places] or [PACKAGE]
        return [
            module
            for module in self.modules.values()
            if any(module.name == name or module.name.startswith(f"{name}.") for name in names)
        ]

    def imported(self, module: Module, *, with_types: bool) -> set[str]:
        """Name our modules that a module imports: the inner one where a package is named."""
        found = set()
        for one in module.imports:
            if with_types or not one.for_types:
                inner = f"{one.module}.{one.name}"
                name = inner if inner in self.modules else one.module
                while name and name not in self.modules:
                    name = name.rpartition(".")[0]
                found.add(name)
        return found - {"", module.name}

    def single_importers(self) -> int:
        """Count the modules that one other module imports, and no more."""
        importers: dict[str, int] = defaultdict(int)
        for module in self.leaves:
            for name in self.imported(module, with_types=True):
                importers[name] += 1
        return sum(importers[module.name] == 1 for module in self.leaves)

    def circles(self) -> list[list[str]]:
        """List the sets of modules that reach each other (Tarjan 1972, without recursion)."""
        arrows = {
            name: sorted(self.imported(module, with_types=False))
            for name, module in self.modules.items()
        }
        order: dict[str, int] = {}  # when a module was first come to
        lowest: dict[str, int] = {}  # the earliest one on the path that it reaches
        path: list[str] = []
        found = []
        for start, first in arrows.items():
            if start in order:
                continue
            ahead = [(start, iter(first))]
            order[start] = lowest[start] = len(order)
            path.append(start)
            while ahead:
                name, rest = ahead[-1]
                following = next(rest, None)
                if following is None:
                    ahead.pop()
                    if ahead:
                        above = ahead[-1][0]
                        lowest[above] = min(lowest[above], lowest[name])
                    if lowest[name] == order[name]:
                        cut = path.index(name)
                        found.append(sorted(path[cut:]))
                        del path[cut:]
                elif following not in order:
                    order[following] = lowest[following] = len(order)
                    path.append(following)
                    ahead.append((following, iter(arrows[following])))
                elif following in path:
                    lowest[name] = min(lowest[name], order[following])
        return [circle for circle in found if len(circle) > 1]


@dataclass(frozen=True)
class Figure:
    """What was measured, and what it may be."""

    name: str
    value: float
    limit: float | None = None
    remark: str = ""

    @property
    def missed(self) -> bool:
        """Whether the limit is missed."""
        if self.limit is None:
            return False
        return self.value < self.limit if self.name in AT_LEAST else self.value > self.limit

    def __str__(self) -> str:
        bound = "≥" if self.name in AT_LEAST else "≤"
        limit = "" if self.limit is None else f"{bound} {self.limit:,}"
        mark = "missed" if self.missed else ""
        shown = f"{self.value:,}"
        return f"{self.name:42}{shown:>9}  {limit:9}{mark:8}{self.remark}".rstrip()


def shape_figures(tree: Tree) -> list[Figure]:
    """Measure what can be read from the files."""
    code, algorithms = tree.code(), tree.below(*ALGORITHMS)
    imports = sum(module.import_lines for module in tree.modules.values())
    comments = sum(module.comments for module in tree.modules.values())
    algorithm_comments = sum(module.comments for module in algorithms)
    algorithm_code = sum(module.code for module in algorithms)
    longest = max(tree.modules.values(), key=lambda module: module.code)
    name, times = Counter(module.file.name for module in tree.leaves).most_common(1)[0]
    circles = tree.circles()
    found = {
        "code lines": (code, ""),
        "modules": (len(tree.modules), ""),
        "code lines per module": (round(code / len(tree.modules)), ""),
        "folders": (len(tree.folders), ""),
        "depth": (max(len(folder.parts) for folder in tree.folders), ""),
        "import lines, % of code": (round(100 * imports / code, 1), ""),
        "comments per 100 code lines": (round(100 * comments / code, 2), ""),
        "comments per 100 code lines, algorithms": (
            round(100 * algorithm_comments / max(algorithm_code, 1), 2), ""
        ),
        "noqa": (sum(module.text.count("# noqa") for module in tree.modules.values()), ""),
        "modules with a single importer, %": (
            round(100 * tree.single_importers() / len(tree.leaves)), ""
        ),
        "circles of imports": (len(circles), "; ".join(" ".join(circle) for circle in circles)),
        "modules of the most frequent name": (times, name),
        "code lines of the longest module": (longest.code, str(longest.file)),
    }  # fmt: skip
    return [Figure(name, value, LIMITS.get(name), said) for name, (value, said) in found.items()]


def budget_figures(tree: Tree) -> list[Figure]:
    """Measure the capabilities that are there."""
    there = {name: (limit, tree.code(*places)) for name, (limit, places) in BUDGETS.items()}
    return [Figure(f"budget: {name}", n, limit) for name, (limit, n) in there.items() if n]


def journey_figures(source: Path) -> list[Figure]:
    """Count the modules on each journey, each in a process of its own."""
    found = []
    tracer = Path(__file__).with_name("journeys.py")
    for name in (name for name in LIMITS if name.startswith("journey: ")):
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "modules"
            journey = name.removeprefix("journey: ")
            done = subprocess.run(
                [sys.executable, tracer, source, journey, told],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise SystemExit(f"error: the journey {journey} did not end well\n{done.stderr}")
            modules = told.read_text(encoding="utf-8").splitlines()
        found.append(Figure(name, len(modules), LIMITS[name]))
    return found


def main(words: list[str]) -> int:
    """Print all figures; tell by the exit code whether the limits are kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", nargs="?", type=Path, default=Path("src"))
    parser.add_argument("--check", action="store_true", help="exit with 1 where a limit is missed")
    parser.add_argument("--no-journeys", action="store_true", help="only what the files tell")
    asked = parser.parse_args(words)
    tree = Tree(asked.source / PACKAGE)
    figures = shape_figures(tree) + budget_figures(tree)
    if not asked.no_journeys:
        figures += journey_figures(asked.source.resolve())
    for figure in figures:
        print(figure)
    return int(asked.check and any(figure.missed for figure in figures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
