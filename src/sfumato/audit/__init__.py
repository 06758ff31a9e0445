"""Checks that trust nobody: releases from their files alone, functions from their outputs alone.

Audit knows releases and functions, never the algorithm behind them. The names are loaded on
first use.
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Overlap": "overlap",
    "Precheck": "sfumato.attack.prechecks",
    "Risk": "risk",
    "TrainingVerdict": "one_run",
    "Verdict": "claims.verdict",
    "Verification": "verification.verify",
    "Witness": "claims.verdict",
    "check": "claims.check",
    "epsilon_lower_bound": "claims.from_outputs",
    "population_uniques": "uniqueness",
    "precheck": "sfumato.attack.prechecks",
    "reidentification_risk": "risk",
    "training": "one_run",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above

__getattr__, __dir__ = lazy_names(__name__, _HOME)
