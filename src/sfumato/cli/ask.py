"""`sfumato ask`: a question in SQL, answered under a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options.common import DelimiterOption, EncodingOption
from sfumato.cli.options.owner import (
    BudgetDeltaOption,
    BudgetOption,
    BudgetRhoOption,
    LimitAnalystOption,
    LimitPurposeOption,
    OwnerWords,
    PolicyOption,
)
from sfumato.cli.options.session import (
    AccuracyOption,
    AnalystOption,
    BlockOption,
    BlocksOption,
    BoundsOption,
    DataArgument,
    DeltaOption,
    EpsilonOption,
    EstimateOption,
    ForceOption,
    Format,
    FormatOption,
    GroupsOption,
    LedgerOption,
    Opening,
    OutputOption,
    PictureOption,
    PrivateOption,
    PublicOption,
    PurposeOption,
    RhoOption,
    RowsOption,
    RowsPerGroupOption,
    SchemaOption,
    UnitOption,
    blocks_of,
    bounds_of,
    check_files,
    price_of,
    who_asks,
)
from sfumato.cli.options.texts import pairs_of
from sfumato.cli.terminal import note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.session.session import Session


def ask(
    data: DataArgument,
    question: Annotated[str, typer.Argument(metavar="SQL", help="The question, one SELECT.")],
    schema: SchemaOption = None,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    rho: RhoOption = None,
    accuracy: AccuracyOption = None,
    estimate: EstimateOption = False,
    bounds: BoundsOption = None,
    keys: Annotated[
        list[str] | None,
        typer.Option(
            "--keys",
            metavar="COLUMN=A,B,C",
            help="Public values of a GROUP BY, so that all are answered; may be repeated.",
        ),
    ] = None,
    public: PublicOption = None,
    private: PrivateOption = None,
    unit: UnitOption = None,
    rows: RowsOption = None,
    groups: GroupsOption = None,
    rows_per_group: RowsPerGroupOption = None,
    budget: BudgetOption = None,
    budget_delta: BudgetDeltaOption = None,
    budget_rho: BudgetRhoOption = None,
    limit_analyst: LimitAnalystOption = None,
    limit_purpose: LimitPurposeOption = None,
    policy: PolicyOption = None,
    block: BlockOption = None,
    blocks: BlocksOption = None,
    analyst: AnalystOption = None,
    purpose: PurposeOption = None,
    ledger: LedgerOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    format: FormatOption = Format.table,  # noqa: A002 - the word for it
    output: OutputOption = None,
    picture: PictureOption = None,
    force: ForceOption = False,
) -> None:
    """Answer a question with noise that hides every person, and charge the dataset's budget.

    Example: sfumato ask patients.csv -s patients.yaml "SELECT COUNT(*) FROM patients" -e 0.1

    Example: sfumato ask patients.csv "SELECT sex, AVG(age) FROM patients GROUP BY sex" -e 0.2
    --keys sex=female,male --bounds age=0,100 --picture ages.svg

    Example: sfumato ask visits.csv -s visits.yaml --rows 5 "SELECT COUNT(*) FROM visits" -e 0.1
    --estimate

    Example: sfumato ask visits.csv -s visits.yaml --rows 5 "SELECT COUNT(*) FROM visits"
    --budget 2 --limit-analyst 1 --policy equal:10

    Example: sfumato ask 2024.csv --block 2025.csv --unit row "SELECT COUNT(*) FROM data" -e 0.5
    --blocks 2

    The table has the name of its file, or is called data. The first question fixes unit, budget,
    limits and policy, which the ledger beside the data keeps; later ones may leave them out, and
    `sfumato ledger amend` changes them. A question that is refused, or one with --estimate, costs
    and fixes nothing. A charge is recorded before the data are read and is never given back;
    asking the same again costs nothing. Exit code 1: the budget or the owner's rules refuse; 2: the
    question or an option is at fault.
    """
    from sfumato.cli.answers import deliver, show_estimate  # noqa: PLC0415 - help stays quick
    from sfumato.cli.waiting import Waiting  # noqa: PLC0415 - the same
    from sfumato.errors import Refused  # noqa: PLC0415 - the same

    check_files(force=force, output=output, picture=picture)
    limits = bounds_of(bounds)
    values = pairs_of("--keys", keys, "COLUMN=A,B,C, as in --keys sex=female,male")
    chosen = blocks_of(blocks)
    owner = OwnerWords(budget, budget_delta, budget_rho, limit_analyst, limit_purpose, policy)
    opening = Opening(
        data, schema, owner, unit, rows, groups, rows_per_group, analyst, purpose, ledger,
        public, private, block, delimiter, encoding,
    )  # fmt: skip
    price = price_of(epsilon=epsilon, rho=rho, delta=delta, accuracy=accuracy)
    try:
        with Waiting("asking"), opening.session() as session:
            asking = who_asks(session)
            facts: dict[str, Any] = {
                "bounds": limits, "keys": _values(session, values), "blocks": chosen,
            }  # fmt: skip
            if estimate:
                found = session.estimate(question, **price, **facts)
            else:
                answer = session.sql(question, **price, **facts)
    except Refused as refused:
        if refused.nearest:
            note(f"this can be answered: {refused.nearest}")
        raise
    if estimate:
        show_estimate(found)
    else:
        asked = {**asking, "question": question}
        deliver(answer, asked=asked, form=format, output=output, picture=picture)


def kinds_of(session: Session) -> dict[str, str]:
    """Give the kind of every column of the tables that can be asked about; these are public."""
    tables = session.desk.opened.facts.values()
    return {column.name.lower(): column.kind for table in tables for column in table.columns}


def _values(session: Session, given: Mapping[str, str]) -> dict[str, list[Any]]:
    """Read the values of keys as what their columns hold."""
    kinds = kinds_of(session)
    return {
        name: typed([one.strip() for one in texts.split(",")], kinds.get(name.lower()))
        for name, texts in given.items()
    }


def typed(texts: Sequence[str], kind: str | None) -> list[Any]:
    """Read values as what a column of a kind holds; of an unknown one, whole numbers or texts."""
    whole = all(text.lstrip("-").isdecimal() for text in texts)
    if kind in {"integer", None} and whole:
        return [int(text) for text in texts]
    truths = {"true": True, "false": False}
    if kind == "boolean" and all(text.lower() in truths for text in texts):
        return [truths[text.lower()] for text in texts]
    return list(texts)
