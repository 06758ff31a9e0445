"""Whether two trainings are the same: modules and functions told apart by all they compute from.

Contract: :func:`fingerprint` of two values is the same only if they compute alike: numbers, code,
what functions enclose and use of their modules, parameters and attributes, whatever their names.
What cannot be looked into has a new fingerprint each time: it is bought anew, and never given
again for something else. Code of installed libraries goes by its name and their version.
"""

from __future__ import annotations

import functools
import hashlib
import json
import secrets
import sys
import types
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), torch.dtype, torch.device)
_BY_NAME = (types.BuiltinFunctionType, types.ModuleType, np.ufunc)
_MOST = 10_000  # values that are looked into
_LIBRARIES = {"torch", "numpy", "sfumato", *sys.stdlib_module_names} - {"__main__"}


def fingerprint(*values: Any) -> str:
    """Give a short text that is the same only for values that compute alike."""
    try:
        described = json.dumps(_all(values, {}))
    except Exception:  # noqa: BLE001 - whatever cannot be looked into
        described = secrets.token_hex(16)
    return hashlib.sha256(described.encode()).hexdigest()[:32]


def _describe(value: Any, met: dict[int, Any]) -> Any:
    """Describe a value in plain JSON; what was met on the way goes by its number."""
    if isinstance(value, _PLAIN):
        return [type(value).__name__, repr(value)]
    if id(value) in met:
        return ["met", met[id(value)][0]]
    met[id(value)] = (len(met), value)  # held, so that no other value gets its place in memory
    if len(met) > _MOST:
        raise RecursionError
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        return _numbers(value)
    if isinstance(value, Mapping):
        return ["map", type(value).__name__, _all(((k, value[k]) for k in value), met)]
    if isinstance(value, AbstractSet):
        return ["set", sorted(json.dumps(_describe(item, {})) for item in value)]
    if isinstance(value, list | tuple):
        return [type(value).__name__, _all(value, met)]
    return _of_code(value, met)


def _of_code(value: Any, met: dict[int, Any]) -> Any:
    """Describe what runs, and objects by their class and what they hold."""
    named = isinstance(value, types.FunctionType | type) and _of_library(value)
    if named or isinstance(value, _BY_NAME):
        if isinstance(value, types.ModuleType) and not _is_installed(value):
            return ["unknown", secrets.token_hex(16)]
        bound = getattr(value, "__self__", None)  # of a function of C: what it computes with
        about = None if isinstance(bound, types.ModuleType | type) else _describe(bound, met)
        return ["name", *_name(value), about]
    for kind, parts in _PARTS.items():
        if isinstance(value, kind):
            return [kind.__name__, _all(parts(value), met)]
    if hasattr(value, "__dict__") and not hasattr(type(value), "__slots__"):
        return ["object", _all((type(value), vars(value)), met)]
    return ["unknown", secrets.token_hex(16)]


_OF_EVERY_CLASS = {"__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__"}


def _function(function: types.FunctionType) -> Iterable[Any]:
    """Give all a function computes from: code, defaults, what it encloses and what it looks up."""
    code = function.__code__
    enclosed = [_content(cell) for cell in function.__closure__ or ()]
    looked_up = {
        name: function.__globals__[name]
        for name in sorted(_names(code))
        if name in function.__globals__
    }
    return code, function.__defaults__, function.__kwdefaults__, enclosed, looked_up, vars(function)


def _class(value: type) -> Iterable[Any]:
    own = {name: part for name, part in vars(value).items() if name not in _OF_EVERY_CLASS}
    return value.__qualname__, own, value.__bases__


def _code(code: types.CodeType) -> Iterable[Any]:
    counts = code.co_argcount, code.co_kwonlyargcount, code.co_flags
    return counts, code.co_code, code.co_names, code.co_varnames, code.co_consts


_PARTS: dict[type, Callable[[Any], Iterable[Any]]] = {
    types.CodeType: _code,
    types.FunctionType: _function,
    types.MethodType: lambda value: (value.__self__, value.__func__),
    functools.partial: lambda value: (value.func, value.args, value.keywords),
    staticmethod: lambda value: (value.__func__,),
    classmethod: lambda value: (value.__func__,),
    property: lambda value: (value.fget, value.fset),
    type: _class,
}


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _names(code: types.CodeType) -> set[str]:
    """Give the names that code uses, that of functions inside of it included."""
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _of_library(value: Any) -> bool:
    """Whether the name of a function or class finds it in a library that nobody writes here."""
    place = getattr(value, "__module__", None) or ""
    if place.partition(".")[0] not in _LIBRARIES:
        return False
    found: Any = sys.modules.get(place)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value


def _is_installed(module: types.ModuleType) -> bool:
    """Whether the name and version of a module tell what it computes."""
    first = module.__name__.partition(".")[0]
    return first in _LIBRARIES or hasattr(sys.modules.get(first), "__version__")


def _name(value: Any) -> list[str]:
    place = str(getattr(value, "__module__", "") or "")
    library = sys.modules.get(place.partition(".")[0])
    said = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    return [type(value).__name__, place, str(said), str(getattr(library, "__version__", ""))]


def _numbers(value: Any) -> Any:
    trained = getattr(value, "requires_grad", False)
    if isinstance(value, torch.Tensor):
        tensor = value.detach().cpu().contiguous()
        kind, shape = str(tensor.dtype), list(tensor.shape)
        held = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    else:
        array = np.ascontiguousarray(value)
        if array.dtype.hasobject:
            return ["unknown", secrets.token_hex(16)]
        kind, shape, held = array.dtype.str, list(array.shape), array.tobytes()
    return ["numbers", kind, shape, trained, hashlib.sha256(held).hexdigest()]


def _all(values: Iterable[Any], met: dict[int, Any]) -> list[Any]:
    return [_describe(value, met) for value in values]
