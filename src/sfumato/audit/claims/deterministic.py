"""What the code of a function proves about it, without running it.

Contract: ``read_code`` says of a Python function whether it is certainly *deterministic* (the same
data set gives the same output, always) and whether it certainly *ignores its data*. Both are
proofs or nothing: a function of which neither can be shown is simply tested.

Proof. Only functions whose instructions are all on a list of harmless ones are accepted: reading
and storing local names and constants, arithmetic, comparing, building and unpacking containers,
looping, calling. What they call must be a built-in of a second list, each a function of its
arguments alone, and that name must not be redefined. Attributes, imports, globals and closures
lead outside what the code shows, so that a function with any of them is not judged. A function
without outside influence gives what its data set determines; if it never reads the name of the
data set either, every data set gives the same output. Records are taken to be plain values.
"""

from __future__ import annotations

import builtins
import dis
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

_CALLED = frozenset(
    (
        *("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "int", "len"),
        *("list", "max", "min", "pow", "range", "reversed", "round", "sorted", "sum", "tuple"),
        "zip",
    )
)
_HARMLESS_STARTS = (
    "BINARY_", "BUILD_", "CALL", "COMPARE_", "CONTAINS_", "COPY", "EXTENDED_", "FOR_", "GET_ITER",
    "INPLACE_", "IS_", "JUMP_", "KW_NAMES", "LIST_", "LOAD_CLOSURE", "LOAD_CONST", "LOAD_DEREF",
    "LOAD_FAST", "LOAD_GLOBAL", "LOAD_SMALL_INT", "MAKE_", "MAP_", "NOP", "NOT_TAKEN", "POP_",
    "PRECALL", "PUSH_NULL", "RESUME", "RETURN_", "ROT_", "SET_", "STORE_DEREF", "STORE_FAST",
    "STORE_SUBSCR", "SWAP", "TO_BOOL", "UNARY_", "UNPACK_", "YIELD_", "END_FOR", "CACHE", "DUP_",
    "CLEAR_", "SET_FUNCTION_ATTRIBUTE", "MAKE_CELL", "COPY_FREE_VARS", "LOAD_ASSERTION_ERROR",
    "RAISE_", "INTERPRETER_EXIT", "LOAD_FAST_AND_CLEAR", "DELETE_FAST", "CONVERT_VALUE",
)  # fmt: skip


@dataclass(frozen=True)
class CodeFacts:
    """What the code proves; both False means nothing."""

    deterministic: bool = False
    ignores_data: bool = False


def read_code(func: Any, arguments: object = ()) -> CodeFacts:
    """Judge a function by its code; one with extra arguments or defaults is not judged."""
    if isinstance(func, BuiltinFunctionType) and not arguments:
        known = [getattr(builtins, name) for name in _CALLED]
        return CodeFacts(deterministic=any(func is other for other in known))
    if not isinstance(func, FunctionType) or arguments or func.__closure__ or func.__defaults__:
        return CodeFacts()
    code = func.__code__
    if code.co_argcount != 1 or code.co_kwonlyargcount or code.co_flags & 0x2AC:
        return CodeFacts()  # generators, coroutines and *args are not judged
    if not _harmless(code, func.__globals__):
        return CodeFacts()
    return CodeFacts(deterministic=True, ignores_data=not _reads(code, code.co_varnames[0]))


def _harmless(code: CodeType, names: dict[str, Any]) -> bool:
    for step in dis.get_instructions(code):
        if not step.opname.startswith(_HARMLESS_STARTS):
            return False
        if step.opname.startswith("LOAD_GLOBAL") and not _is_builtin(step.argval, names):
            return False
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return all(_harmless(part, names) for part in inner)


def _is_builtin(name: object, names: dict[str, Any]) -> bool:
    return isinstance(name, str) and name in _CALLED and name not in names and hasattr(
        builtins, name
    )  # fmt: skip


def _reads(code: CodeType, name: str) -> bool:
    for step in dis.get_instructions(code):
        named = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if name in named and step.opname.startswith(("LOAD_", "MAKE_CELL", "STORE_FAST_LOAD")):
            return True
    return False
