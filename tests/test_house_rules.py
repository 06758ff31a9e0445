"""What the house asks of every line of src: names and parameters, read with `ast`."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

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
