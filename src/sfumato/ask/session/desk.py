"""The desk of one analyst at one dataset: how a question is priced, and answered once it is paid.

Contract: everything that uses up a budget goes through ``spending``
(:class:`sfumato.govern.spending.Spending`), which charges durably before any engine is asked. The
desk says what a question costs, from public facts, and how its answer is made, kept and given
again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.ask.answers.answer import Answer
from sfumato.ask.answers.answer_records import dump_answer, load_fields
from sfumato.ask.answers.composition import compose_answer, outputs_of
from sfumato.ask.answers.measurement import measure
from sfumato.ask.language.language import Scan
from sfumato.ask.language.request import GroupsBound, Request, RowBound
from sfumato.ask.price.preparation import prepare
from sfumato.ask.session.pilot import find_price
from sfumato.dp.guarantees import ZCDP
from sfumato.dp.neighbours import Row
from sfumato.errors import GovernanceError, ParameterError, Refused
from sfumato.govern.policies import Free
from sfumato.govern.spending import Plan, Spending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sfumato.ask.language.language import Question
    from sfumato.ask.price.allocation import Allocation
    from sfumato.ask.price.preparation import PreparedQuestion
    from sfumato.ask.session.dataset import OpenDataset
    from sfumato.ask.session.submission import Submission
    from sfumato.dp.guarantees import Guarantee
    from sfumato.govern.ledger.snapshots import Snapshot
    from sfumato.govern.spending import Purchase
    from sfumato.govern.standing import Standing

_FAILED = (
    "The engine could not answer the question; its cost stays charged, because an error must not "
    "be a free question."
)


@dataclass(frozen=True)
class Desk:
    """Where one analyst asks about one dataset for one purpose."""

    opened: OpenDataset
    analyst: str
    purpose: str | None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @cached_property
    def spending(self) -> Spending:
        """How the budget of the dataset is used up by this analyst."""
        opened = self.opened
        return Spending(
            opened.ledger, opened.dataset, self.analyst, self.purpose, opened.unit,
            opened.fingerprint, opened.blocks, _FAILED,
        )  # fmt: skip

    # -- what the ledger says -------------------------------------------------------------

    def now(self) -> Snapshot:
        """Read the rules in force, the place in the policy and the totals; check the purpose."""
        return self.spending.snapshot()

    def budget(self, now: Snapshot) -> Guarantee:
        """Give the smallest limit that applies, whatever was spent of it."""
        return self.spending.budget(now)

    def standing(self, now: Snapshot, blocks: Sequence[str] | None = None) -> Standing:
        """Take down what was spent of every limit that applies, on some blocks or all."""
        return self.spending.standing(now, blocks)

    def size(self) -> int:
        """Count the units, whose number is the same in all bounded neighbours, and so public."""
        if not self.spending.neighbours.bounded:
            raise ParameterError(
                "How many there are is hidden, because one may be added or removed: ask for "
                "COUNT(*) at a price. It is public where the budget is about one replaced by "
                "another, as in sf.PureDP(1, neighbours='bounded')."
            )
        opened = self.opened
        bound = RowBound() if isinstance(opened.unit, Row) else GroupsBound(1, 1)
        every = Scan(opened.table, opened.facts[opened.table].columns)
        counted = opened.engine.aggregate(Request(every, (), (), bound, opened.salt))
        return sum(map(int, counted.people))

    # -- a question -----------------------------------------------------------------------

    def ask(
        self,
        submission: Submission,
        *,
        note: Callable[[Answer, str], None] | None = None,
        **price: Any,
    ) -> Answer:
        """Answer a question: again for nothing if it was asked before, or for its price.

        ``note`` gets a fresh answer and the text it is kept as, just before it is.
        """
        text = submission.text(self.purpose, **price)
        amount: dict[str, Any] = {}

        def plan(now: Snapshot) -> Plan[tuple[PreparedQuestion, Guarantee]]:
            if not amount:  # found once: the pilot question of an accuracy is paid for
                amount.update(find_price(self, now, submission, price))
                if price.get("accuracy") is not None:
                    now = self.now()  # a pilot question may have moved the totals on
            ready = self.prepare(submission, now, **amount)
            promised = self.guarantee(ready.allocation, now)
            kept = {"asked": [submission.tree]}
            return Plan(ready.allocation.cost, promised, kept, (ready, promised), now)

        def work(bought: Purchase[tuple[PreparedQuestion, Guarantee]]) -> Answer:
            return self.answer(submission, text, *bought.made, bought.after)

        def dump(answer: Answer) -> str:
            written = dump_answer(answer)
            if note is not None:
                note(answer, written)
            return written

        with self.lock:
            return self.spending.spend(
                plan, work, what=text, blocks=submission.blocks, dump=dump,
                load=lambda stored: self.repeat(stored, submission),
            )  # fmt: skip

    def prepare(self, submission: Submission, now: Snapshot, **price: Any) -> PreparedQuestion:
        """Prepare a question at the price that the policy gives it."""
        budget, policy = self.budget(now), now.registration.policy
        asked = {name: price.get(name) for name in ("epsilon", "rho", "delta")}
        kind = "rho" if isinstance(budget, ZCDP) and asked["epsilon"] is None else "epsilon"
        if kind == "epsilon" and isinstance(budget, ZCDP) and not isinstance(policy, Free):
            raise GovernanceError(
                f"The policy of this dataset ({policy}) deals out ρ, and an ε was wanted; leave "
                "the amount out to take what the policy gives."
            )
        if asked[kind] is not None or asked["epsilon"] is asked["rho"] is None:
            asked[kind] = self.spending.amount(now, asked[kind], submission.blocks)
        standing = self.standing(now, submission.blocks)
        with submission.offering():
            return prepare(
                submission.question, self.opened.unit, budget, standing=standing, **asked
            )

    def answerable(self, question: Question) -> bool:
        """Tell whether a question could be answered at some price, whatever is left."""
        budget = self.budget(self.now())
        price: dict[str, Any] = {"rho" if isinstance(budget, ZCDP) else "epsilon": 1}
        try:
            prepare(question, self.opened.unit, budget, **price)
        except (ParameterError, Refused):
            return False
        return True

    def guarantee(self, allocation: Allocation, now: Snapshot) -> Guarantee:
        """State what one answer promises about one unit."""
        return allocation.guarantee(self.spending.neighbours, self.budget(now))

    def answer(
        self,
        submission: Submission,
        text: str,
        prepared: PreparedQuestion,
        guarantee: Guarantee,
        after: Snapshot,
    ) -> Answer:
        """Ask the engine, now that the charge is durable."""
        found = measure(prepared, self.opened.engine_of(submission.blocks), self.opened.salt)
        return Answer(
            question=text,
            tree=submission.tree,
            guarantee=guarantee,
            cost=prepared.allocation.cost,
            standing=self.standing(after, submission.blocks),
            kind=self.opened.kind,
            **compose_answer(found),
        )

    def repeat(self, stored: str, submission: Submission) -> Answer:
        """Give a stored answer under the names that the question at hand uses."""
        standing = self.standing(self.now(), submission.blocks)
        answer = Answer.again(load_fields(stored), standing=standing, kind=self.opened.kind)
        return answer.renamed(tuple(output.name for output in outputs_of(submission.question)))
