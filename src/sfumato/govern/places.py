"""Where a ledger is kept when nobody says where.

Contract: ``$SFUMATO_LEDGER`` if it is set; else the file ``<data>.ledger.sqlite`` beside the data,
if there is a data file and its folder can be written (or holds that file already); else
``sfumato/ledger.sqlite`` in the user's data directory.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "SFUMATO_LEDGER"
SUFFIX = ".ledger.sqlite"


def default_place(source: str | os.PathLike[str] | None = None) -> str:
    """Give the address of the ledger for some data, a path or None for data without a file."""
    stated = os.environ.get(VARIABLE)
    if stated:
        return stated
    beside = _beside(source)
    return str(beside if beside is not None else _own() / "sfumato" / "ledger.sqlite")


def _beside(source: str | os.PathLike[str] | None) -> Path | None:
    if source is None or "://" in os.fspath(source):
        return None
    data = Path(source).expanduser().absolute()
    place = data.with_name(data.name + SUFFIX)
    if place.exists():
        return place if os.access(place, os.W_OK) else None
    return place if data.parent.is_dir() and os.access(data.parent, os.W_OK) else None


def _own() -> Path:
    home = os.environ.get("XDG_DATA_HOME")
    return Path(home) if home else Path.home() / ".local" / "share"
