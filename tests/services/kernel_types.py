"""Types of arguments that tests call kernels with, and that no wheel ships kernels for.

A wheel of compiled kernels runs without a compiler, so what users call must be listed in
native/signatures.txt. Where the checkout has compiled kernels (`make kernels`), a run of the tests
tells which calls are not.
"""

from __future__ import annotations

from inspect import signature
from pathlib import Path

LISTED = Path(__file__).parents[2] / "native" / "signatures.txt"
_unlisted: set[str] = set()


def watch() -> None:
    """Note from now on which kernels are asked for."""
    from sfumato import compiler

    if compiler.LIBRARY is None:
        return
    find, listed = compiler.Kernel.find, set(LISTED.read_text(encoding="utf-8").splitlines())

    def watched(kernel, args):
        line = f"{compiler.place(kernel.py_func)} {compiler.spelled(args)}"
        whole = len(args) == len(signature(kernel.py_func).parameters)
        if whole and line.startswith("sfumato.") and line not in listed:
            _unlisted.add(line)
        return find(kernel, args)

    compiler.Kernel.find = watched


def drain() -> list[str]:
    """Return what was called since the last time."""
    found = sorted(_unlisted)
    _unlisted.clear()
    return found


def record(lines: set[str]) -> None:
    """List types to ship kernels for."""
    listed = set(LISTED.read_text(encoding="utf-8").splitlines())
    LISTED.write_text("\n".join(sorted(listed | lines)) + "\n", encoding="utf-8")
