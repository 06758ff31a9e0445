"""Checks that trust nobody: releases from their files alone, functions from their outputs alone.

Audit knows releases and functions, never the algorithm behind them. The names are loaded on
first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Overlap": "overlap",
    "Precheck": "prechecking",
    "Risk": "risk",
    "Verdict": "claims.verdict",
    "Verification": "verify",
    "Witness": "claims.verdict",
    "check": "claims.checking",
    "epsilon_lower_bound": "claims.from_outputs",
    "population_uniques": "uniqueness",
    "precheck": "prechecking",
    "reidentification_risk": "risk",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"sfumato.audit.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sfumato.audit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
