"""People who do not exist: example data with its schema and hierarchies."""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Example": "hospital",
    "GovernorsCase": "_governor",
    "cabs": "_cabs",
    "governor": "hospital",
    "patients": "hospital",
    "visits": "hospital",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

__getattr__, __dir__ = lazy_names(__name__, _HOME)
