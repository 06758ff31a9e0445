"""Where a ledger is kept when nobody says where.

Contract: ``$SFUMATO_LEDGER`` if it is set; else the file ``<data>.ledger.sqlite`` beside a data
file, whichever link leads to it; else the ledger in the database of a table of Postgres, if there
is one. What several users can reach and no ledger is found for has no default, because a ledger in
every user's home would be a budget for every user: a table of Postgres or Spark, a data file whose
folder cannot be written, and one that has several names (hard links) and no ledger beside this
one. Their owner names the ledger once. Without any data it is that of the user.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from sfumato.errors import GovernanceError, ParameterError

VARIABLE = "SFUMATO_LEDGER"
SUFFIX = ".ledger.sqlite"
_POSTGRES = ("postgresql://", "postgres://")
_HERE = {"", "localhost", "127.0.0.1", "::1"}
_PORT = "5432"
_SHARED = (
    "Several users may reach {what}, and its budget is one for all of them, so its ledger must be "
    "one that they share: its owner names it once, with --ledger (in Python, ledger=), as in "
    f"{{example}}; or set ${VARIABLE}. A ledger in the database of a table is found by itself then."
)


def default_place(source: str | os.PathLike[str] | None = None, *, shared: bool = False) -> str:
    """Give the address of the ledger for some data: a path, an address, or None for neither.

    ``shared`` says that others reach the data, too, so that a ledger of this user alone will not
    do.
    """
    stated = os.environ.get(VARIABLE)
    if stated:
        return stated
    if source is None and shared:
        example = "postgresql://host/ledgers or sfumato.Ledger(None), if nobody else reaches it"
        raise ParameterError(_SHARED.format(what="a table of Spark", example=example))
    if source is None:
        return str(_own() / "ledger.sqlite")
    text = os.fspath(source)
    if text.startswith(_POSTGRES):
        return _in_database(text)
    return str(_beside(text.partition("::")[0]))


def _in_database(address: str) -> str:
    """Find the ledger in the database of a table; one of this user alone would be no limit."""
    from sfumato.govern.ledger.ledger import Ledger  # noqa: PLC0415 - loaded when used

    database = urlsplit(address)
    options = [(k, v) for k, v in parse_qsl(database.query) if k not in {"table", "stream"}]
    place = urlunsplit(database._replace(query=urlencode(options)))
    shown = urlunsplit(database._replace(query="", netloc=database.netloc.rpartition("@")[2]))
    before = _own() / f"{_key_of(address)}{SUFFIX}"
    if before.exists():
        raise ParameterError(
            f"Up to now the budget of this table was kept for you alone, in {before}. Others who "
            f"reach the table had budgets of their own. Go on with that one by --ledger {before} "
            f"(in Python, ledger=), or let its owner name one for all, such as {shown}."
        )
    try:
        Ledger(place, create=False).close()
    except (ParameterError, GovernanceError):
        raise ParameterError(_SHARED.format(what="a table of Postgres", example=shown)) from None
    return place


def _beside(source: str) -> Path:
    """Name the file beside the data, which must be writable or such that it can be made."""
    data = Path(source).expanduser().resolve()
    place = data.with_name(data.name + SUFFIX)
    if not place.exists() and data.is_file() and data.stat().st_nlink > 1:
        raise ParameterError(
            f"{data} has several names (hard links), and no ledger lies beside this one: the "
            "budget of its rows may be kept beside another. Name the ledger with --ledger (in "
            f"Python, ledger=) or ${VARIABLE}."
        )
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
    """Give our folder where this system keeps data of its users."""
    from platformdirs import user_data_path  # noqa: PLC0415 - only without data of its own

    return user_data_path("sfumato", appauthor=False)
