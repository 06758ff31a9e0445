"""The decorator of compiled kernels, and where their code comes from.

A wheel ships `sfumato._kernels`: the functions that numba made of the kernels when the wheel was
built (`native/build.py`), for the types of arguments in `native/signatures.txt`, in one library
that needs neither numba nor LLVM. A kernel uses what is shipped where this processor can run it and
the kernel still says what it said when it was compiled: its own bytecode, the constants it names
and the kernels it calls (`meaning`). For anything else numba compiles, when a kernel is first
called, and keeps what it made in files beside the code; a wait of more than a second says so.

Where a newer version of Sfumato has renamed a type that such files were made for, numba cannot read
them, and raises instead of compiling again. Here they count as absent.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from functools import cache, cached_property, partial, update_wrapper
from importlib import import_module
from inspect import signature
from threading import Timer
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHIPPED = "SFUMATO_SHIPPED_KERNELS"
"""Set to `no`, this variable of the environment has numba compile whatever is called."""


PATIENCE = 1.0
"""Seconds that a process compiles before it says so, where a person is there to read it."""


def _library() -> Any:
    """Load what the package ships, or nothing where it ships none that this processor can run."""
    if os.environ.get(SHIPPED) == "no":
        return None
    try:
        library = import_module("sfumato._kernels")
    except ImportError:
        return None
    return library if library.serves() else None


LIBRARY: Any = _library()


@cache
def contents() -> dict[str, dict[str, tuple[str, int]]]:
    """Return what is shipped: per kernel and types of arguments its meaning and number."""
    found: dict[str, dict[str, tuple[str, int]]] = {}
    for number, line in enumerate(LIBRARY.contents.splitlines()):
        meant, place, types = line.split(" ")
        found.setdefault(place, {})[types] = meant, number
    return found


class Kernel(LIBRARY.Kernel if LIBRARY else object):  # type: ignore[misc]
    """A kernel of a package that ships code: numba is loaded for what it does not ship.

    The base, in C, keeps what `find` has found for the types of arguments. It asks once for each.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function  # named as in numba's dispatchers, whose place this takes
        self.targetoptions = self.chosen = options

    def __reduce__(self) -> str:
        """Name it, so that another process finds its own."""
        return self.py_func.__qualname__

    @cached_property
    def dispatcher(self) -> Any:
        """What numba makes of the kernel."""
        return dispatcher(self.py_func, self.chosen)

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for where it compiles a kernel that calls this one."""
        from numba.core.types import Dispatcher  # noqa: PLC0415 - not loaded without need

        return Dispatcher(self.dispatcher)

    @property
    def signatures(self) -> list[str]:
        """Types of arguments that need no compiling."""
        return list(contents().get(place(self.py_func), {}))

    def find(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the function for arguments of these types."""
        shipped = contents().get(place(self.py_func), {})
        for offered in (args, _writable(args)):
            meant, number = shipped.get(spelled(offered), ("", 0))
            if meant and meant == meaning(self):
                function: Callable[..., Any] = LIBRARY.function(number)
                return function if offered is args else partial(_lent, function)
        missing = len(signature(self.py_func).parameters) - len(args)
        if missing > 0 and (defaults := (self.py_func.__defaults__ or ())[-missing:]):
            return lambda *given: self(*given, *defaults)
        made: Callable[..., Any] = self.dispatcher
        return made

    def call_named(self, *args: Any, **named: Any) -> Any:
        """Call it with some arguments by name."""
        bound = signature(self.py_func).bind(*args, **named)
        bound.apply_defaults()
        return self(*bound.args)


def place(function: Callable[..., Any]) -> str:
    """Name a kernel."""
    return f"{function.__module__}:{function.__qualname__}"


def spelled(args: tuple[Any, ...]) -> str:
    """Name the types of arguments, as far as numba tells them apart.

    `i8:1C` is an array of one dimension, without gaps, of integers of eight bytes.
    """
    return ",".join(map(_type, args))


def _type(value: Any) -> str:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return f"{value.dtype.str[1:]}:{value.ndim}{layout}{'' if flags.writeable else 'r'}"
    if isinstance(value, np.generic):
        return value.dtype.str[1:]
    if isinstance(value, tuple):
        name = place(type(value)) if hasattr(value, "_fields") else ""
        return f"{name}({','.join(map(_type, value))})"
    if isinstance(value, bool):
        return "b1"
    if isinstance(value, int):
        return "i8" if -(2**63) <= value < 2**63 else "u8"
    return "f8" if isinstance(value, float) else type(value).__qualname__


def _lent(function: Callable[..., Any], *args: Any) -> Any:
    """Call what was compiled for arrays that may be written with copies of others."""
    return function(*_writable(args))


def _writable(value: Any) -> Any:
    if isinstance(value, tuple):
        parts = map(_writable, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return np.array(value, order="C")
    return value


def meaning(kernel: Any) -> str:
    """Name what a kernel says: another name is another kernel, or one with another constant."""
    digest = hashlib.sha256()
    for word in _said(kernel, set()):
        digest.update(word.encode() + b"\0")
    return digest.hexdigest()[:32]


def _said(kernel: Any, seen: set[int]) -> Iterator[str]:
    function = kernel.py_func
    yield place(function)
    if id(function) in seen:
        return
    seen.add(id(function))
    yield repr(sorted((name, str(chosen)) for name, chosen in kernel.chosen.items()))
    names: set[str] = set()
    yield from _written(function.__code__, names)
    known = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    known = {name: cell.cell_contents for name, cell in known.items()}
    for name in sorted(names | known.keys()):
        if name in known or name in function.__globals__:
            yield name
            yield from _named(known.get(name, function.__globals__.get(name)), names, seen)


def _written(code: CodeType, names: set[str]) -> Iterator[str]:
    names.update(code.co_names)
    yield code.co_code.hex()
    yield repr((code.co_varnames, code.co_names, code.co_freevars, code.co_cellvars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _written(constant, names)
        else:
            yield repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant)


def _named(value: Any, names: set[str], seen: set[int]) -> Iterator[str]:
    if hasattr(value, "py_func"):
        yield from _said(value, seen)
    elif isinstance(value, ModuleType):
        yield value.__name__
        if value.__name__.startswith("sfumato"):
            for name in sorted(names & vars(value).keys()):
                yield from _named(vars(value)[name], names, seen)
    elif isinstance(value, type):
        yield f"{place(value)} {getattr(value, '_fields', '')}"
    elif isinstance(value, np.ndarray | np.generic):
        yield f"{value.dtype.str} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, tuple):
        for part in value:
            yield from _named(part, names, seen)
    else:
        plain = isinstance(value, bool | int | float | str | None)
        yield repr(value) if plain else getattr(value, "__qualname__", type(value).__qualname__)


@cache
def _forgiving() -> type:
    """Return a list of what was compiled earlier that is empty where it cannot be read."""
    from numba.core.caching import IndexDataCacheFile  # noqa: PLC0415 - not loaded without need

    class ForgivingIndex(IndexDataCacheFile):  # type: ignore[misc]
        def _load_index(self) -> Any:
            try:
                return super()._load_index()
            except Exception:  # noqa: BLE001 - whatever a pickle of another version may raise
                return {}

    return ForgivingIndex


@cache
def _announce() -> None:
    """Have a process say once what it waits for."""
    from numba.core import event  # noqa: PLC0415 - not loaded without need

    def say() -> None:
        if sys.stderr.isatty() or "ipykernel" in sys.modules:
            words = "compiling for this machine, once; the next time starts at once …"
            print(f"sfumato: {words}", file=sys.stderr, flush=True)  # noqa: T201 - for a person

    class Waiting(event.Listener):  # type: ignore[misc]
        depth, begun, spent = 0, 0.0, 0.0
        timer: Timer | None = None

        def on_start(self, _: Any) -> None:
            self.depth += 1
            if self.depth == 1 and self.spent < PATIENCE:
                self.begun = time.monotonic()
                self.timer = Timer(PATIENCE - self.spent, say)
                self.timer.daemon = True  # it keeps no process from ending
                self.timer.start()

        def on_end(self, _: Any) -> None:
            self.depth -= 1
            if self.depth == 0 and self.timer is not None:
                self.timer.cancel()
                self.timer = None
                self.spent += time.monotonic() - self.begun

    event.register("numba:compile", Waiting())


def dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Have numba compile a function when it is first called, and keep what was made if asked to."""
    try:
        import numba  # noqa: PLC0415 - not loaded without need
    except ImportError:
        raise MissingExtra("numba", "compiler", f"{place(function)} on such values") from None
    _announce()
    chosen = options
    if not hasattr(numba.core.cpu.CPUTargetOptions, "_nrt"):
        options = {name: chosen for name, chosen in options.items() if name != "_nrt"}
    made = numba.njit(**options)(function)
    if options.get("cache"):
        made._cache._cache_file.__class__ = _forgiving()  # noqa: SLF001
    made.chosen = chosen
    return made


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a function a kernel."""

    def compiled(function: Callable[..., Any]) -> Any:
        return Kernel(function, options) if LIBRARY else dispatcher(function, options)

    return compiled


def njit_inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function a kernel that other kernels call again and again, and that makes no array.

    It is lent its arrays: numba counts no references to them, which takes longer than many a call,
    as in its own inner functions.
    A kernel that does make one is refused when it is compiled.
    """
    made: Callable[..., Any] = njit(cache=True, _nrt=False)(function)
    return made
