"""The office behind a ledger: who may come in, what is held, what is under way, who asked for what.

Everything here lives in the database of the ledger, beside the chain and never in it: names,
passwords and requests of people can be erased, and no hash breaks. The public names are listed
here and loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.govern.office.office import Office as Office
    from sfumato.govern.office.people import Person as Person

_HOME = {"Office": "office", "Person": "people"}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)
