"""The office behind a ledger: who may come in, what is held, what is under way, who asked for what.

Everything here lives in the database of the ledger, beside the chain and never in it: names,
passwords and requests of people can be erased, and no hash breaks. The public names are listed
here and loaded on first use.
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {"Office": "office", "Person": "people"}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

__getattr__, __dir__ = lazy_names(__name__, _HOME)
