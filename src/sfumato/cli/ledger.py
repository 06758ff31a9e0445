"""`sfumato ledger`: what was asked and spent, whether the record is sound, and a copy of it."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import QuietOption
from sfumato.cli.terminal import note, out, show_table

if TYPE_CHECKING:
    from sfumato.govern.chain import Entry
    from sfumato.govern.ledger import Ledger
    from sfumato.govern.remaining import Account

app = typer.Typer(
    name="ledger",
    help="Show, verify and export the ledger: who asked what, for what purpose, at what cost.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        "-L",
        metavar="PLACE",
        help="File of the ledger, or postgresql://…; else $SFUMATO_LEDGER, the file beside --data, "
        "or the one in your data directory.",
    ),
]
DataOption = Annotated[
    Path | None, typer.Option("--data", "-d", help="Data file whose ledger is meant.")
]
DatasetOption = Annotated[
    str | None, typer.Option("--dataset", help="Only entries of this dataset.")
]
_WIDTH = 60


class Format(StrEnum):
    """What an export is written as."""

    json = "json"
    csv = "csv"


@app.command()
def show(
    ledger: LedgerOption = None,
    data: DataOption = None,
    dataset: DatasetOption = None,
    last: Annotated[
        int, typer.Option("--last", "-n", min=0, help="How many entries; 0 for all.")
    ] = 20,
) -> None:
    """Show the latest entries, what was spent and what is left; never an answer.

    Example: sfumato ledger show --data patients.csv

    The last line is the head: note it elsewhere, and `sfumato ledger verify --head` will find
    out if entries are ever cut off or replaced.
    """
    with _opened(ledger, data) as opened:
        entries = opened.entries(dataset, last=last or None)
        accounts = opened.accounts(dataset)
        head = opened.head()
        _show_entries(opened.place, entries, opened.count(dataset))
        if accounts:
            header = ("dataset", "block", "limit of", "limit", "spent", "left")
            show_table("Accounts", header, map(_account_row, accounts))
        out.print(f"head: {head.hash}", markup=False, soft_wrap=True)


@app.command()
def verify(
    ledger: LedgerOption = None,
    data: DataOption = None,
    head: Annotated[
        str | None,
        typer.Option("--head", help="A head noted earlier, which must still be part of it."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Recompute every hash, every total and every decision; exit code 1 when something is wrong.

    Example: sfumato ledger verify --data patients.csv
    """
    with _opened(ledger, data) as opened:
        found = opened.verify(head)
        place = opened.place
    if not quiet:
        if found.ok:
            out.print(f"{place}: {found.count:,} entries, all sound", markup=False)
            out.print(f"head: {found.head}", markup=False, soft_wrap=True)
        else:
            where = "" if found.broken is None else f" at entry {found.broken}"
            out.print(f"{place}: BROKEN{where}: {found.why}", markup=False, style="bold red")
    raise typer.Exit(0 if found.ok else 1)


@app.command()
def export(
    target: Annotated[Path, typer.Argument(help="File to write.")],
    ledger: LedgerOption = None,
    data: DataOption = None,
    format: Annotated[  # noqa: A002 - the word for it
        Format | None,
        typer.Option("--format", help="json or csv; by the ending of the file if absent."),
    ] = None,
) -> None:
    """Write all entries to a JSON or CSV file; answers are left out.

    Example: sfumato ledger export entries.csv --data patients.csv
    """
    kind = format or (Format.csv if target.suffix.lower() == ".csv" else Format.json)
    with _opened(ledger, data) as opened:
        opened.export(target, kind.value)
        note(f"{opened.head().number:,} entries in {target}")


def _opened(ledger: str | None, data: Path | None) -> Ledger:
    from sfumato.govern.ledger import Ledger  # noqa: PLC0415 - loads the database library
    from sfumato.govern.places import default_place  # noqa: PLC0415 - the same

    return Ledger(ledger or default_place(data), create=False)


def _show_entries(place: str, shown: list[Entry], number: int) -> None:
    count = f"{number:,} entries"
    if len(shown) < number:
        count += f", the last {len(shown):,}"
    header = ("no.", "time (UTC)", "what", "dataset", "who, for what", "question", "cost")
    show_table(f"{place}: {count}", header, map(_entry_row, shown))


def _entry_row(entry: Entry) -> tuple[object, ...]:
    from sfumato.dp.accounting.costs import Cost  # noqa: PLC0415 - needed here only

    cost = "" if entry.cost is None else str(Cost.from_json(entry.cost))
    what = entry.kind if entry.refers is None else f"{entry.kind} {entry.refers}"
    who = ", ".join(one for one in (entry.analyst, entry.purpose) if one)
    time = entry.time[:16].replace("T", " ")
    return (
        entry.number,
        time,
        _plain(what),
        *map(_plain, (entry.dataset, who, entry.question)),
        cost,
    )


def _account_row(account: Account) -> tuple[object, ...]:
    from sfumato.dp.accounting.costs import Cost  # noqa: PLC0415 - needed here only
    from sfumato.govern.limits import in_short  # noqa: PLC0415 - the same

    spent = account.spent
    left = account.left
    return (
        _plain(account.dataset),
        _plain(account.block),
        f"{account.scope} {_plain(account.name)}".strip(),
        "none" if account.limit is None else in_short(account.limit),
        str(Cost(spent.epsilon, spent.mu_squared, min(spent.delta, Fraction(1)))),
        "" if left is None else in_short(left),
    )


def _plain(text: str | None) -> str:
    """Show a text that an analyst wrote on one line, short, and without control characters."""
    shown = "".join(one if one.isprintable() else " " for one in text or "")
    return shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"
