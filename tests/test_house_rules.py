"""What the house asks of every line of src: names and parameters, read with `ast`."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import scheduling

import sfumato

SOURCE = Path(sfumato.__file__).parent


class Kept(NamedTuple):
    """What the rules look at: values given a name, and functions, with their places."""

    names: list[tuple[str, str]]
    functions: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]


def look(tree, path):
    """Gather the names of variables and parameters of a module, and its functions."""
    kept = Kept([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                kept.names.append((node.id, f"{path}:{node.lineno}"))
        elif isinstance(node, ast.arg):
            kept.names.append((node.arg, f"{path}:{node.lineno}"))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            kept.functions.append((f"{path}:{node.name}", node))
    return kept


@cache
def package():
    """Look at every module of the package, once."""
    whole = Kept([], [])
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found = look(tree, file.relative_to(SOURCE).as_posix())
        whole.names.extend(found.names)
        whole.functions.extend(found.functions)
    return whole


def test_no_variable_is_called_one():
    """A reader wants to know what it is one of: a question, a column, a step."""
    named = [place for name, place in package().names if name == "one"]
    assert not named, f"name these for what they are: {named}"


def test_every_way_to_name_a_value_is_seen():
    text = "def f(one, *, two=1):\n    three = [four for four in one]\n    for five in three: ...\n"
    seen = {name for name, _ in look(ast.parse(text), "").names}
    assert seen == {"one", "two", "three", "four", "five"}


MOST_OF_A_KERNEL, MOST = 10, 12
PUBLIC = {
    "ask/session/session.py:__init__",
    "attack/models/evasion.py:evade",
    "audit/claims/check.py:check",
    "dp/learn/additive.py:__init__",
    "dp/learn/sgd/training.py:train",
    "dp/publish/topk/release.py:top_k",
}
"""What users call with many options by name; their names are a contract."""


def parameters(function):
    """Count what a function takes, the object it belongs to left out."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    named += [rest for rest in (given.vararg, given.kwarg) if rest is not None]
    return len([name for name in named if name.arg not in {"self", "cls"}])


def is_compiled(function):
    """Tell whether Numba compiles a function."""
    made = (ast.unparse(decorator) for decorator in function.decorator_list)
    return any(text.startswith(("njit", "kernel")) for text in made)


def test_a_kernel_takes_records_instead_of_many_arrays():
    """A reviewer cannot check a call of sixteen arrays; a record says what its arrays mean."""
    compiled = {place: parameters(node) for place, node in package().functions if is_compiled(node)}
    assert len(compiled) > 100
    wide = {place: count for place, count in compiled.items() if count > MOST_OF_A_KERNEL}
    assert not wide, f"put what belongs together in a NamedTuple: {wide}"


def test_no_function_takes_more_than_a_dozen_parameters():
    wide = {place for place, node in package().functions if parameters(node) > MOST}
    assert wide == PUBLIC


ROOT = Path(__file__).parents[1]
PLACES = re.compile(r"""/(?<![\w.~$}>-]/)(?:work|home|root|Users|mnt|media)/[A-Za-z]""")


@cache
def texts():
    """Every file of text that belongs to the repository, with its path."""
    folders = ("bench", "deploy", "docs", "src", "tests")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file()]
    above = [file for file in ROOT.glob("*.*") if file.is_file() and file.name != ".git"]
    found = []
    for file in [*files, *above, ROOT / "Makefile", *ROOT.glob(".ci/*")]:
        parts = set(file.relative_to(ROOT).parts)
        if not parts & {"__pycache__", "results", "names"} and file.suffix not in {".nbi", ".nbc"}:
            try:
                found.append((file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")))
            except UnicodeDecodeError:
                continue
    return found


def test_no_file_names_a_place_of_one_machine():
    named = [
        f"{path}:{number}" for path, text in texts() if PLACES.search(text)
        for number, line in enumerate(text.splitlines(), 1) if PLACES.search(line)
    ]  # fmt: skip
    assert not named, f"name places by what stands beside the repository: {named}"
    assert PLACES.search('Path("/' + 'home/data")')
    assert not PLACES.search("https://example.org/home/data")


def test_what_the_order_of_tests_names_is_there():
    """A file that moves would no longer be shared out, nor start early."""
    named = {*scheduling.SHARED_OUT, *scheduling.CORE, *scheduling.weights()}
    assert not [file for file in sorted(named) if not (ROOT / file).is_file()]


def test_no_test_asserts_on_the_time_that_has_passed():
    """A busy machine is no mistake; `hangs.usually` guards against what never ends."""
    clock = re.compile(r"assert [^#]*\btime\.(?:monotonic|perf_counter|process_time)\(\) - ")
    tests = [(path, text) for path, text in texts() if path.startswith("tests/")]
    assert len(tests) > 300
    asserting = [
        f"{path}:{number}" for path, text in tests
        for number, line in enumerate(text.splitlines(), 1) if clock.search(line)
    ]  # fmt: skip
    assert not asserting
