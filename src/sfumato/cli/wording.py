"""Messages of the library in the words of the command line: options, not arguments of Python.

The library speaks to whoever calls it, as in ``epsilon=0.1``; the commands that ask questions have
an option for each of those arguments, under the same name.
"""

from __future__ import annotations

import re

_OPTIONS = (
    "accuracy", "analyst", "bins", "blocks", "bounds", "box", "budget", "delta", "epsilon", "keys",
    "policy", "private", "public", "purpose", "rho", "schema", "sums", "unit", "where",
)  # fmt: skip
_ARGUMENT = re.compile(
    rf"(?<![\w.'\"(-])({'|'.join(_OPTIONS)})="
    r"(?P<value>Unit\([^)]*\)|sf\.\w+\([^)]*\)|\[[^\]]*\]|\{[^}]*\}|'[^']*'|\"[^\"]*\"|[\w.+-]*\w|…)?"
)
_AMEND = re.compile(r"Ledger\.amend(\([^)]*\))? or (?=`sfumato ledger amend`)")
_PAIR = re.compile(r"'([^']*)': [(\[]([^)\]]*)[)\]]")


def in_options(message: str) -> str:
    """Write ``epsilon=0.1`` as ``--epsilon 0.1``, and ``accuracy=`` as ``--accuracy``."""
    return _ARGUMENT.sub(_option, _AMEND.sub("", message))


def _option(found: re.Match[str]) -> str:
    name, value = found[1], found["value"] or ""
    if value.startswith("Unit("):
        return f"--unit {_unit(value)}"
    if name == "budget" and "(" in value:
        return f"--budget {value.partition('(')[2].partition(',')[0].rstrip(')')}"
    if value.startswith("{"):
        pairs = _PAIR.findall(value) or [("COLUMN", "A, B")]
        return " ".join(f"--{name} {of}={_listed(what)}" for of, what in pairs)
    if value.startswith('"'):
        return f"--{name} {value}"
    return f"--{name} {_listed(value.strip('[]'))}".rstrip()


def _unit(value: str) -> str:
    """Write ``Unit('user_id', rows=5)`` as options."""
    column, *bounds = value.removeprefix("Unit(").rstrip(")").split(", ")
    options = [f"--{bound.replace('_', '-').replace('=', ' ')}" for bound in bounds]
    return " ".join([column.strip("'\""), *options])


def _listed(values: str) -> str:
    return ",".join(one.strip().strip("'\"") for one in values.split(","))
