"""The session that a command which asks questions opens, and the files it writes.

Everything that can be refused is refused before a question is asked, because an answer that cannot
be shown is paid for all the same.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.display.terminal import note
from sfumato.cli.options.login import login
from sfumato.errors import OutputError, ParameterError
from sfumato.requests.texts import pairs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sfumato.ask.session.session import Session
    from sfumato.ask.session.sources import Source
    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.govern.ledger.registrations import Registration
    from sfumato.requests.session import DatasetOpening, Delivery, UnitWords

PICTURES = (".svg", ".html")


@contextmanager
def open_session(data: str, opening: DatasetOpening) -> Iterator[Session]:
    """Open the session of a dataset, and close it with its ledger."""
    from sfumato.ask.session.session import Session  # noqa: PLC0415 - heavy
    from sfumato.ask.session.sources import source_of  # noqa: PLC0415 - the same
    from sfumato.govern.ledger.tentative import TentativeLedger  # noqa: PLC0415 - the same
    from sfumato.govern.places import default_place  # noqa: PLC0415 - the same

    public = named_files("--public", opening.public)
    private = named_files("--private", opening.private)
    places, asker, owner = [data, *opening.block], opening.asker, opening.owner
    written = {"delimiter": opening.csv.delimiter, "encoding": opening.csv.encoding}
    sources = [source_of(place, schema=opening.schema_file, **written) for place in places]
    source = sources[0]
    with TentativeLedger.before(asker.ledger or default_place(source.place), source.name) as ledger:
        known = ledger.registration(source.name)
        # files have been read, and need not be read again
        read = all(hasattr(found.given, "known_schema") for found in sources)
        given: list[Any] = [found.given for found in sources] if read else list(places)
        with Session(
            given if len(given) > 1 else given[0],
            schema=None if read else source.schema,
            name=source.name,
            unit=_unit(opening.unit, source, known),
            limits=owner.limits(None if known is None else known.limits),
            policy=owner.chosen_policy(),
            analyst=asker.analyst or login(),
            purpose=asker.purpose,
            ledger=ledger,
            public=public,
            private=private,
            time_zone=opening.time_zone,
            public_types="all" in opening.public_types or opening.public_types,
        ) as session:
            is_new = ledger.is_new
            yield session
            if is_new and not ledger.pending:
                note(f"the budget of {source.name} is kept in {ledger.place}, for all who ask")


def _unit(words: UnitWords, source: Source, known: Registration | None) -> PrivacyUnit | str | None:
    unlimited = words.limits == (None, None, None)
    if unlimited and words.unit is None and source.unit is None and known is None:
        raise ParameterError(
            "Say whose presence is hidden: --unit row if every row is another person, or "
            "--unit COLUMN --rows 5 with the column that names the person."
        )
    registered = None if known is None else known.rules["unit"]
    column = registered["name"] if isinstance(registered, dict) else source.unit
    return words.privacy_unit(column)


def block_names(numbers: Sequence[int] | None) -> list[str] | None:
    """Return what the ledger calls blocks; the first is that of DATA."""
    if numbers is None:
        return None
    return ["main" if number == 1 else f"block {number}" for number in numbers]


def named_files(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Read NAME=FILE, of files that exist."""
    found = pairs_of(option, given, f"NAME=FILE, as in {option} areas=areas.csv")
    for path in found.values():
        if not Path(path).is_file():
            raise ParameterError(f"{option}: {path} is not a file.")
    return found


def who_asks(session: Session) -> dict[str, Any]:
    """Tell who asks what dataset for what, beside an answer."""
    return {"dataset": session.dataset, "analyst": session.analyst, "purpose": session.purpose}


def check_files(delivery: Delivery) -> None:
    """Refuse files that cannot be written, before anything is paid for."""
    import tempfile  # noqa: PLC0415 - used by one function

    from sfumato.data.atomic import refuse_existing  # noqa: PLC0415 - help stays quick

    for option, path in (("output", delivery.output), ("picture", delivery.picture)):
        if path is None:
            continue
        if not path.parent.is_dir() or path.is_dir():
            raise ParameterError(f"--{option}: {path} is not a file in a folder that exists.")
        if option == "picture" and path.suffix.lower() not in PICTURES:
            raise ParameterError(
                f"--picture draws into a file that ends in {' or '.join(PICTURES)}, and {path} was "
                "named."
            )
        if not delivery.force:
            refuse_existing(path, "--force")
        try:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise OutputError(
                f"--{option}: {path} cannot be written ({error.strerror}); choose a folder that "
                "may be written to. Nothing was asked."
            ) from None
