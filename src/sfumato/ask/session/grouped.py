"""A question that groups in several ways (ROLLUP, CUBE, GROUPING SETS), answered at one price.

Contract: it is several questions on the same rows, asked together: each gets an equal share of ε
(or ρ) and δ, one charge is made for all before any is answered, and what is promised is the sum of
what they cost. (Adding up the finest groups instead would be free, and would add up their noise.)
Each is kept by itself, so one that was asked before at its share is given again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sfumato.ask.answers.answer import Answer, AnswerForecast
from sfumato.ask.answers.composition import outputs_of
from sfumato.ask.answers.estimate import estimate_answer
from sfumato.ask.answers.measurement import sort_key
from sfumato.ask.answers.stacked_column import StackedColumn
from sfumato.ask.session.together import answer_together, state_cost
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.rounding import stated
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sfumato.ask.session.desk import Desk
    from sfumato.ask.session.submission import Submission
    from sfumato.ask.sql.grouping_sets import SplitQuestion

    Submit = Callable[[str], Submission]


def answer_grouped(desk: Desk, split: SplitQuestion, submit: Submit, **price: Any) -> Answer:
    """Answer all sets of keys at shares of the price, and stack what is found."""
    names = _names(split, submit)
    asked = [submit(part.sql) for part in split.sets]
    answers = answer_together(desk, asked, **_share(price, len(asked)))
    cost = sum((answer.cost for answer in answers), Cost())
    return Answer(
        question="\n".join(answer.question for answer in answers),
        guarantee=state_cost(cost, desk.budget(desk.now())),
        cost=cost,
        standing=answers[-1].standing,
        notes=tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
        stored=all(answer.stored for answer in answers),
        kind=answers[0].kind,
        **_Stack(split, names, answers).fields(),
    )


def estimate_grouped(
    desk: Desk, split: SplitQuestion, submit: Submit, confidence: float, **price: Any
) -> AnswerForecast:
    """Tell what all sets of keys would cost together, and how far off each would be."""
    _names(split, submit)
    now = desk.now()
    asked = [submit(part.sql) for part in split.sets]
    shares = _share(price, len(asked))
    prepared = [desk.prepare(submission, now, **shares) for submission in asked]
    standing = desk.standing(now, asked[0].blocks)
    found = [
        estimate_answer(ready, desk.guarantee(ready.allocation, now), standing, confidence)
        for ready in prepared
    ]
    cost = sum((forecast.cost for forecast in found), Cost())
    errors = {
        f"{name} by {', '.join(key.name for key in submission.question.keys) or 'nothing'}": error
        for submission, forecast in zip(asked, found, strict=True)
        for name, error in forecast.errors.items()
    }
    return AnswerForecast(
        cost,
        state_cost(cost, desk.budget(now)),
        standing.remaining,
        standing.covers(cost),
        errors,
        confidence,
        found[0].mechanism,
        tuple(dict.fromkeys(note for forecast in found for note in forecast.notes)),
    )


def _share(price: dict[str, Any], count: int) -> dict[str, Any]:
    """Divide the price evenly, exactly."""
    if price.get("accuracy") is not None:
        raise ParameterError(
            "An accuracy is found for one grouping at a time; name a price for several, such as "
            "epsilon=1, of which each gets an equal share."
        )
    return {
        name: None if value is None else stated(value) / count
        for name, value in price.items()
        if name != "accuracy"
    }


def _names(split: SplitQuestion, submit: Submit) -> tuple[str, ...]:
    """Name the columns as the finest grouping would; it is read, never asked."""
    named = [output.name for output in outputs_of(submit(split.finest.sql).question)]
    places = range(len(split.constants) + len(named))
    shown = iter(named)
    return tuple(split.constants.get(place) or next(shown) for place in places)


class _Stack:
    """Answers of several sets of keys, one below the other under the columns of the finest."""

    def __init__(
        self, split: SplitQuestion, names: tuple[str, ...], answers: Sequence[Answer]
    ) -> None:
        self.split, self.names, self.answers = split, names, answers
        # The column of each answer that stands at a place of the SELECT list; None: a constant.
        self.columns = [
            dict(zip((p for p in range(len(names)) if p not in part.constants), answer.columns,
                     strict=True))
            for part, answer in zip(split.sets, answers, strict=True)
        ]  # fmt: skip
        self.rows = self._ordered()

    def fields(self) -> dict[str, Any]:
        """Give columns, rows and intervals by the names of ``Answer``."""
        first, columns = self.answers[0], self.columns[0]
        return {
            "columns": self.names,
            "rows": tuple(cells for _, cells in self.rows),
            "measures": self._stacked("measures"),
            "derived": self._stacked("derived"),
            "ranges": {
                name: first.ranges[columns[place]]
                for place, name in enumerate(self.names)
                if columns.get(place) in first.ranges
            },
            "keys": tuple(n for place, n in enumerate(self.names) if self._is_key(place)),
        }

    def _ordered(self) -> list[tuple[tuple[int, int], tuple[Any, ...]]]:
        """List rows as ((set, row of its answer), cells), in the order that was asked for."""
        rows = [
            ((at, number), self._cells(at, row))
            for at, answer in enumerate(self.answers)
            for number, row in enumerate(answer.rows)
        ]
        for place, descending in reversed(self.split.order):
            rows.sort(key=partial(_rank, place), reverse=descending)
        return rows[: self.split.limit]

    def _cells(self, at: int, row: Sequence[Any]) -> tuple[Any, ...]:
        found = dict(zip(self.columns[at], row, strict=True)) | dict(self.split.sets[at].constants)
        return tuple(found[place] for place in range(len(self.names)))

    def _stacked(self, what: str) -> dict[str, StackedColumn[Any]]:
        """Stack what the intervals of a column need, where every answer has it."""
        found = {}
        places = tuple((at, self.answers[at].places[row]) for (at, row), _ in self.rows)
        for place, name in enumerate(self.names):
            held = [
                getattr(answer, what).get(columns.get(place))
                for answer, columns in zip(self.answers, self.columns, strict=True)
            ]
            if all(column is not None for column in held):
                found[name] = StackedColumn(tuple(held), places)
        return found

    def _is_key(self, place: int) -> bool:
        """Tell whether a column is a key or a constant in some answer."""
        return any(
            place not in columns or columns[place] in answer.keys
            for answer, columns in zip(self.answers, self.columns, strict=True)
        )


def _rank(place: int, row: tuple[Any, tuple[Any, ...]]) -> Any:
    return sort_key((row[1][place],))
