"""A Postgres server: its address, the connection, and what its errors mean.

Contract: nobody's function of the same name runs instead of Postgres' own (the search path has no
other), texts are UTF-8, and numbers and times are written in one way whatever the server's
settings are. No message of the server leaves, as it may quote a cell; no password is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from sfumato.data.engines.errors import nothing_quoted
from sfumato.errors import DataError, MissingExtra, ParameterError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMES = ("postgresql://", "postgres://")

SETTINGS = {
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "datestyle": "ISO",
    "timezone": "UTC",
    "extra_float_digits": "1",
    "jit": "off",  # compiling costs more than most queries
}

_WATCHES = 140_000
"""From this version on the server can look whether its client is still there."""


def is_postgres(source: Any) -> bool:
    """Tell whether a text is the address of a Postgres database."""
    return isinstance(source, str) and source.startswith(SCHEMES)


def connect(url: str, settings: Mapping[str, str]) -> Any:
    """Open a connection in which every statement is a transaction of its own."""
    psycopg = driver()
    options = " ".join(f"-c {name}={value}" for name, value in {**SETTINGS, **settings}.items())
    with nothing_quoted(lambda error: refusal(error, url)):
        connection = psycopg.connect(url, autocommit=True, options=options, client_encoding="utf8")
        encoding = connection.execute("SHOW server_encoding").fetchone()[0]
        end_with_us(connection)
    if encoding != "UTF8":
        raise DataError("The database has another encoding than UTF8; texts would be unclear.")
    return connection


_REFUSALS: Mapping[str, tuple[str, ...]] = {
    "{} does not let this user in: check user and password, and what the server allows.": (
        "password", "authentication", "no pg_hba.conf entry", "28000", "28P01",
    ),
    "{} does not speak TLS, which the address asks for (sslmode): turn it on in the server.": (
        "does not support SSL", "SSL was required",
    ),
    "{} shows a certificate that is not for this name, or that nothing here vouches for: check the "
    "host, sslmode and sslrootcert.": ("certificate", "root.crt"),
    "{} has a machine in it that is not known here: check the name of the host.": (
        "translate host name", "resolve host", "Name or service", "name resolution",
    ),
    "{} is not there: the server has no database of this name.": ("does not exist", "3D000"),
}  # fmt: skip


_NOT_NOW = {
    "{} gives no answer: check that the server runs, its port, and what is in between.": (
        "Connection refused", "No such file", "timeout", "timed out", "unreachable",
    ),
    "{} has no connection left; try again later, or let the server have more.": (
        "too many clients", "remaining connection slots", "53300",
    ),
}  # fmt: skip
"""The same, of servers that may answer later."""


def refusal(error: BaseException, url: str) -> str | DataError | None:
    """Say why a database cannot be opened, in our words: its own may quote the address."""
    if not isinstance(error, driver().Error):
        return None
    server = f"The Postgres database at {shown(url)}"
    told = f"{getattr(error, 'sqlstate', None) or ''} {error}"
    for sentence, words in (_REFUSALS | _NOT_NOW).items():
        if any(word in told for word in words):
            said = sentence.format(server)
            return Unavailable(said) if sentence in _NOT_NOW else said
    return f"{server} cannot be opened; check the address, and that the server runs."


def end_with_us(connection: Any) -> None:
    """Let the server end a statement whose client is gone, instead of finishing it for nobody.

    It is undone in any case, as it is not committed. Postgres can do this from version 14 on.
    """
    if connection.info.server_version >= _WATCHES:
        connection.execute("SET client_connection_check_interval = '1s'")


def driver() -> Any:
    """Return the library that speaks to Postgres."""
    try:
        import psycopg  # noqa: PLC0415 - an optional library
    except ImportError:
        raise MissingExtra("psycopg", "postgres", "Work on a Postgres database") from None
    return psycopg


def split_url(source: str) -> tuple[str, str | None]:
    """Take the table out of an address, and what only questions need (``stream``, ``view``)."""
    parts = urlsplit(source)
    given = parse_qsl(parts.query)
    table = dict(given).get("table")
    ours = {"table", "stream", "view"}
    rest = urlencode([(name, value) for name, value in given if name not in ours])
    return urlunsplit(parts._replace(query=rest)), table


def table_at(source: str) -> tuple[str, str]:
    """Take an address apart into that of the database and the table, which must be named."""
    url, table = split_url(source)
    if not table:
        raise ParameterError(
            "A Postgres source names its table: postgresql://host/database?table=people."
        )
    return url, table


def shown(url: str) -> str:
    """Name the server and database without user and password."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'the local server'}{parts.path}"
