"""`sfumato subject`: people ask what is held about them, have it corrected, or are forgotten."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sfumato.cli.display.terminal import note, out, result, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.group import Group
from sfumato.errors import ParameterError
from sfumato.requests.subject import CorrectCommand, SubjectCommand

if TYPE_CHECKING:
    from sfumato.govern.participation import SubjectAnswer

app = Group(
    "subject",
    "Answer a person: what is held about her and where it went, a correction, to be forgotten.",
)


@app.command()
@takes_request
def show(request: SubjectCommand) -> None:
    """Tell whether and what is held about a person, what it serves, and what was released.

    Example: sfumato subject show patients.csv 1042 --column patient

    Confirm first who asks. The ledger keeps that somebody asked, by a keyed hash, and no name.
    """
    from sfumato.govern.participation import find_subject  # noqa: PLC0415 - help stays quick

    _tell(request, find_subject(request.data, request.person, **_whose(request)))


@app.command()
@takes_request
def correct(request: CorrectCommand) -> None:
    """Put right values into all rows of a person; the file is replaced as a whole.

    Example: sfumato subject correct patients.csv 1042 --column patient --set diagnosis=flu
    """
    from sfumato.govern.participation import correct_subject  # noqa: PLC0415 - help stays quick

    answer = correct_subject(request.data, request.person, right=request.right, **_whose(request))
    _tell(request, answer)


@app.command()
@takes_request
def forget(request: SubjectCommand) -> None:
    """Leave all rows of a person out of the file, and tell what cannot be recalled.

    Example: sfumato subject forget patients.csv 1042 --column patient

    Answers from now on are computed without her. Copies elsewhere are yours to find.
    """
    from sfumato.govern.participation import forget_subject  # noqa: PLC0415 - help stays quick

    _tell(request, forget_subject(request.data, request.person, **_whose(request)))


def _whose(request: SubjectCommand) -> dict[str, Any]:
    return {"column": _column(request), "dataset": request.dataset, "ledger": request.ledger}


def _column(request: SubjectCommand) -> str:
    """Find the column that names people: stated, or the schema's unit."""
    if request.column is not None:
        return request.column
    if request.schema_file is not None:
        from sfumato.data.schema import ROW_UNIT, Schema  # noqa: PLC0415 - help stays quick

        unit = Schema.read(request.schema_file).unit
        if unit != ROW_UNIT:
            return unit
    raise ParameterError(
        "Say which column names people, with --column, or give a schema whose unit is one."
    )


def _tell(request: SubjectCommand, answer: SubjectAnswer) -> None:
    told = answer.to_json()
    result(told)
    if request.output is not None:
        from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - help stays quick

        text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
        write_text_atomically(request.output, text, private=True)
        note(f"{request.output} holds data of this person; hand it over, then delete it")
    elif answer.rows:
        show_table("Held", list(answer.rows[0]), [list(row.values()) for row in answer.rows])
    done = {"access": "found", "correct": "corrected", "forget": "left out"}[answer.kind]
    rows = "row" if answer.rows_found == 1 else "rows"
    out.print(f"{answer.dataset}: {answer.rows_found:,} {rows} {done}", markup=False)
    if answer.purposes:
        out.print(f"held for: {', '.join(answer.purposes)}", markup=False)
    for release in answer.releases:
        out.print(
            f"released {release['made'][:10]}: {release['promise']}, file {release['file_sha256']}",
            markup=False, soft_wrap=True,
        )  # fmt: skip
    if answer.answers:
        out.print(
            f"noisy answers: {answer.answers:,}, {answer.answers_in_all} in all", markup=False
        )
    if answer.releases or answer.answers:
        out.print(answer.cannot_be_undone, markup=False)
