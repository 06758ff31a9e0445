"""What others can build on, as texts: names, signatures, members, commands, addresses, keys.

Annotations are left out of signatures, since they name types that are ours to rename; a type
checker holds them elsewhere (`tests/outside/typed`).
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import textwrap
import types
from functools import cached_property

INNER = ("anonymize.definitions", "dp.queries", "govern.office", "local.wire")
"""Public packages that are no names of the package above."""


_public: set[type] = set()


def modules():
    """Give the public modules by name, each once."""
    found = {}
    ahead = [("sf", importlib.import_module("sfumato"))]
    ahead += [(f"sf.{name}", importlib.import_module(f"sfumato.{name}")) for name in INNER]
    while ahead:
        name, module = ahead.pop()
        if name not in found:
            found[name] = module
            for inner in listed(module):
                value = getattr(module, inner)
                if isinstance(value, types.ModuleType) and value.__name__.startswith("sfumato."):
                    ahead.append((f"{name}.{inner}", value))
    return dict(sorted(found.items()))


def listed(module):
    """Name what a module offers: what it lists, or what is defined in it or in its package."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    own = {*vars(module), *getattr(module, "_HOME", ())}
    return sorted(
        name
        for name in own
        if not name.startswith("_")
        and (getattr(getattr(module, name), "__module__", None) or "").startswith("sfumato")
        and not isinstance(getattr(module, name), types.ModuleType)
    )


def texts():
    """Say all that there is, by module; a class is said once, where it is first found."""
    said, found = {}, {}
    for module in modules().values():
        offered = (getattr(module, name) for name in listed(module))
        _public.update(value for value in offered if inspect.isclass(value))
    for name, module in modules().items():
        found[name] = described(module, name, said)
    return found


def described(module, place, said):
    """Say all that a module offers, in lines; `said` has the classes that were said before."""
    lines = []
    if callable(module):
        lines.append(f"(the module) {_signature(module)}")
    for name in listed(module):
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            lines.append(f"{name}: module")
        elif inspect.isclass(value):
            first = said.setdefault(value, f"{place}.{name}")
            told = first == f"{place}.{name}"
            lines += _class(name, value) if told else [f"class {name}, which is {first}"]
        elif callable(value) and hasattr(value, "__name__"):
            lines.append(f"{name}{_signature(value)}")
        else:
            lines.append(f"{name} = {_shown(value)}")
    return "\n".join(lines)


def _signature(value):
    try:
        found = inspect.signature(value)
    except (ValueError, TypeError):
        return "(…)"
    bare = [
        parameter.replace(
            annotation=parameter.empty,
            default=parameter.default
            if parameter.default is parameter.empty
            else _Shown(_shown(parameter.default)),
        )
        for parameter in found.parameters.values()
    ]
    return str(inspect.Signature(bare))


class _Shown:
    """A default as it is shown."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def _shown(value):
    """Show a value, if it is plain and no sentence; otherwise its type."""
    if isinstance(value, str) and len(value) > 30:
        return "'…'"
    if type(value).__name__ == "_HAS_DEFAULT_FACTORY_CLASS":
        return "…"
    if value is None or isinstance(value, str | int | float | bool | bytes | enum.Enum):
        return repr(value)
    if isinstance(value, tuple | list) and all(isinstance(v, str | int | float) for v in value):
        return repr(value)
    if isinstance(value, frozenset | set) and all(isinstance(v, str) for v in value):
        return f"{{{', '.join(sorted(value))}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(map(str, value))}}}"
    if inspect.isclass(value):
        return value.__name__
    return f"a {type(value).__name__}"


def _class(name, value):
    """Say how a class is made, what it is, and what it has: one line for each."""
    above = [
        one.__name__
        for one in value.__mro__[1:-1]
        if one in _public or not one.__module__.startswith("sfumato")
    ]
    of = f" of {', '.join(above)}" if above else ""
    lines = [f"class {name}{of}"]
    if not inspect.isabstract(value) and not getattr(value, "_is_protocol", False):
        lines.append(f"{name}{_signature(value)}")
    members = {}
    for one in reversed(value.__mro__):
        if one.__module__.startswith("sfumato"):
            members |= dict.fromkeys(vars(one).get("__annotations__", ()), "attribute")
            members |= dict.fromkeys(_made_in_init(one), "attribute")
            members |= {key: _member(found) for key, found in vars(one).items()}
            if callable(vars(one).get("__call__")):
                members["__call__"] = _member(vars(one)["__call__"])
    public = {k: v for k, v in members.items() if not k.startswith("_") or k == "__call__"}
    return [*lines, *(f"{name}.{key}{public[key]}" for key in sorted(public))]


def _made_in_init(one):
    """Name the public attributes that `__init__` gives."""
    method = vars(one).get("__init__")
    if not inspect.isfunction(method) or method.__code__.co_filename.startswith("<"):
        return ()
    tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    return {
        target.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for part in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for target in ast.walk(part)
        if isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    }


def _member(found):
    if isinstance(found, property | cached_property | types.GetSetDescriptorType):
        return ": attribute"
    if isinstance(found, classmethod | staticmethod):
        return f": {type(found).__name__} {_signature(found.__func__)}"
    if callable(found) and not inspect.isclass(found):
        return _signature(found)
    return ": attribute"


def commands():
    """Say every command with its arguments and options, of each shape, in lines by command."""
    from typer.main import get_command

    from sfumato.cli.commands import COMMANDS, SHAPED, application
    from sfumato.shape import _BUILT_IN

    found = {}
    for name in COMMANDS:
        _gather(get_command(application([name])).commands.items(), (), found)
    _gather(get_command(application(["attack", "model"])).commands.items(), (), found)
    for shape in _BUILT_IN:
        for name in SHAPED:
            with_shape = application([name, "--shape", shape])
            inner = get_command(with_shape)
            inner = getattr(inner, "commands", {name: inner})
            _gather(inner.items(), (f"--shape {shape}",), found)
    return found


def _gather(items, before, found):
    for name, command in items:
        words = (*before, name)
        if hasattr(command, "commands"):
            _gather(command.commands.items(), words, found)
        else:
            found[" ".join(words)] = "\n".join(_parameter(one) for one in command.params)


def _parameter(one):
    names = " ".join([*one.opts, *one.secondary_opts])
    default = "" if one.default is None or callable(one.default) else f" = {one.default!r}"
    marks = [mark for mark in ("required", "multiple", "is_flag") if getattr(one, mark, False)]
    return " ".join([one.param_type_name, names, *marks]) + default


def addresses():
    """Say every address of the service: who may have it, and what it takes in its query."""
    from sfumato.service.routes import API, PAGES

    return "\n".join(
        f"{route.method} {route.path} {route.access.name.lower()}"
        + "".join(f" ?{key}" for key in route.query or ())
        for route in (*API, *PAGES)
    )
