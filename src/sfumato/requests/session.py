"""What can be said about a session: the price of a question, the owner's rules, who asks.

Pieces, of which the requests that ask questions are made. What was registered in the ledger
decides; these state what is new.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.errors import ParameterError
from sfumato.requests.files import CsvFormat
from sfumato.requests.owner import OwnerRules
from sfumato.requests.request import Amount, Request, argument, option, piece

if TYPE_CHECKING:
    from sfumato.dp.neighbours import PrivacyUnit

DataPlace = Annotated[
    str,
    argument(
        metavar="DATA",
        help="CSV or Parquet file, DuckDB file (clinic.duckdb::visits), or "
        "postgresql://host/database?table=visits.",
    ),
]


class AnswerFormat(StrEnum):
    """How an answer is written."""

    table = "table"
    csv = "csv"
    json = "json"


class Price(Request):
    """What an answer may cost, of which one thing is said."""

    epsilon: Annotated[
        Amount | None, option("--epsilon", "-e", help="ε to spend on this question.")
    ] = None
    delta: Annotated[
        Amount | None,
        option("--delta", help="δ to spend, where noise or finding groups needs it."),
    ] = None
    rho: Annotated[
        Amount | None, option("--rho", help="ρ to spend, of a budget in ρ (--budget-rho).")
    ] = None
    accuracy: Annotated[
        float | None,
        option(
            "--accuracy",
            help="Half-width wanted of 95 % intervals; the least ε is found and spent.",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return it as a session takes it."""
        ways = {"epsilon": self.epsilon, "rho": self.rho, "accuracy": self.accuracy}
        said = [f"--{name}" for name, value in ways.items() if value is not None]
        if len(said) > 1:
            raise ParameterError(
                f"Say in one way what the answer may cost: {' and '.join(said)} were given, and "
                "one of --epsilon, --rho and --accuracy is wanted."
            )
        return {**ways, "delta": self.delta}


class UnitWords(Request):
    """Whose presence is hidden, and how much of one person counts."""

    unit: Annotated[
        str | None,
        option("--unit", help="Column that names the person, or 'row'; else as the schema says."),
    ] = None
    rows: Annotated[
        int | None, option("--rows", help="Most rows of one person that count.", ge=1)
    ] = None
    groups: Annotated[
        int | None, option("--groups", help="Most groups one person counts in.", ge=1)
    ] = None
    rows_per_group: Annotated[
        int | None,
        option("--rows-per-group", help="Most rows of one person in each group.", ge=1),
    ] = None

    @property
    def limits(self) -> tuple[int | None, int | None, int | None]:
        """How much of one person counts."""
        return self.rows, self.groups, self.rows_per_group

    def privacy_unit(self, column: str | None) -> PrivacyUnit | str | None:
        """Read whose presence is hidden; `column` names the person where no unit is stated.

        Without limits the stated text, or None, which leaves it to the schema.
        """
        if self.limits == (None, None, None):
            return self.unit or None
        person = self.unit or column
        if person in {None, "", "row"}:
            raise ParameterError(
                "--rows, --groups and --rows-per-group limit what counts of one person; name the "
                "column of the person with --unit COLUMN."
            )
        from sfumato.dp.neighbours import Unit  # noqa: PLC0415 - help stays quick

        assert person is not None
        return Unit(person, *self.limits)


class Asker(Request):
    """Who asks, for what, and which ledger remembers it."""

    analyst: Annotated[
        str | None, option("--analyst", help="Who asks; your login name if absent.")
    ] = None
    purpose: Annotated[
        str | None, option("--purpose", help="For what; the dataset's only one if absent.")
    ] = None
    ledger: Annotated[
        str | None,
        option(
            "--ledger",
            "-L",
            metavar="PLACE",
            help="File of the ledger, or postgresql://…; else $SFUMATO_LEDGER or the file beside "
            "DATA.",
        ),
    ] = None


TIME_ZONE_HELP = "Time zone in which an instant has its day, such as Europe/Vienna; UTC if absent."


class DatasetOpening(Request):
    """What is said about a dataset that is opened: tables, unit, the owner's rules, who asks."""

    schema_file: Annotated[
        Path | None,
        option("--schema", "-s", help="YAML file with types, ranges and lists of values."),
    ] = None
    public: Annotated[
        tuple[str, ...],
        option("--public", metavar="NAME=FILE", help="Public table to join; may be repeated."),
    ] = ()
    private: Annotated[
        tuple[str, ...],
        option(
            "--private",
            metavar="NAME=FILE",
            help="Another table about the same people, with the column of --unit; may be repeated.",
        ),
    ] = ()
    public_types: Annotated[
        tuple[str, ...],
        option(
            "--public-types",
            metavar="COLUMN",
            help="Column of which it may be known what its cells look like, so that its type is "
            "guessed from them; or all; may be repeated.",
        ),
    ] = ()
    time_zone: Annotated[str | None, option("--time-zone", metavar="ZONE", help=TIME_ZONE_HELP)] = (
        None
    )
    unit: UnitWords = piece(UnitWords)
    owner: OwnerRules = piece(OwnerRules)
    block: Annotated[
        tuple[str, ...],
        option(
            "--block",
            metavar="FILE",
            help="Rows added later, with a budget of their own; list all of them in the order in "
            "which they came; for --unit row.",
        ),
    ] = ()
    asker: Asker = piece(Asker)
    csv: CsvFormat = piece(CsvFormat)


class Delivery(Request):
    """How an answer is shown or written."""

    format: Annotated[AnswerFormat, option("--format", "-f", help="How the answer is written.")] = (
        AnswerFormat.table
    )
    output: Annotated[
        Path | None, option("--output", "-o", help="File to write the answer to.")
    ] = None
    picture: Annotated[
        Path | None,
        option("--picture", help="File to draw the answer into: .svg, or .html with its table."),
    ] = None
    force: Annotated[
        bool, option("--force", help="Replace the files of --output and --picture.")
    ] = False
