"""The least price for an accuracy, found before the question is asked.

Contract: the error of counts and sums is known beforehand, so the least ε (or ρ) follows without
touching data. The error of a mean shrinks with the number of its rows. That number is private, so
it is asked for first, as a question of its own with a small part of what is left, and the
price is found for a number of rows that is not smaller with 99.9 % probability.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.language import Measure
from sfumato.ask.price.accuracy import least_amount, needs_size
from sfumato.ask.price.preparation import prepare
from sfumato.dp.guarantees import ZCDP
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.govern.policies import amount_of
from sfumato.message import Argument, Message

if TYPE_CHECKING:
    from fractions import Fraction

    from sfumato.ask.price.preparation import PreparedQuestion
    from sfumato.ask.session.desk import Desk
    from sfumato.ask.session.submission import Submission
    from sfumato.dp.rounding import Stated
    from sfumato.govern.ledger.snapshots import Snapshot


class NeedsPilot(ParameterError):  # noqa: N818 - says what the price of an accuracy needs
    """The price of an accuracy cannot be told without spending."""


_PART = 50  # of what is left, spent on the number of rows
_SURE = 0.999
_ACCURACY, _EPSILON = Argument("accuracy"), Argument("epsilon")


def find_price(
    desk: Desk,
    now: Snapshot,
    submission: Submission,
    price: dict[str, Any],
    *,
    spending: bool = True,
) -> dict[str, Any]:
    """Give a price with the amount that its accuracy takes, where it states one.

    Without ``spending`` no pilot question is asked, and a price that needs one is refused.
    """
    accuracy = price.get("accuracy")
    stated = {name: value for name, value in price.items() if name != "accuracy"}
    if accuracy is None:
        return stated
    if stated.get("epsilon") is not None or stated.get("rho") is not None:
        raise ParameterError(
            Message("Give {} or the price {}/{}, not both.", _ACCURACY, _EPSILON, Argument("rho"))
        )
    found = _amount_for(desk, now, submission, accuracy, stated.get("delta"), spending=spending)
    return stated | found


def _amount_for(
    desk: Desk,
    now: Snapshot,
    submission: Submission,
    accuracy: float,
    delta: Stated | None,
    *,
    spending: bool,
) -> dict[str, Fraction]:
    """Find the least ε, or ρ in a session of that kind, at which every number is accurate."""
    budget, standing = desk.budget(now), desk.standing(now, submission.blocks)
    name = "rho" if isinstance(budget, ZCDP) else "epsilon"

    def at(amount: Any) -> PreparedQuestion:
        price: dict[str, Any] = {"epsilon": None, "rho": None, name: amount}
        return prepare(
            submission.question, desk.opened.unit, budget, delta=delta, standing=standing, **price
        )

    with submission.offering():
        first = at(1)
    if first.searched or first.wanted.parts.quantiles:
        raise ParameterError(
            Message(
                "{} is for counts, sums and means of terms with declared bounds; give {} instead, "
                "or declare bounds.",
                _ACCURACY,
                _EPSILON,
            )
        )
    size = None
    if needs_size(first):
        _check_size(submission)
        if not spending:
            raise NeedsPilot(
                Message(
                    "What the accuracy of a mean costs depends on the number of rows, and finding "
                    "that is a question of its own; ask with {}, or estimate at an {}.",
                    _ACCURACY,
                    _EPSILON,
                )
            )
        size = _rows_at_least(desk, now, submission, name)
        standing = desk.standing(desk.now(), submission.blocks)  # less is left now
    return {name: least_amount(at, accuracy, size=size)}


def _check_size(submission: Submission) -> None:
    """Refuse errors that depend on more than one number of rows."""
    if submission.question.keys or any(
        m.aggregate in {"variance", "stddev"} for m in submission.question.measures
    ):
        raise ParameterError(
            Message(
                "The error of means per group and of variances depends on how many rows there are "
                "in each; give {} instead of {}.",
                _EPSILON,
                _ACCURACY,
            )
        )


def _rows_at_least(desk: Desk, now: Snapshot, submission: Submission, name: str) -> float:
    """Spend a little on a number that the rows of a mean are hardly ever below."""
    amount = amount_of(desk.standing(now, submission.blocks).remaining) / _PART
    if amount <= 0:
        raise Unsatisfiable("Nothing is left of the budget to find out the number of rows.")
    price: dict[str, Any] = {name: amount}
    found = desk.ask(_row_count(submission), **price).intervals(_SURE).values()
    low = min(pair[0] for pairs in found for pair in pairs if pair is not None)
    if low < 1:
        raise Unsatisfiable(
            Message(
                "There are too few rows to tell what the mean would cost; give {} instead.",
                _EPSILON,
            )
        )
    return float(low)


def _row_count(submission: Submission) -> Submission:
    """Ask how many rows have a value for each mean of a question."""
    counts = tuple(
        Measure(f"rows_{i}", "count", m.term, m.where, spelling="COUNT")
        for i, m in enumerate(submission.question.measures)
        if m.aggregate == "avg"
    )
    question = replace(
        submission.question, measures=counts, outputs=(), having=None, order=(), limit=None
    )
    return replace(submission, question=question)
