"""`sfumato ask`: a question in SQL, answered under a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.display.terminal import note
from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.session import block_names, check_files, open_session, who_asks
from sfumato.requests.ask import AskCommand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.session.session import Session


@takes_request
def ask(request: AskCommand) -> None:
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
    asking the same again costs nothing. Exit code 3: the budget or the owner's rules refuse; 2: the
    question or an option is at fault.
    """
    from sfumato.cli.display.answers import deliver, show_estimate  # noqa: PLC0415 - help stays quick
    from sfumato.cli.display.spinner import Waiting  # noqa: PLC0415 - the same
    from sfumato.errors import Refused  # noqa: PLC0415 - the same

    check_files(request.delivery)
    asked = request.asked
    price = asked.price.given()
    try:
        with Waiting("asking"), open_session(request.data, request.opening) as session:
            asking = who_asks(session)
            facts: dict[str, Any] = {
                "bounds": asked.bounds, "keys": _values(session, asked.keys),
                "blocks": block_names(asked.blocks),
            }  # fmt: skip
            if asked.estimate:
                found = session.estimate(asked.question, **price, **facts)
            else:
                answer = session.sql(asked.question, **price, **facts)
    except Refused as refused:
        if refused.nearest:
            note(f"this can be answered: {refused.nearest}")
        raise
    if asked.estimate:
        show_estimate(found)
    else:
        deliver(answer, {**asking, "question": asked.question}, request.delivery)


def kinds_of(session: Session) -> dict[str, str]:
    """Give the kind of every column of the tables that can be asked about; these are public."""
    tables = session.desk.opened.facts.values()
    return {column.name.lower(): column.kind for table in tables for column in table.columns}


def _values(session: Session, given: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Read the values of keys as what their columns hold."""
    kinds = kinds_of(session)
    return {
        name: typed(values, kinds.get(name.lower()))
        if all(isinstance(value, str) for value in values)
        else list(values)
        for name, values in given.items()
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
