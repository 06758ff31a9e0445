"""Options of the commands that ask questions, and the session they open.

What was registered in the ledger decides; options state what is new. Everything that can be refused
is refused before a question is asked, because an answer that cannot be shown is paid for all the
same.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.login import login
from sfumato.cli.options.owner import OwnerWords
from sfumato.cli.options.texts import float_of, pairs_of
from sfumato.cli.terminal import note
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sfumato.ask.session.session import Session
    from sfumato.ask.session.sources import Source
    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.govern.ledger.registrations import Registration


class Format(StrEnum):
    """How an answer is written."""

    table = "table"
    csv = "csv"
    json = "json"


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV or Parquet file, DuckDB file (clinic.duckdb::visits), or "
        "postgresql://host/database?table=visits.",
    ),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option("--schema", "-s", help="YAML file with types, ranges and lists of values."),
]
EpsilonOption = Annotated[
    str | None, typer.Option("--epsilon", "-e", help="ε to spend on this question.")
]
DeltaOption = Annotated[
    str | None, typer.Option("--delta", help="δ to spend, where noise or finding groups needs it.")
]
RhoOption = Annotated[
    str | None, typer.Option("--rho", help="ρ to spend, of a budget in ρ (--budget-rho).")
]
AccuracyOption = Annotated[
    float | None,
    typer.Option(
        "--accuracy", help="Half-width wanted of 95 % intervals; the least ε is found and spent."
    ),
]
UnitOption = Annotated[
    str | None,
    typer.Option("--unit", help="Column that names the person, or 'row'; else as the schema says."),
]
RowsOption = Annotated[
    int | None, typer.Option("--rows", min=1, help="Most rows of one person that count.")
]
GroupsOption = Annotated[
    int | None, typer.Option("--groups", min=1, help="Most groups one person counts in.")
]
RowsPerGroupOption = Annotated[
    int | None,
    typer.Option("--rows-per-group", min=1, help="Most rows of one person in each group."),
]
AnalystOption = Annotated[
    str | None, typer.Option("--analyst", help="Who asks; your login name if absent.")
]
PurposeOption = Annotated[
    str | None, typer.Option("--purpose", help="For what; the dataset's only one if absent.")
]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        "-L",
        metavar="PLACE",
        help="File of the ledger, or postgresql://…; else $SFUMATO_LEDGER or the file beside DATA.",
    ),
]
BoundsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bounds", metavar="COLUMN=LOW,HIGH", help="Clamp a column's values; may be repeated."
    ),
]
PublicOption = Annotated[
    list[str] | None,
    typer.Option("--public", metavar="NAME=FILE", help="Public table to join; may be repeated."),
]
PrivateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--private",
        metavar="NAME=FILE",
        help="Another table about the same people, with the column of --unit; may be repeated.",
    ),
]
BlockOption = Annotated[
    list[str] | None,
    typer.Option(
        "--block",
        metavar="FILE",
        help="Rows added later, with a budget of their own; list all of them in the order in which "
        "they came; for --unit row.",
    ),
]
BlocksOption = Annotated[
    str | None,
    typer.Option(
        "--blocks",
        metavar="1,3",
        help="Which blocks are asked, by number: DATA is 1, the first --block 2; all if absent.",
    ),
]
EstimateOption = Annotated[
    bool, typer.Option("--estimate", help="Tell cost and error only; nothing is spent.")
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How the answer is written.")]
PICTURES = (".svg", ".html")
PictureOption = Annotated[
    Path | None,
    typer.Option("--picture", help="File to draw the answer into: .svg, or .html with its table."),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write the answer to.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace the files of --output and --picture.")
]


@dataclass(frozen=True)
class Opening:
    """What the options say about the dataset, its owner's rules and who asks."""

    data: str
    schema: Path | None = None
    owner: OwnerWords = field(default_factory=OwnerWords)
    unit: str | None = None
    rows: int | None = None
    groups: int | None = None
    rows_per_group: int | None = None
    analyst: str | None = None
    purpose: str | None = None
    ledger: str | None = None
    public: Sequence[str] | None = None
    private: Sequence[str] | None = None
    added: Sequence[str] | None = None
    delimiter: str | None = None
    encoding: str | None = None

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Open the session, and close it with its ledger."""
        from sfumato.ask.session.session import Session  # noqa: PLC0415 - heavy
        from sfumato.ask.session.sources import source_of  # noqa: PLC0415 - the same
        from sfumato.govern.ledger.tentative import TentativeLedger  # noqa: PLC0415 - the same
        from sfumato.govern.places import default_place  # noqa: PLC0415 - the same

        public = named_files("--public", self.public)
        private = named_files("--private", self.private)
        places = [self.data, *(self.added or ())]
        written = {"delimiter": self.delimiter, "encoding": self.encoding}
        sources = [source_of(place, schema=self.schema, **written) for place in places]
        source = sources[0]
        place = self.ledger or default_place(source.place)
        with TentativeLedger.before(place, source.name) as ledger:
            known = ledger.registration(source.name)
            # files have been read, and need not be read again
            read = all(hasattr(one.given, "known_schema") for one in sources)
            given: list[Any] = [one.given for one in sources] if read else list(places)
            with Session(
                given if len(given) > 1 else given[0],
                schema=None if read else source.schema,
                name=source.name,
                unit=self._unit(source, known),
                limits=self.owner.limits(None if known is None else known.limits),
                policy=self.owner.chosen_policy(),
                analyst=self.analyst or login(),
                purpose=self.purpose,
                ledger=ledger,
                public=public,
                private=private,
            ) as session:
                is_new = ledger.is_new
                yield session
                if is_new and not ledger.pending:
                    note(f"the budget of {source.name} is kept in {ledger.place}, for all who ask")

    def _unit(self, source: Source, known: Registration | None) -> PrivacyUnit | str | None:
        from sfumato.dp.neighbours import Unit  # noqa: PLC0415 - heavy

        limits = (self.rows, self.groups, self.rows_per_group)
        if limits == (None, None, None):
            if self.unit is None and source.unit is None and known is None:
                raise ParameterError(
                    "Say whose presence is hidden: --unit row if every row is another person, or "
                    "--unit COLUMN --rows 5 with the column that names the person."
                )
            return self.unit
        registered = None if known is None else known.rules["unit"]
        column = self.unit or (registered["name"] if isinstance(registered, dict) else source.unit)
        if column in {None, "row"} or (column == "person" and self.unit is None):
            raise ParameterError(
                "--rows, --groups and --rows-per-group limit what counts of one person; name the "
                "column of the person with --unit COLUMN."
            )
        assert column is not None
        return Unit(column, *limits)


def bounds_of(given: Sequence[str] | None) -> dict[str, tuple[str, str]]:
    """Read --bounds COLUMN=LOW,HIGH."""
    from sfumato.ask.language.days import Day  # noqa: PLC0415 - help stays quick

    form = "COLUMN=LOW,HIGH, as in --bounds salary=0,200000"
    found: dict[str, tuple[str, str]] = {}
    for name, value in pairs_of("--bounds", given, form).items():
        ends = [end.strip() for end in value.split(",")]
        if len(ends) != 2:
            raise ParameterError(f"--bounds wants {form}, and {value!r} was given.")
        for end in ends:
            if Day.read(end) is None:
                float_of("--bounds", end)
        found[name] = (ends[0], ends[1])
    return found


def blocks_of(given: str | None) -> list[str] | None:
    """Read --blocks 1,3; the first block is that of DATA."""
    if given is None:
        return None
    numbers = [one.strip() for one in given.split(",")]
    if not all(one.isdecimal() and int(one) > 0 for one in numbers):
        raise ParameterError(
            f"--blocks wants numbers, as in --blocks 1,3, and {given!r} was given."
        )
    return ["main" if int(one) == 1 else f"block {int(one)}" for one in numbers]


def named_files(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Read NAME=FILE, of files that exist."""
    found = pairs_of(option, given, f"NAME=FILE, as in {option} areas=areas.csv")
    for path in found.values():
        if not Path(path).is_file():
            raise ParameterError(f"{option}: {path} is not a file.")
    return found


def price_of(**given: Any) -> dict[str, Any]:
    """Read what the question may cost, of which one thing is said."""
    said = [f"--{name}" for name, value in given.items() if value is not None and name != "delta"]
    if len(said) > 1:
        raise ParameterError(
            f"Say in one way what the answer may cost: {' and '.join(said)} were given, and one of "
            "--epsilon, --rho and --accuracy is wanted."
        )
    return given


def who_asks(session: Session) -> dict[str, Any]:
    """Tell who asks what dataset for what, beside an answer."""
    return {"dataset": session.dataset, "analyst": session.analyst, "purpose": session.purpose}


def check_files(*, force: bool, **files: Path | None) -> None:
    """Refuse files that cannot be written, before anything is paid for."""
    import tempfile  # noqa: PLC0415 - used by one function

    from sfumato.data.atomic import refuse_existing  # noqa: PLC0415 - help stays quick

    for option, path in files.items():
        if path is None:
            continue
        if not path.parent.is_dir() or path.is_dir():
            raise ParameterError(f"--{option}: {path} is not a file in a folder that exists.")
        if option == "picture" and path.suffix.lower() not in PICTURES:
            raise ParameterError(
                f"--picture draws into a file that ends in {' or '.join(PICTURES)}, and {path} was "
                "named."
            )
        if not force:
            refuse_existing(path, "--force")
        try:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise ParameterError(
                f"--{option}: {path} cannot be written ({error.strerror}); choose a folder that "
                "may be written to. Nothing was asked."
            ) from None
