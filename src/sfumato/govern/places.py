"""Where a ledger is kept when nobody says where.

Contract: ``$SFUMATO_LEDGER`` if it is set; else the file ``<data>.ledger.sqlite`` beside a data
file; else, for a table of Postgres, a file of its own in the user's data directory, named after
server, database and table, so that tables of one name do not share an account; and
``sfumato/ledger.sqlite`` there for a source without an address. A data file whose folder cannot be
written has no default: a ledger in every user's home would be a budget for every user.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from sfumato.errors import ParameterError

VARIABLE = "SFUMATO_LEDGER"
SUFFIX = ".ledger.sqlite"
_POSTGRES = ("postgresql://", "postgres://")
_HERE = {"", "localhost", "127.0.0.1", "::1"}
_PORT = "5432"


def default_place(source: str | os.PathLike[str] | None = None) -> str:
    """Give the address of the ledger for some data: a path, an address, or None for neither."""
    stated = os.environ.get(VARIABLE)
    if stated:
        return stated
    if source is None:
        return str(_own() / "ledger.sqlite")
    text = os.fspath(source)
    if text.startswith(_POSTGRES):
        return str(_own() / f"{_key_of(text)}{SUFFIX}")
    return str(_beside(text.partition("::")[0]))


def _beside(source: str) -> Path:
    """Name the file beside the data, which must be writable or such that it can be made."""
    data = Path(source).expanduser().absolute()
    place = data.with_name(data.name + SUFFIX)
    needed = place if place.exists() else data.parent
    if not os.access(needed, os.W_OK):
        raise ParameterError(
            "The ledger, which keeps the budget of all analysts together, lies beside the data, "
            f"and {needed} cannot be written. Ask the owner of the data where the ledger is, and "
            f"name it with --ledger (in Python, ledger=) or ${VARIABLE}."
        )
    return place


def _key_of(address: str) -> str:
    """Name a table of a database, in a word; who asks and with which password is no part of it."""
    parts = urlsplit(address)
    options = {name: values[0] for name, values in parse_qs(parts.query).items()}
    host = (parts.hostname or options.get("host", "")).lower()
    port = str(parts.port or options.get("port", _PORT))
    base = unquote(parts.path).strip("/") or options.get("dbname", "")
    table = options.get("table", "")
    whole = table if "." in table else f"public.{table}"
    where = "\n".join(("localhost" if host in _HERE else host, port, base, whole))
    word = re.sub(r"\W+", "-", table.rpartition(".")[2]).strip("-")[:40]
    return f"{word or 'table'}-{hashlib.sha256(where.encode()).hexdigest()[:16]}"


def _own() -> Path:
    """Give our folder in the user's data directory."""
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "sfumato"
