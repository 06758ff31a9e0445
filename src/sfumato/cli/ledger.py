"""`sfumato ledger`: what was asked and spent, whether it is sound, a copy, and amendments."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import typer

from sfumato.cli.display.ledger_entries import plain, show_entries, show_entry
from sfumato.cli.display.terminal import note, out, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.group import Group
from sfumato.errors import ParameterError
from sfumato.requests.ledger import (
    AmendCommand,
    ExportCommand,
    ExportFormat,
    NewRules,
    Place,
    ShowCommand,
    VerifyLedgerCommand,
)
from sfumato.requests.owner import NONE

if TYPE_CHECKING:
    from sfumato.govern.ledger.ledger import Ledger
    from sfumato.govern.ledger.remainder import Account

app = Group(
    "ledger",
    "Show, verify, export and amend the ledger: who asked what, for what purpose, at what cost.",
)


@app.command()
@takes_request
def show(request: ShowCommand) -> None:
    """Show the latest entries, what was spent and what is left; never an answer.

    Example: sfumato ledger show --data patients.csv

    Example: sfumato ledger show 17 --data patients.csv

    A charge tells its question, what was promised, what it cost, and whether it was answered.
    The last line is the head: note it elsewhere, and `sfumato ledger verify --head` will find
    out if entries are ever cut off or replaced.
    """
    with _opened(request.place) as opened:
        if request.number is not None:
            show_entry(opened, request.number)
            return
        entries = opened.entries(request.dataset, last=request.last or None)
        count, head = opened.count(request.dataset), opened.head()
        shown = f", the last {len(entries):,}" if len(entries) < count else ""
        title = f"{opened.place}: {count:,} {'entry' if count == 1 else 'entries'}{shown}"
        out.print(title, markup=False, style="bold", soft_wrap=True)
        show_entries(opened, entries)
        _show_accounts(opened.accounts(request.dataset))
        out.print(f"head: {head.hash}", markup=False, soft_wrap=True)


@app.command()
@takes_request
def amend(request: AmendCommand) -> None:
    """Change what an owner may change: limits, purposes, policy, public tables.

    Example: sfumato ledger amend patients --data patients.csv --limit-analyst 0.5
    --reason "two more analysts joined"

    Example: sfumato ledger amend patients --data patients.csv --budget 2 --policy geometric
    --reason "approved by the board on 3 May"

    What is not stated stays. AMOUNT none takes a limit of an analyst or purpose away. Unit, bounds
    and keys never change, because what was answered rests on them; nor is anything spent given
    back. The amendment is an entry of the ledger.
    """
    owner, dataset = request.owner, request.dataset
    if owner == NewRules() and request.purposes is None and not request.public:
        raise ParameterError(
            "Say what changes: --budget, --limit-analyst, --limit-purpose, --purposes, --policy or "
            "--public."
        )
    with _opened(request.place) as opened:
        known = opened.registration(dataset)
        if known is None:
            raise ParameterError(
                f"This ledger has no dataset {dataset!r}; see `sfumato ledger show`."
            )
        now = opened.amend(
            dataset,
            limits=owner.limits(known.limits),
            purposes=_purposes(request.purposes),
            policy=owner.chosen_policy(),
            public=request.public or None,
            reason=request.reason,
            known=known,
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
@takes_request
def verify(request: VerifyLedgerCommand) -> None:
    """Recompute every hash, every total and every decision; exit code 1 when something is wrong.

    Example: sfumato ledger verify --data patients.csv
    """
    with _opened(request.place) as opened:
        found = opened.verify(request.head)
        place = opened.place
    if not request.quiet:
        if found.ok:
            out.print(f"{place}: {found.count:,} entries, all sound", markup=False)
            out.print(f"head: {found.head}", markup=False, soft_wrap=True)
        else:
            where = "" if found.broken is None else f" at entry {found.broken}"
            out.print(f"{place}: BROKEN{where}: {found.why}", markup=False, style="bold red")
    raise typer.Exit(0 if found.ok else 1)


@app.command()
@takes_request
def export(request: ExportCommand) -> None:
    """Write all entries to a JSON or CSV file; answers are left out.

    Example: sfumato ledger export entries.csv --data patients.csv
    """
    from sfumato.data.atomic import refuse_existing  # noqa: PLC0415 - help stays quick

    target = request.target
    endings = {f".{kind.value}": kind for kind in ExportFormat}
    kind = request.format or endings.get(target.suffix.lower())
    if kind is None:
        raise ParameterError(
            f"An export is written to a file that ends in .json or .csv, and {target} was named; "
            "or say which with --format."
        )
    if not request.force:
        refuse_existing(target, "--force")
    with _opened(request.place) as opened:
        opened.export(target, kind.value)
        note(f"{opened.head().number:,} entries in {target}")


def _opened(meant: Place) -> Ledger:
    from sfumato.govern.ledger.ledger import Ledger  # noqa: PLC0415 - loads the database library
    from sfumato.govern.places import default_place  # noqa: PLC0415 - the same

    return Ledger(meant.ledger or default_place(meant.data), create=False)


def _purposes(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    named = tuple(part.strip() for part in given.split(",") if part.strip())
    return () if named == (NONE,) else named


def _show_accounts(accounts: list[Account]) -> None:
    """Show what was spent and is left; the block only where there are several."""
    accounts = [
        account
        for account in accounts
        if account.limit or account.scope != "purpose" or account.name
    ]
    if not accounts:
        return
    several = any(account.block != "main" for account in accounts)
    header = ["dataset", *(["block"] if several else []), "limit of", "limit", "spent", "left"]
    rows = [_account_row(account, several=several) for account in accounts]
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
