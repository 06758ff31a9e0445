"""What became of a charge: an answer, kept so that it can be given again, or a failure.

Contract: a charge is settled once, by an answer or by a failure; either way it stays paid. The
answer's hash goes into the chain. :func:`stored` finds the answer to the same canonical question by
the same analyst for the same purpose about unchanged data; :func:`repeat` records that it is given
again, which costs nothing and is an entry all the same. The purpose is that of the charge: what was
bought for one purpose is no answer for another, whose limit may be smaller. A failure has a code
from a fixed vocabulary and never a message.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

from sqlalchemy import insert, text

from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.ledger.append import append, lock_head
from sfumato.govern.ledger.chain import (
    ANSWERED,
    FAILED,
    REPEATED,
    Entry,
    check_text,
    joined,
    key_of,
)
from sfumato.govern.ledger.faults import reached
from sfumato.govern.ledger.statements import Statement
from sfumato.govern.ledger.tables import answers as kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from sfumato.govern.ledger.charges import Receipt

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_OUTCOME = Statement(
    text(
        "SELECT kind FROM sfumato_entries WHERE refers = :charge AND kind IN ('answered', 'failed')"
    )
)
_CHARGE = Statement(text("SELECT hash FROM sfumato_entries WHERE number = :charge"))
_STORED = Statement(
    text(
        "SELECT a.answer, a.charge, a.part FROM sfumato_answers a "
        "JOIN sfumato_entries e ON e.number = a.charge WHERE a.dataset = :dataset AND "
        "a.analyst = :analyst AND a.fingerprint = :fingerprint AND a.question_key = :key "
        "AND COALESCE(e.purpose, '') = :purpose ORDER BY a.charge DESC LIMIT 1"
    )
)
_CHARGED = Statement(text("SELECT blocks, purpose FROM sfumato_entries WHERE number = :charge"))
_STORE = Statement(insert(kept))


def settle(connection: Connection, receipt: Receipt, *answers: str) -> None:
    """Record that a charge was answered, and keep the answer to each of its questions."""
    questions = receipt.charge.parts or (receipt.charge.question,)
    if not all(isinstance(answer, str) for answer in answers) or len(answers) != len(questions):
        raise ParameterError("The answer to every question of a charge is kept as JSON text.")
    for answer in answers:
        check_text(answer)
    head = lock_head(connection)
    _unsettled(connection, receipt)
    reached("settle-checked")
    details = {"answer_sha256": answers_hash(answers)}
    append(connection, head, _outcome(ANSWERED, receipt, details))
    reached("settle-appended")
    charge = receipt.charge
    for part, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        _STORE.run(
            connection,
            charge=receipt.number,
            part=part,
            dataset=charge.dataset,
            analyst=charge.analyst,
            fingerprint=charge.fingerprint,
            question_key=key_of(question),
            answer=answer,
        )
    reached("settle-counted")


def fail(connection: Connection, receipt: Receipt, code: str) -> None:
    """Record that a charge was not answered; it stays paid."""
    if not _CODE.fullmatch(code):
        raise ParameterError(
            "A failure has a short code of letters, digits and hyphens, such as "
            "'engine-failed'; messages may quote data."
        )
    head = lock_head(connection)
    _unsettled(connection, receipt)
    reached("fail-checked")
    append(connection, head, _outcome(FAILED, receipt, {"reason": code}))
    reached("fail-appended")


def stored(
    connection: Connection,
    dataset: str,
    analyst: str,
    fingerprint: str,
    question: str,
    purpose: str | None,
) -> str | None:
    """Find the latest answer to a question, if this analyst has one on unchanged data."""
    found = _found(connection, dataset, analyst, fingerprint, question, purpose)
    return None if found is None else found[0]


def repeat(
    connection: Connection,
    dataset: str,
    analyst: str,
    fingerprint: str,
    question: str,
    purpose: str | None,
) -> str:
    """Record that an answer is given again, and give it."""
    head = lock_head(connection)
    found = _found(connection, dataset, analyst, fingerprint, question, purpose)
    if found is None:
        raise GovernanceError("There is no answer to this question that could be given again.")
    answer, charge, part = found
    ((blocks, charged_for),) = _CHARGED.run(connection, charge=charge)
    reached("repeat-checked")
    entry = Entry(
        REPEATED,
        dataset=dataset,
        blocks=tuple(json.loads(blocks)),
        analyst=analyst,
        purpose=charged_for,
        refers=charge,
        details={"part": part},
    )
    append(connection, head, entry)
    reached("repeat-appended")
    return answer


def _found(
    connection: Connection,
    dataset: str,
    analyst: str,
    fingerprint: str,
    question: str,
    purpose: str | None,
) -> tuple[str, int, int] | None:
    """Find the latest answer to a question, its charge, and which question of that it was."""
    rows = _STORED.run(
        connection,
        dataset=dataset,
        analyst=analyst,
        fingerprint=fingerprint,
        key=key_of(question),
        purpose=purpose or "",
    )
    return (str(rows[0][0]), int(rows[0][1]), int(rows[0][2])) if rows else None


def answers_hash(answers: Sequence[str]) -> str:
    """Hash the answers of a charge for the chain."""
    whole = answers[0] if len(answers) == 1 else joined(answers)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def _unsettled(connection: Connection, receipt: Receipt) -> None:
    if _CHARGE.first(connection, charge=receipt.number) != receipt.hash:
        raise GovernanceError("This receipt is not from this ledger.")
    outcome = _OUTCOME.first(connection, charge=receipt.number)
    if outcome is not None:
        raise GovernanceError(f"The charge {receipt.number} is already {outcome}.")


def _outcome(kind: str, receipt: Receipt, details: dict[str, str]) -> Entry:
    charge = receipt.charge
    return Entry(
        kind,
        dataset=charge.dataset,
        blocks=charge.blocks,
        analyst=charge.analyst,
        purpose=charge.purpose,
        refers=receipt.number,
        details=dict(details),
    )
