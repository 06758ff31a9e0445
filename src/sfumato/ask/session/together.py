"""Several questions asked together: in parallel where no row can be in two of them.

Contract: if the unit is the row and the conditions of two questions on the same relation prove that
no row satisfies both (:mod:`sfumato.ask.price.disjoint`), a row added or removed changes at most
one of their answers. A row then lies in a set of questions no two of which are disjoint, so the
cost is the largest total over such sets, number by number; where nothing is proved, or the unit is
a person with several rows, or a row is replaced by another (which takes it from the answer of one
question to that of the other), all costs add up. One charge is made for all before any is answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.ask.answers.answer_records import dump_answer
from sfumato.ask.answers.composition import outputs_of
from sfumato.ask.language.language import Filter, Logic, Scan
from sfumato.ask.price.disjoint import disjoint
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import ApproxDP
from sfumato.dp.neighbours import Neighbours, Row
from sfumato.dp.rounding import stated_up
from sfumato.errors import ParameterError
from sfumato.govern.spending import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sfumato.ask.answers.answer import Answer
    from sfumato.ask.language.language import Expression, Question, Relation
    from sfumato.ask.price.preparation import PreparedQuestion
    from sfumato.ask.session.desk import Desk
    from sfumato.ask.session.submission import Submission
    from sfumato.dp.guarantees import Guarantee
    from sfumato.govern.ledger.snapshots import Snapshot
    from sfumato.govern.spending import Purchase

_MOST = 200


def answer_together(desk: Desk, asked: Sequence[Submission], **price: Any) -> list[Answer]:
    """Charge the questions that were not answered before at once, and answer them all."""
    if not asked or len(asked) > _MOST:
        raise ParameterError(f"Ask between 1 and {_MOST} questions together.")
    texts = [submission.text(desk.purpose, **price) for submission in asked]
    by_text = dict(zip(texts, asked, strict=True))

    def work(bought: Purchase[list[tuple[PreparedQuestion, Guarantee]]]) -> list[Answer]:
        return [
            desk.answer(by_text[text], text, prepared, promised, bought.after)
            for text, (prepared, promised) in zip(bought.wanted, bought.made, strict=True)
        ]

    with desk.lock:
        found = desk.spending.spend_together(
            lambda now, new: _planned(desk, [by_text[text] for text in new], price, now),
            work,
            what=texts,
            blocks=tuple(
                dict.fromkeys(block for submission in asked for block in submission.blocks)
            ),
            dump=dump_answer,
            load=lambda text, stored: desk.repeat(stored, by_text[text]),
        )
    names = (
        tuple(output.name for output in outputs_of(submission.question)) for submission in asked
    )
    return [found[text].renamed(name) for text, name in zip(texts, names, strict=True)]


def _planned(
    desk: Desk, asked: Sequence[Submission], price: dict[str, Any], now: Snapshot
) -> Plan[list[tuple[PreparedQuestion, Guarantee]]]:
    """Prepare all questions at the same place in the policy, to be charged as one."""
    prepared = [desk.prepare(submission, now, **price) for submission in asked]
    cost = joint_cost(
        [submission.question for submission in asked],
        [ready.allocation.cost for ready in prepared],
        by_row=desk.spending.neighbours == Neighbours("unbounded", Row()),
    )
    promised = [desk.guarantee(ready.allocation, now) for ready in prepared]
    made = list(zip(prepared, promised, strict=True))
    kept = {"asked": [submission.tree for submission in asked]}
    return Plan(cost, state_cost(cost, desk.budget(now)), kept, made)


def state_cost(cost: Cost, budget: Guarantee) -> Guarantee:
    """State what all the answers promise together."""
    if not isinstance(budget, ApproxDP) or not (cost.mu_squared or cost.delta):
        return cost.guarantee(budget.neighbours)
    delta = budget.exact_delta
    if cost.delta >= delta:  # which the ledger refuses, in words about the budget
        return ApproxDP(
            stated_up(cost.epsilon), stated_up(cost.delta), neighbours=budget.neighbours
        )
    return cost.guarantee(budget.neighbours, delta=delta or None)


def joint_cost(questions: Sequence[Question], costs: Sequence[Cost], *, by_row: bool) -> Cost:
    """Give what several questions cost together."""
    if not by_row:
        return _sum(costs)
    apart = [[_apart(first, second) for second in questions] for first in questions]
    sums = [_sum([costs[i] for i in group]) for group in _overlapping(apart)]
    return Cost(
        max(cost.epsilon for cost in sums),
        max(cost.mu_squared for cost in sums),
        max(cost.delta for cost in sums),
        epsilon_squared=max(cost.epsilon_squared for cost in sums),
        concentrated=max(cost.concentrated for cost in sums),
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


def _apart(left: Question, right: Question) -> bool:
    (source, condition), (base, second) = _narrowed(left.relation), _narrowed(right.relation)
    return _same(source, base) and disjoint(condition, second)


def _same(first: Relation, second: Relation) -> bool:
    """Tell whether two relations have the same rows, whichever columns of them are read."""
    if isinstance(first, Scan) and isinstance(second, Scan):
        return first.table == second.table
    return first == second


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
