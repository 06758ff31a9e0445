"""Sfumato: release data about people without exposing any of them.

The public names are listed here and loaded on first use, so that ``import sfumato``
costs milliseconds whatever the parts behind it need.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "verify": "audit.verify",
    "read": "data.reading",
    "Table": "data.table",
    "Release": "release",
    "KAnonymity": "anonymize.definitions",
    "Definition": "anonymize.definitions",
    "AddNoise": "anonymize.perturbation",
    "AddSynthetic": "anonymize.perturbation",
    "ApproxDP": "dp.guarantees",
    "BetaLikeness": "anonymize.likeness",
    "BudgetExceeded": "errors",
    "DeltaDisclosure": "anonymize.likeness",
    "DeltaPresence": "anonymize.presence",
    "DistinctLDiversity": "anonymize.diversity",
    "EntropyLDiversity": "anonymize.diversity",
    "GDP": "dp.guarantees",
    "Hierarchy": "data.hierarchy",
    "KMap": "anonymize.presence",
    "LocalDP": "dp.guarantees",
    "Microaggregate": "anonymize.perturbation",
    "Policy": "anonymize.policy",
    "PureDP": "dp.guarantees",
    "RDP": "dp.guarantees",
    "RecursiveLDiversity": "anonymize.diversity",
    "Schema": "data.schema",
    "SfumatoError": "errors",
    "Swap": "anonymize.perturbation",
    "TCloseness": "anonymize.closeness",
    "Unit": "dp.neighbours",
    "ZCDP": "dp.guarantees",
    "inspect": "data.suggest",
    "overlap": "audit.overlap",
    "perturb": "anonymize.perturbation",
    "model_loss": "anonymize.utility",
    "query_error": "anonymize.utility",
}
_ROOMS = ("anonymize", "attack", "audit", "dp", "errors", "examples", "local")

__all__ = ["__version__", *sorted(_HOME), *_ROOMS]  # noqa: PLE0604 - all are strings


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"sfumato.{name}")
    if name in _HOME:
        value = getattr(import_module(f"sfumato.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
