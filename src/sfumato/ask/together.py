"""Several questions asked together: in parallel where no row can be in two of them.

Contract: if the unit is the row and the conditions of two questions on the same relation prove that
no row satisfies both (:mod:`sfumato.ask.disjoint`), a row added or removed changes at most one of
their answers. A row then lies in a set of questions no two of which are disjoint, so the cost is
the largest total over such sets, number by number; where nothing is proved, or the unit is a
person with several rows, all costs add up. One charge is made for all before any is answered.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.answer_tables import dumped
from sfumato.ask.answering import numbers
from sfumato.ask.composing import composed
from sfumato.ask.disjoint import disjoint
from sfumato.ask.language import Filter, Logic, Measure, Scan
from sfumato.ask.paid import paid
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import ApproxDP
from sfumato.dp.neighbours import Neighbours, Row
from sfumato.errors import DataError, ParameterError, PositionMoved
from sfumato.govern.charging import Charge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sfumato.ask.answer import Answer
    from sfumato.ask.language import Expression, Question, Relation
    from sfumato.ask.posed import Posed
    from sfumato.ask.preparing import Prepared
    from sfumato.ask.session import Session
    from sfumato.dp.guarantees import Guarantee
    from sfumato.govern.charging import Receipt

_MOST = 200
_TRIES = 20


def row_count(one: Posed) -> Posed:
    """Ask how many rows have a value for each mean of a question."""
    counts = tuple(
        Measure(f"rows_{i}", "count", m.term, m.where, spelling="COUNT")
        for i, m in enumerate(one.question.measures)
        if m.aggregate == "avg"
    )
    question = replace(one.question, measures=counts, outputs=(), having=None, order=(), limit=None)
    return replace(one, question=question)


def answered_together(session: Session, questions: Sequence[Any], **price: Any) -> list[Answer]:
    """Charge several questions at once and answer them."""
    if not questions or len(questions) > _MOST:
        raise ParameterError(f"Ask between 1 and {_MOST} questions together.")
    all_posed = [session._posed(question) for question in questions]  # noqa: SLF001 - same room
    text = json.dumps([one.text(session.purpose, **price) for one in all_posed], ensure_ascii=False)
    opened = session._open  # noqa: SLF001 - the same
    blocks = tuple(dict.fromkeys(block for one in all_posed for block in one.blocks))
    with session._lock:  # noqa: SLF001 - the same
        opened.check_purpose(session.purpose)
        fingerprint = opened.fingerprint(blocks)
        stored = session.ledger.stored(session.dataset, session.analyst, fingerprint, text)
        if stored is not None:
            return [
                session._again(entry, one.question)  # noqa: SLF001
                for entry, one in zip(json.loads(stored), all_posed, strict=True)
            ]
        asked = [one.question for one in all_posed]
        facts = {"blocks": blocks, "fingerprint": fingerprint, "question": text}
        prepared, receipt = _charged(session, asked, facts, price)

        def work() -> list[Answer]:
            return [
                session._answer(  # noqa: SLF001
                    one.text(session.purpose, **price),
                    composed(numbers(ready, opened.engine_of(one.blocks), opened.salt)),
                    ready.strategy,
                )
                for one, ready in zip(all_posed, prepared, strict=True)
            ]

        answers = paid(session.ledger, receipt, work)
        session.ledger.settle(receipt, json.dumps([dumped(answer) for answer in answers]))
    return answers


def _charged(
    session: Session, questions: list[Question], facts: dict[str, Any], price: dict[str, Any]
) -> tuple[list[Prepared], Receipt]:
    """Prepare all questions at the same place in the policy, and charge them as one."""
    for _ in range(_TRIES):
        budget = session.budget
        position = session.ledger.position(session.dataset, session.analyst)
        prepared = [
            session._prepared_at(one, budget, position, **price)  # noqa: SLF001 - same room
            for one in questions
        ]
        costs = [one.strategy.cost for one in prepared]
        cost = joint_cost(questions, costs, by_row=isinstance(session.unit, Row))
        charge = Charge(
            dataset=session.dataset,
            analyst=session.analyst,
            purpose=session.purpose,
            cost=cost,
            guarantee=str(_stated(cost, session)),
            position=position,
            **facts,
        )
        try:
            return prepared, session.ledger.charge(charge)
        except PositionMoved:
            continue
    raise DataError("The ledger is too busy: other questions were charged first; ask again.")


def _stated(cost: Cost, session: Session) -> Guarantee:
    """State what all the answers promise together."""
    budget = session.budget
    delta = (
        budget.delta if isinstance(budget, ApproxDP) and (cost.mu_squared or cost.delta) else None
    )
    return cost.guarantee(Neighbours("unbounded", session.unit), delta=delta or None)


def joint_cost(questions: Sequence[Question], costs: Sequence[Cost], *, by_row: bool) -> Cost:
    """Give what several questions cost together."""
    if not by_row:
        return _sum(costs)
    apart = [[_apart(one, other) for other in questions] for one in questions]
    sums = [_sum([costs[i] for i in group]) for group in _overlapping(apart)]
    return Cost(
        max(one.epsilon for one in sums),
        max(one.mu_squared for one in sums),
        max(one.delta for one in sums),
    )


def _sum(costs: Sequence[Cost]) -> Cost:
    whole = Cost()
    for cost in costs:
        whole += cost
    return whole


def _overlapping(apart: list[list[bool]]) -> Iterator[list[int]]:
    """List sets of questions that cover every set of pairwise overlapping ones.

    Question i with all later ones that may overlap it holds every clique whose first member is
    i, so these sets bound what any row can be in.
    """
    count = len(apart)
    for i in range(count):
        rest = [k for k in range(i + 1, count) if not apart[i][k]]
        yield from _split(i, rest, apart)


def _split(first: int, rest: list[int], apart: list[list[bool]]) -> Iterator[list[int]]:
    """Narrow a set down to cliques while it is small; a larger set is charged whole."""
    if len(rest) > 12:
        yield [first, *rest]
        return
    work = [([first], rest)]
    while work:
        chosen, open_ = work.pop()
        if not open_:
            yield chosen
            continue
        head, *tail = open_
        work.append(([*chosen, head], [k for k in tail if not apart[head][k]]))
        work.append((chosen, tail))


def _apart(one: Question, other: Question) -> bool:
    (source, condition), (base, second) = _narrowed(one.relation), _narrowed(other.relation)
    return _same(source, base) and disjoint(condition, second)


def _same(one: Relation, other: Relation) -> bool:
    """Tell whether two relations have the same rows, whichever columns of them are read."""
    if isinstance(one, Scan) and isinstance(other, Scan):
        return one.table == other.table
    return one == other


def _narrowed(relation: Relation) -> tuple[Relation, Expression | None]:
    """Separate the conditions of a relation from what they narrow."""
    conditions: list[Expression] = []
    while isinstance(relation, Filter):
        conditions.append(relation.condition)
        relation = relation.source
    if not conditions:
        return relation, None
    joined = conditions[0] if len(conditions) == 1 else Logic("and", tuple(conditions))
    return relation, joined
