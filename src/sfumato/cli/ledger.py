"""`sfumato ledger`: what was asked and spent, whether it is sound, a copy, and amendments."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.ledger_entries import plain, show_entries, show_entry
from sfumato.cli.options.common import QuietOption
from sfumato.cli.options.owner import (
    NONE,
    LimitAnalystOption,
    LimitPurposeOption,
    OwnerWords,
    PolicyOption,
)
from sfumato.cli.terminal import note, out, show_table
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.govern.ledger.ledger import Ledger
    from sfumato.govern.ledger.remainder import Account

app = typer.Typer(
    name="ledger",
    help="Show, verify, export and amend the ledger: who asked what, for what purpose, at what "
    "cost.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        "-L",
        metavar="PLACE",
        help="File of the ledger, or postgresql://…; else $SFUMATO_LEDGER, or that of --data.",
    ),
]
DataOption = Annotated[
    str | None,
    typer.Option("--data", "-d", help="Data whose ledger is meant, as DATA of `sfumato ask`."),
]
DatasetOption = Annotated[
    str | None, typer.Option("--dataset", help="Only entries of this dataset.")
]


class Format(StrEnum):
    """What an export is written as."""

    json = "json"
    csv = "csv"


@app.command()
def show(
    number: Annotated[
        int | None, typer.Argument(metavar="[NUMBER]", help="One entry, told whole.")
    ] = None,
    ledger: LedgerOption = None,
    data: DataOption = None,
    dataset: DatasetOption = None,
    last: Annotated[
        int, typer.Option("--last", "-n", min=0, help="How many entries; 0 for all.")
    ] = 20,
) -> None:
    """Show the latest entries, what was spent and what is left; never an answer.

    Example: sfumato ledger show --data patients.csv

    Example: sfumato ledger show 17 --data patients.csv

    A charge tells its question, what was promised, what it cost, and whether it was answered.
    The last line is the head: note it elsewhere, and `sfumato ledger verify --head` will find
    out if entries are ever cut off or replaced.
    """
    with _opened(ledger, data) as opened:
        if number is not None:
            show_entry(opened, number)
            return
        entries = opened.entries(dataset, last=last or None)
        count, head = opened.count(dataset), opened.head()
        shown = f", the last {len(entries):,}" if len(entries) < count else ""
        title = f"{opened.place}: {count:,} {'entry' if count == 1 else 'entries'}{shown}"
        out.print(title, markup=False, style="bold", soft_wrap=True)
        show_entries(opened, entries)
        _show_accounts(opened.accounts(dataset))
        out.print(f"head: {head.hash}", markup=False, soft_wrap=True)


@app.command()
def amend(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset, as the ledger shows it.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; the ledger keeps it.")],
    ledger: LedgerOption = None,
    data: DataOption = None,
    budget: Annotated[str | None, typer.Option("--budget", help="Total ε from now on.")] = None,
    budget_delta: Annotated[
        str | None, typer.Option("--budget-delta", help="Total δ from now on; 0 for a pure budget.")
    ] = None,
    budget_rho: Annotated[
        str | None, typer.Option("--budget-rho", help="Total ρ from now on, instead.")
    ] = None,
    limit_analyst: LimitAnalystOption = None,
    limit_purpose: LimitPurposeOption = None,
    purposes: Annotated[
        str | None,
        typer.Option(
            "--purposes",
            metavar="A,B",
            help="All purposes the data may serve; none for no purpose.",
        ),
    ] = None,
    policy: PolicyOption = None,
    public: Annotated[
        list[str] | None,
        typer.Option("--public", metavar="NAME", help="Public table that is new or has changed."),
    ] = None,
) -> None:
    """Change what an owner may change: limits, purposes, policy, public tables.

    Example: sfumato ledger amend patients --data patients.csv --limit-analyst 0.5
    --reason "two more analysts joined"

    Example: sfumato ledger amend patients --data patients.csv --budget 2 --policy geometric
    --reason "approved by the board on 3 May"

    What is not stated stays. AMOUNT none takes a limit of an analyst or purpose away. Unit, bounds
    and keys never change, because what was answered rests on them; nor is anything spent given
    back. The amendment is an entry of the ledger.
    """
    owner = OwnerWords(budget, budget_delta, budget_rho, limit_analyst, limit_purpose, policy)
    if owner == OwnerWords() and purposes is None and not public:
        raise ParameterError(
            "Say what changes: --budget, --limit-analyst, --limit-purpose, --purposes, --policy or "
            "--public."
        )
    with _opened(ledger, data) as opened:
        known = opened.registration(dataset)
        if known is None:
            raise ParameterError(
                f"This ledger has no dataset {dataset!r}; see `sfumato ledger show`."
            )
        now = opened.amend(
            dataset,
            limits=owner.limits(known.limits),
            purposes=_purposes(purposes),
            policy=owner.chosen_policy(),
            public=public,
            reason=reason,
        )
    rows = [
        ("limits", str(known.limits), str(now.limits)),
        ("policy", str(known.policy), str(now.policy)),
        ("purposes", ", ".join(known.purposes), ", ".join(now.purposes)),
        ("public tables", ", ".join(known.public), ", ".join(now.public)),
    ]
    changed = [tuple(map(plain, row)) for row in rows if row[1] != row[2]]
    if changed:
        show_table(f"{plain(dataset)}, amended", ("what", "before", "now"), changed)
    else:
        note(f"{plain(dataset)} is amended; its rules read as before")


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
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write all entries to a JSON or CSV file; answers are left out.

    Example: sfumato ledger export entries.csv --data patients.csv
    """
    from sfumato.data.atomic import refuse_existing  # noqa: PLC0415 - help stays quick

    endings = {f".{one.value}": one for one in Format}
    kind = format or endings.get(target.suffix.lower())
    if kind is None:
        raise ParameterError(
            f"An export is written to a file that ends in .json or .csv, and {target} was named; "
            "or say which with --format."
        )
    if not force:
        refuse_existing(target, "--force")
    with _opened(ledger, data) as opened:
        opened.export(target, kind.value)
        note(f"{opened.head().number:,} entries in {target}")


def _opened(ledger: str | None, data: str | None) -> Ledger:
    from sfumato.govern.ledger.ledger import Ledger  # noqa: PLC0415 - loads the database library
    from sfumato.govern.places import default_place  # noqa: PLC0415 - the same

    return Ledger(ledger or default_place(data), create=False)


def _purposes(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    named = tuple(one.strip() for one in given.split(",") if one.strip())
    return () if named == (NONE,) else named


def _show_accounts(accounts: list[Account]) -> None:
    """Show what was spent and is left; the block only where there are several."""
    accounts = [one for one in accounts if one.limit or one.scope != "purpose" or one.name]
    if not accounts:
        return
    several = any(one.block != "main" for one in accounts)
    header = ["dataset", *(["block"] if several else []), "limit of", "limit", "spent", "left"]
    rows = [_account_row(one, several=several) for one in accounts]
    show_table("Accounts", header, rows)


def _account_row(account: Account, *, several: bool) -> tuple[object, ...]:
    from sfumato.dp.accounting.costs import Cost  # noqa: PLC0415 - needed here only
    from sfumato.govern.limits import in_short  # noqa: PLC0415 - the same

    spent, left = account.spent, account.left
    failures = min(spent.delta, Fraction(1))
    cost = Cost(spent.epsilon, spent.mu_squared, failures, concentrated=spent.concentrated)
    return (
        plain(account.dataset),
        *((plain(account.block),) if several else ()),
        f"{account.scope} {plain(account.name)}".strip(),
        "none" if account.limit is None else in_short(account.limit),
        str(cost),
        "" if left is None else in_short(left),
    )
