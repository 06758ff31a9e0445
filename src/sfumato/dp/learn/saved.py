"""Fitted models as plain JSON and back: nothing is run when a model is read.

Contract: ``model_from_json(model_to_json(model))`` predicts as ``model`` does, to the last bit, and
carries its guarantee. Everything in the text was published by the fit or is public: parameters,
declarations, what was learnt. A pickle may run code of whoever wrote it; this text cannot.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.guarantee_json import guarantee_from_json, guarantee_to_json
from sfumato.dp.learn.features import Category, Number
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.dp.learn.estimator import PrivateEstimator
    from sfumato.dp.learn.features import Column

FORMAT = "sfumato model 1"
KINDS = {
    "AdditiveClassifier": "additive",
    "AdditiveRegressor": "additive",
    "LinearRegression": "linear",
    "LogisticRegression": "logistic",
    "NaiveBayes": "naive_bayes",
    "PCA": "pca",
}
"""Models that are written and read, and the module of each."""

_DECLARED = ("bounds", "domain", "classes", "neighbours", "epsilon", "delta")


def kind_of(name: str) -> type[PrivateEstimator]:
    """Find the class of a kind of model."""
    if name not in KINDS:
        raise ParameterError(f"A model is one of {', '.join(KINDS)}, not {name!r}.")
    module = import_module(f"sfumato.dp.learn.{KINDS[name]}")
    found: type[PrivateEstimator] = getattr(module, name)
    return found


def model_to_json(model: PrivateEstimator) -> dict[str, Any]:
    """Write a fitted model."""
    kind_of(type(model).__name__)
    if not hasattr(model, "guarantee_"):
        raise ParameterError("This model has learnt nothing yet; call fit first.")
    options = {n: _plain(v) for n, v in model.get_params().items() if n not in _DECLARED}
    classes = getattr(model, "classes_", None)
    return {
        "format": FORMAT,
        "kind": type(model).__name__,
        "guarantee": guarantee_to_json(model.guarantee_),
        "columns": [column_to_json(column) for column in model.columns_],
        "classes": None if classes is None else _plain(classes),
        "options": options,
        "learnt": {name: _plain(value) for name, value in model.learnt().items()},
    }


def model_from_json(whole: Mapping[str, Any]) -> PrivateEstimator:
    """Read what :func:`model_to_json` wrote."""
    try:
        model = _read(whole) if whole["format"] == FORMAT else None
    except (KeyError, TypeError, ValueError, AttributeError):
        model = None
    if model is None:
        raise DataError("This is not a model that was written by Sfumato.")
    return model


def _read(whole: Mapping[str, Any]) -> PrivateEstimator:
    kind = kind_of(whole["kind"])
    columns = [column_from_json(entry) for entry in whole["columns"]]
    promise: Any = guarantee_from_json(whole["guarantee"])
    options = dict(whole["options"])
    if options.get("target") is not None:
        options["target"] = tuple(options["target"])
    if whole["classes"] is not None:
        options["classes"] = list(whole["classes"])
    model = kind(
        epsilon=promise.epsilon, delta=getattr(promise, "delta", None),
        neighbours=promise.neighbours, **_declarations(kind, columns), **options,
    )  # fmt: skip
    model.columns_ = tuple(columns)
    model.n_features_in_ = len(columns)
    if all(isinstance(column.name, str) for column in columns):
        model.feature_names_in_ = np.array([c.name for c in columns], dtype=object)
    if whole["classes"] is not None:
        model.classes_ = np.array(whole["classes"])
    model.learn_again({name: _array(value) for name, value in whole["learnt"].items()})
    model.guarantee_ = promise
    return model


def column_to_json(column: Column) -> dict[str, Any]:
    """Write what was declared of a column."""
    if isinstance(column, Category):
        return {"name": column.name, "values": list(column.values)}
    return {"name": column.name, "bounds": [column.low, column.high], "whole": column.whole}


def column_from_json(entry: Mapping[str, Any]) -> Column:
    """Read what was declared of a column."""
    if "values" in entry:
        return Category(entry["name"], tuple(entry["values"]))
    low, high = entry["bounds"]
    return Number(entry["name"], float(low), float(high), bool(entry["whole"]))


def _declarations(kind: Any, columns: list[Column]) -> dict[str, Any]:
    """Give declarations as parameters state them."""
    bounds = {
        c.name: range(int(c.low), int(c.high) + 1) if c.whole else (c.low, c.high)
        for c in columns
        if isinstance(c, Number)
    }
    domain = {c.name: list(c.values) for c in columns if isinstance(c, Category)}
    return {"bounds": bounds or None} | (
        {} if kind.__name__ == "PCA" else {"domain": domain or None}
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value


def _array(value: Any) -> Any:
    return np.array(value) if isinstance(value, list) else value
