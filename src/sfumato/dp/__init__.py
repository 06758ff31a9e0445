"""Differential privacy: noise → mechanisms → sensitivity → accounting → budget.

The public names are listed here and loaded on first use. Usable alone: ``import sfumato.dp``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "ApproxDP": "guarantees",
    "BOUNDED": "neighbours",
    "Customer": "neighbours",
    "Edge": "neighbours",
    "GDP": "guarantees",
    "Group": "neighbours",
    "Guarantee": "guarantees",
    "Item": "neighbours",
    "LocalDP": "guarantees",
    "Neighbours": "neighbours",
    "Node": "neighbours",
    "Person": "neighbours",
    "PureDP": "guarantees",
    "RDP": "guarantees",
    "Row": "neighbours",
    "Transaction": "neighbours",
    "Tree": "neighbours",
    "UNBOUNDED": "neighbours",
    "Unit": "neighbours",
    "Vertex": "neighbours",
    "ZCDP": "guarantees",
}
_ROOMS = ("accounting", "guarantees", "mechanisms", "neighbours", "noise", "rounding")

__all__ = [*sorted(_HOME), *_ROOMS]  # noqa: PLE0604 - names of strings, computed


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"sfumato.dp.{name}")
    if name in _HOME:
        value = getattr(import_module(f"sfumato.dp.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sfumato.dp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
