"""What a question would cost and how far off it would be, told for nothing.

Contract: a function of the prepared question and of what was spent so far, both of which have
never seen the answer: telling it reveals nothing, and nothing is charged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.ask.answers.answer import AnswerForecast, check_confidence
from sfumato.ask.answers.composition import bounding_notes
from sfumato.ask.price.accuracy import errors, needs_size
from sfumato.message import Argument, Message

if TYPE_CHECKING:
    from sfumato.ask.price.preparation import PreparedQuestion
    from sfumato.dp.guarantees import Guarantee
    from sfumato.govern.standing import Standing


def estimate_answer(
    prepared: PreparedQuestion, guarantee: Guarantee, standing: Standing, confidence: float
) -> AnswerForecast:
    """Tell what a prepared question would cost and how far off its numbers would be."""
    check_confidence(confidence)
    cost = prepared.allocation.cost
    notes: list[str] = list(bounding_notes(prepared))
    if needs_size(prepared):
        notes.append(
            Message(
                "the error of a mean or variance shrinks with the number of rows, which is not "
                "told here; ask with {} to have it found",
                Argument("accuracy"),
            )
        )
    if prepared.searched:
        notes.append("bounds would be found with a share of the price; sums scale with them")
    return AnswerForecast(
        cost,
        guarantee,
        standing.remaining,
        standing.covers(cost),
        {} if prepared.searched else errors(prepared, confidence),
        confidence,
        prepared.allocation.price.kind,
        tuple(notes),
    )
