"""People who do not exist: example data with its schema and hierarchies."""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Example": "hospital",
    "GovernorsCase": "_governor",
    "Shop": "_shop",
    "basket_items": "lecture",
    "baskets": "lecture",
    "cabs": "_cabs",
    "friends": "lecture",
    "governor": "hospital",
    "jobs": "lecture",
    "patients": "hospital",
    "salaries": "lecture",
    "traffic": "_traffic",
    "shop": "_shop",
    "twelve_patients": "lecture",
    "visits": "hospital",
    "votes": "lecture",
    "workclasses": "lecture",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

__getattr__, __dir__ = lazy_names(__name__, _HOME)
