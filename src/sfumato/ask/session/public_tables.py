"""The public tables of a dataset: which there are, and that they stay what they were.

Contract: public tables are registered with the dataset, by name, kinds of columns and a keyed
fingerprint of their rows. A later session may leave them out or name the same ones. Another name,
other kinds or other rows are refused until the owner amends the registration, so that an analyst
cannot bring a table of her own: one that held private rows would be joined for nothing, and every
row of the dataset joined to the row of her victim.

Private rows as a public table are refused: by place always, also those of another dataset that is
known to the ledger or has one beside it, and by content when the owner registers them. Content is
not compared later, or a session would tell whether the rows are those of a table.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.ask.engines.base import public_parts
from sfumato.ask.session.keys import key_fingerprint
from sfumato.ask.session.owner_rules import kinds_of
from sfumato.data.tables.table import Table
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.places import SUFFIX
from sfumato.message import Message, Ways

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sfumato.ask.engines.base import Engine
    from sfumato.ask.session.sources import Source
    from sfumato.govern.ledger.ledger import Ledger
    from sfumato.govern.ledger.registrations import Registration


def public_tables(engines: Iterable[Engine], salt: bytes) -> dict[str, Any]:
    """Describe the public tables as they are registered; every block has the same."""
    found = [_described(engine, salt) for engine in engines]
    if any(described != found[0] for described in found):
        raise ParameterError("Every block of a dataset is asked with the same public tables.")
    return found[0]


def _described(engine: Engine, salt: bytes) -> dict[str, Any]:
    tables = [table for table in engine.tables() if not table.private]
    parts = _checked(engine, public_parts(engine)) if tables else [""]
    return {
        table.name: {"kinds": kinds_of(table), "fingerprint": key_fingerprint(salt, part)}
        for table, part in zip(tables, parts[1:], strict=True)
    }


def _checked(engine: Engine, parts: list[str]) -> list[str]:
    """Check the parts of a fingerprint: all private rows, and each public table."""
    if len(parts) != 1 + sum(not table.private for table in engine.tables()):
        raise ParameterError(
            "The fingerprint of an engine has one part about its private tables and, each after a "
            "full stop, one about every public table; that of the engine given has others."
        )
    return parts


def check_public(found: Mapping[str, Any], known: Registration) -> dict[str, Any]:
    """Refuse tables that are not registered just so; give those that wait for their rows."""
    for name, table in found.items():
        amend = Ways(f"Ledger.amend({known.dataset!r}, public=[{name!r}])", "sfumato ledger amend")
        if name not in known.public:
            raise GovernanceError(
                Message(
                    "The table {!r} is not registered as public in the dataset {!r}. Its owner "
                    "allows it by {}; the next session that names it registers its rows.",
                    name,
                    known.dataset,
                    amend,
                )
            )
        if known.public[name] not in (None, table):
            raise GovernanceError(
                Message(
                    "The public table {!r} of the dataset {!r} has other columns or rows than "
                    "registered. If its owner changed it, {} lets the next session that names it "
                    "register it again.",
                    name,
                    known.dataset,
                    amend,
                )
            )
    return {name: table for name, table in found.items() if known.public[name] is None}


def check_rows(engines: Iterable[Engine], names: Iterable[str]) -> None:
    """Refuse public tables, about to be registered, that hold the rows of a private one."""
    wanted = set(names)
    for engine in engines:
        private, *public = _checked(engine, engine.fingerprint().split("."))
        tables = [table.name for table in engine.tables() if not table.private]
        for name, part in zip(tables, public, strict=True):
            if name in wanted and part in private.split("-"):
                raise _refused(name)


def check_places(sources: Iterable[Source], given: Mapping[str, Any], ledger: Ledger) -> None:
    """Refuse a public table that is read from where private rows are."""
    read = list(sources)
    databases = {source.kind for source in read} == {"postgres"}
    place: Callable[[Any], Path | str | None] = _relation if databases else _file
    private = [source.given for source in read] + [
        _source(rows) for rows in given["private"].values()
    ]
    places = {place(rows) for rows in private} - {None}
    for name, table in given["public"].items():
        found = place(table)
        if found in places or any(table is rows for rows in private):
            raise _refused(name)
        if found is not None and _has_budget(found, ledger):
            raise GovernanceError(
                f"The table {name!r} is given as public and is a dataset with a budget of its own; "
                "what is joined as public is not protected."
            )


def _has_budget(place: Path | str, ledger: Ledger) -> bool:
    """Tell whether a ledger knows a file or a table of a database as private."""
    if isinstance(place, Path):
        return place.with_name(place.name + SUFFIX).exists()
    return ledger.registration(place.rpartition(".")[2]) is not None


def _refused(name: str) -> GovernanceError:
    return GovernanceError(
        f"The table {name!r} is given as public and holds the rows of a private table of the "
        "dataset; what is joined as public is not protected."
    )


def _source(given: Any) -> Any:
    return given[0] if isinstance(given, tuple) else given  # with the column that names the person


def _file(given: Any) -> Path | None:
    if isinstance(given, Table):
        given = given.source if given.kind in {"csv", "parquet"} else None
    if not isinstance(given, (str, Path)):
        return None
    return Path(str(given).partition("::")[0]).resolve()


def _relation(given: Any) -> str:
    from sfumato.data.engines.postgres_server import split_url  # noqa: PLC0415 - an extra

    name = str(given)
    if "://" in name:
        name = split_url(name)[1] or ""
    return name if "." in name else f"public.{name}"
