"""Differential privacy: noise → mechanisms → sensitivity → accounting → budget.

The public names are listed here and loaded on first use. Usable alone: ``import sfumato.dp``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "AboveThreshold": "mechanisms.above_threshold",
    "Account": "accounting.accountants",
    "ApproxDP": "guarantees",
    "Ask": "planning",
    "BOUNDED": "neighbours",
    "Calibration": "calibration",
    "Count": "queries.tables",
    "Counts": "queries.grouped",
    "Customer": "neighbours",
    "DegreeCount": "queries.graphs",
    "DiscreteGaussian": "mechanisms.gaussian",
    "DistinctCount": "queries.tables",
    "Edge": "neighbours",
    "EdgeCount": "queries.graphs",
    "Error": "mechanisms.base",
    "Explanation": "explanation",
    "Exponential": "mechanisms.exponential",
    "ExponentialQuantile": "mechanisms.quantiles",
    "GDP": "guarantees",
    "Gaussian": "mechanisms.gaussian",
    "Geometric": "mechanisms.laplace",
    "GridSum": "queries.exact_sum",
    "Group": "neighbours",
    "GroupedSum": "queries.grouped",
    "Guarantee": "guarantees",
    "Histogram": "queries.grouped",
    "Item": "neighbours",
    "ItemCount": "queries.nested",
    "ItemsetSupport": "queries.nested",
    "LabelCount": "queries.nested",
    "Laplace": "mechanisms.laplace",
    "LocalDP": "guarantees",
    "LocalSensitivity": "queries.local",
    "Max": "queries.order",
    "Mean": "queries.tables",
    "Mechanism": "mechanisms.base",
    "Median": "queries.order",
    "Min": "queries.order",
    "Neighbours": "neighbours",
    "Node": "neighbours",
    "Pair": "tradeoff",
    "Part": "accounting.disjoint",
    "PermuteAndFlip": "mechanisms.permute_and_flip",
    "Person": "neighbours",
    "Plan": "planning",
    "Pricing": "mechanisms.pricing",
    "PureDP": "guarantees",
    "Quantile": "queries.order",
    "Query": "queries.base",
    "RDP": "guarantees",
    "RandomizedResponse": "mechanisms.randomized_response",
    "ReportNoisyMax": "mechanisms.noisy_max",
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
    "above_threshold": "mechanisms.releases",
    "account": "accounting.accountants",
    "amplify": "accounting.subsampling",
    "calibrate": "calibration",
    "compose_advanced": "accounting.advanced",
    "compose_parts": "accounting.disjoint",
    "discrete_gaussian": "mechanisms.releases",
    "explain": "explanation",
    "exponential": "mechanisms.releases",
    "gaussian": "mechanisms.releases",
    "geometric": "mechanisms.releases",
    "geometric_pair": "tradeoff",
    "laplace": "mechanisms.releases",
    "local_sensitivity": "queries.local",
    "median": "mechanisms.releases",
    "pair_of": "losses",
    "permute_and_flip": "mechanisms.releases",
    "plan": "planning",
    "price": "mechanisms.releases",
    "quantile": "mechanisms.releases",
    "quantiles": "mechanisms.releases",
    "randomized_response": "mechanisms.releases",
    "report_noisy_max": "mechanisms.releases",
    "sensitivity": "queries.base",
    "top1": "mechanisms.releases",
    "trade_off_of": "tradeoff",
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
