"""Differential privacy: noise → mechanisms → sensitivity → accounting → budget.

The public names are listed here and loaded on first use. Usable alone: ``import sfumato.dp``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Account": "accounting.accountants",
    "ApproxDP": "guarantees",
    "BOUNDED": "neighbours",
    "Count": "queries.tables",
    "Counts": "queries.grouped",
    "Customer": "neighbours",
    "DegreeCount": "queries.graphs",
    "DistinctCount": "queries.tables",
    "Edge": "neighbours",
    "EdgeCount": "queries.graphs",
    "GDP": "guarantees",
    "GridSum": "queries.exact_sum",
    "Group": "neighbours",
    "GroupedSum": "queries.grouped",
    "Guarantee": "guarantees",
    "Histogram": "queries.grouped",
    "Item": "neighbours",
    "ItemCount": "queries.nested",
    "ItemsetSupport": "queries.nested",
    "LabelCount": "queries.nested",
    "LocalDP": "guarantees",
    "LocalSensitivity": "queries.local",
    "Max": "queries.order",
    "Mean": "queries.tables",
    "Median": "queries.order",
    "Min": "queries.order",
    "Neighbours": "neighbours",
    "Node": "neighbours",
    "Part": "accounting.disjoint",
    "Person": "neighbours",
    "PureDP": "guarantees",
    "Quantile": "queries.order",
    "Query": "queries.base",
    "RDP": "guarantees",
    "Row": "neighbours",
    "Sensitivity": "queries.base",
    "Several": "queries.grouped",
    "Step": "accounting.steps",
    "Sum": "queries.tables",
    "Transaction": "neighbours",
    "Tree": "neighbours",
    "TreeCount": "queries.nested",
    "TriangleCount": "queries.graphs",
    "UNBOUNDED": "neighbours",
    "Unit": "neighbours",
    "Variance": "queries.tables",
    "VectorMean": "queries.grouped",
    "VectorSum": "queries.grouped",
    "Vertex": "neighbours",
    "ZCDP": "guarantees",
    "account": "accounting.accountants",
    "amplify": "accounting.subsampling",
    "compose_advanced": "accounting.advanced",
    "compose_parts": "accounting.disjoint",
    "local_sensitivity": "queries.local",
    "sensitivity": "queries.base",
}
_ROOMS = ("accounting", "guarantees", "mechanisms", "neighbours", "noise", "queries", "rounding")

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
