"""What can be asked of a ledger: `sfumato ledger show`, `amend`, `verify` and `export`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from sfumato.requests.files import Quiet
from sfumato.requests.owner import Budget, OwnerRules
from sfumato.requests.request import Amount, Request, argument, option, piece


class Place(Request):
    """Which ledger is meant."""

    ledger: Annotated[
        str | None,
        option(
            "--ledger",
            "-L",
            metavar="PLACE",
            help="File of the ledger, or postgresql://…; else $SFUMATO_LEDGER, or that of --data.",
        ),
    ] = None
    data: Annotated[
        str | None,
        option("--data", "-d", help="Data whose ledger is meant, as DATA of `sfumato ask`."),
    ] = None


class ExportFormat(StrEnum):
    """What an export is written as."""

    json = "json"
    csv = "csv"


class ShowCommand(Request):
    """`sfumato ledger show`: one entry, or the latest ones."""

    number: Annotated[int | None, argument(metavar="[NUMBER]", help="One entry, told whole.")] = (
        None
    )
    place: Place = piece(Place)
    dataset: Annotated[str | None, option("--dataset", help="Only entries of this dataset.")] = None
    last: Annotated[int, option("--last", "-n", help="How many entries; 0 for all.", ge=0)] = 20


class NewBudget(Budget):
    """The budget from now on."""

    budget: Annotated[Amount | None, option("--budget", help="Total ε from now on.")] = None
    budget_delta: Annotated[
        Amount | None,
        option("--budget-delta", help="Total δ from now on; 0 for a pure budget."),
    ] = None
    budget_rho: Annotated[
        Amount | None, option("--budget-rho", help="Total ρ from now on, instead.")
    ] = None


class NewRules(OwnerRules):
    """The owner's rules from now on; what is not stated stays."""

    budget: NewBudget = piece(NewBudget)


class AmendCommand(Request):
    """`sfumato ledger amend`: what changes, and why."""

    dataset: Annotated[str, argument(help="Name of the dataset, as the ledger shows it.")]
    reason: Annotated[str, option("--reason", help="Why; the ledger keeps it.")]
    place: Place = piece(Place)
    owner: NewRules = piece(NewRules)
    purposes: Annotated[
        str | None,
        option(
            "--purposes",
            metavar="A,B",
            help="All purposes the data may serve; none for no purpose.",
        ),
    ] = None
    public: Annotated[
        tuple[str, ...],
        option("--public", metavar="NAME", help="Public table that is new or has changed."),
    ] = ()


class VerifyLedgerCommand(Request):
    """`sfumato ledger verify`: whether every hash, total and decision is right."""

    place: Place = piece(Place)
    head: Annotated[
        str | None,
        option("--head", help="A head noted earlier, which must still be part of it."),
    ] = None
    quiet: Quiet = False


class ExportCommand(Request):
    """`sfumato ledger export`: a copy without answers."""

    target: Annotated[Path, argument(help="File to write.")]
    place: Place = piece(Place)
    format: Annotated[
        ExportFormat | None,
        option("--format", help="json or csv; by the ending of the file if absent."),
    ] = None
    force: Annotated[bool, option("--force", help="Replace the file if it exists.")] = False
