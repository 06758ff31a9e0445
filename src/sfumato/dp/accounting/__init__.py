"""What several releases promise together, and what one promise says in other words.

``composition`` adds guarantees up, ``disjoint`` proves that releases read disjoint parts,
``restating`` carries a guarantee to groups and other neighbours, ``conversions`` between kinds,
``advanced`` and ``subsampling`` hold the tighter theorems, and ``accountants`` compares them all,
the numerical ones of Google's dp-accounting included.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Account": "accountants",
    "Part": "disjoint",
    "Step": "steps",
    "account": "accountants",
    "amplify": "subsampling",
    "compose": "composition",
    "compose_advanced": "advanced",
    "compose_parts": "disjoint",
    "convert": "conversions",
    "group": "restating",
    "implies": "conversions",
    "parallel": "composition",
    "remaining": "composition",
    "restate": "restating",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of strings, computed


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"sfumato.dp.accounting.{_HOME[name]}"), name)
    raise AttributeError(f"module 'sfumato.dp.accounting' has no attribute {name!r}")
