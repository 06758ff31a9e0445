"""Attacks: what an adversary learns from a release or from answers, one module per adversary.

An attack sees what the adversary would see: a released file, its schema and background
knowledge, or a query function that answers. It never sees the algorithm. It returns an
`Outcome` with `Finding`s; sensitive values stay hidden unless somebody asks to reveal them.
The names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Condition": "differencing",
    "Finding": "finding",
    "Linkage": "linkage",
    "Outcome": "finding",
    "Reconstruction": "reconstruction",
    "attribute_from_answers": "answers",
    "attribute_inference": "inference",
    "background_knowledge": "background",
    "composition": "composition",
    "de_finetti": "definetti",
    "differencing": "differencing",
    "homogeneity": "homogeneity",
    "linkage": "linkage",
    "membership": "membership",
    "membership_from_answers": "answers",
    "minimality": "minimality",
    "probabilistic_inference": "probabilistic",
    "reconstruct": "reconstruction",
    "reconstruction": "reconstruction",
    "reconstruction_curves": "reconstruction",
    "similarity": "similarity",
    "skewness": "skewness",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"sfumato.attack.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sfumato.attack' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
