"""The desk of one analyst at one dataset: the steps that every question takes, in their order.

Contract: a question is priced from public facts, charged durably, and only then put to the engine;
:meth:`Desk.charged` is the one place where a charge is made, and nothing here asks the engine
before it. What the ledger says is read at one moment before the charge (rules, position, totals)
and checked again by the charge itself, which refuses if somebody else came first.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.ask.answers.answer import Answer
from sfumato.ask.answers.composition import composed, outputs_of
from sfumato.ask.answers.measurement import numbers
from sfumato.ask.answers.tables import dumped, loaded
from sfumato.ask.price.preparation import prepare
from sfumato.ask.price.standing import Standing, smallest
from sfumato.ask.session.paid import paid
from sfumato.ask.session.pilot import priced
from sfumato.dp.guarantees import ZCDP
from sfumato.dp.neighbours import Neighbours
from sfumato.errors import DataError, GovernanceError, ParameterError, PositionMoved, Refused
from sfumato.govern.ledger.charges import Charge
from sfumato.govern.policies import Free
from sfumato.govern.purposes import check_purpose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sfumato.ask.language.language import Question
    from sfumato.ask.price.preparation import Prepared
    from sfumato.ask.price.strategy import Strategy
    from sfumato.ask.session.dataset import Opened
    from sfumato.ask.session.submission import Submission
    from sfumato.dp.guarantees import Guarantee
    from sfumato.govern.ledger.charges import Receipt
    from sfumato.govern.ledger.snapshots import Snapshot

_TRIES = 100
T = TypeVar("T")


@dataclass(frozen=True)
class Desk:
    """Where one analyst asks about one dataset for one purpose."""

    opened: Opened
    analyst: str
    purpose: str | None
    lock: threading.RLock = field(default_factory=threading.RLock)

    # -- what the ledger says -------------------------------------------------------------

    def now(self) -> Snapshot:
        """Read the rules in force, the place in the policy and the totals; check the purpose."""
        opened = self.opened
        found = opened.ledger.snapshot(opened.dataset, self.analyst, self.purpose, opened.blocks)
        check_purpose(opened.dataset, found.registration.purposes, self.purpose)
        return found

    @property
    def neighbours(self) -> Neighbours:
        """What a guarantee of this dataset is about: one unit added or removed."""
        return Neighbours("unbounded", self.opened.unit)

    def budget(self, now: Snapshot) -> Guarantee:
        """Give the smallest limit that applies, whatever was spent of it."""
        chosen = smallest([limit for _, limit, _ in now.limits()])
        return replace(chosen, neighbours=self.neighbours)

    def standing(self, now: Snapshot, blocks: Sequence[str] | None = None) -> Standing:
        """Take down what was spent of every limit that applies, on some blocks or all."""
        accounts = tuple(
            (limit, spent)
            for (block, _, _), limit, spent in now.limits()
            if blocks is None or block in blocks
        )
        return Standing(accounts, self.neighbours)

    # -- the steps ------------------------------------------------------------------------

    def ask(self, one: Submission, **price: Any) -> Answer:
        """Answer a question: again for nothing if it was asked before, or for its price."""
        text = one.text(self.purpose, **price)
        with self.lock:
            now = self.now()
            found = self.repeated(one.blocks, text)
            if found is not None:
                return self.again(found, one)
            amount = priced(self, now, one, price)
            if price.get("accuracy") is not None:
                now = self.now()  # a pilot question may have moved the totals on
            return self._charged_alone(now, one, text, amount)

    def prepared(self, one: Submission, now: Snapshot, **price: Any) -> Prepared:
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
            position = now.position(self._deciding_scope(now), one.blocks)
            asked[kind] = policy.next(budget, position, asked[kind])
        standing = self.standing(now, one.blocks)
        with one.offering():
            return prepare(one.question, self.opened.unit, budget, standing=standing, **asked)

    def answerable(self, question: Question) -> bool:
        """Tell whether a question could be answered at some price, whatever is left."""
        budget = self.budget(self.now())
        price: dict[str, Any] = {"rho" if isinstance(budget, ZCDP) else "epsilon": 1}
        try:
            prepare(question, self.opened.unit, budget, **price)
        except (ParameterError, Refused):
            return False
        return True

    def _deciding_scope(self, now: Snapshot) -> str:
        """Name the scope whose limit a policy deals out: that of the smallest."""
        chosen = smallest([limit for _, limit, _ in now.limits()])
        return next(scope for (_, scope, _), limit, _ in now.limits() if limit == chosen)

    def guarantee(self, strategy: Strategy, now: Snapshot) -> Guarantee:
        """State what one answer promises about one unit."""
        return strategy.guarantee(self.neighbours, self.budget(now))

    def was_asked(self, blocks: Sequence[str], text: str) -> bool:
        """Tell whether this analyst has had an answer to the same question on unchanged data."""
        opened = self.opened
        fingerprint = opened.fingerprint(blocks)
        return opened.ledger.stored(opened.dataset, self.analyst, fingerprint, text) is not None

    def repeated(self, blocks: Sequence[str], text: str) -> str | None:
        """Find the answer that this analyst has had to the same question on unchanged data.

        It is given again then, which the ledger records before it happens.
        """
        opened = self.opened
        fingerprint = opened.fingerprint(blocks)
        return opened.ledger.repeat(opened.dataset, self.analyst, fingerprint, text)

    def charged(
        self,
        now: Snapshot,
        plan: Callable[[Snapshot], tuple[T, dict[str, Any]]],
        **facts: Any,
    ) -> tuple[T, Receipt]:
        """Charge what is planned for this moment, and plan again if somebody came first.

        ``plan`` gives what it planned, with the cost and the guarantee of the charge.
        """
        for _ in range(_TRIES):
            planned, price = plan(now)
            charge = Charge(
                dataset=self.opened.dataset,
                analyst=self.analyst,
                purpose=self.purpose,
                fingerprint=self.opened.fingerprint(facts["blocks"]),
                **self._position(now, facts["blocks"]),
                **facts,
                **price,
            )
            try:
                return planned, self.opened.ledger.charge(charge)
            except PositionMoved:
                now = self.now()
        raise DataError("The ledger is too busy: other questions were charged first; ask again.")

    def _position(self, now: Snapshot, blocks: tuple[str, ...]) -> dict[str, Any]:
        """State for which place in the policy a charge was planned, where that matters."""
        if isinstance(now.registration.policy, Free):
            return {}
        scope = self._deciding_scope(now)
        return {"scope": scope, "position": now.position(scope, blocks)}

    def answered(
        self, one: Submission, text: str, prepared: Prepared, guarantee: Guarantee, receipt: Receipt
    ) -> Answer:
        """Ask the engine, now that the charge is durable."""
        found = numbers(prepared, self.opened.engine_of(one.blocks), self.opened.salt)
        return Answer(
            question=text,
            guarantee=guarantee,
            cost=prepared.strategy.cost,
            standing=self.standing(receipt.after, one.blocks),
            kind=self.opened.kind,
            **composed(found),
        )

    def again(self, stored: str, one: Submission) -> Answer:
        """Give a stored answer under the names that the question at hand uses."""
        standing = self.standing(self.now(), one.blocks)
        answer = loaded(stored, standing=standing, kind=self.opened.kind)
        return answer.renamed(tuple(output.name for output in outputs_of(one.question)))

    def _charged_alone(
        self, now: Snapshot, one: Submission, text: str, price: dict[str, Any]
    ) -> Answer:
        def plan(now: Snapshot) -> tuple[tuple[Prepared, Guarantee], dict[str, Any]]:
            ready = self.prepared(one, now, **price)
            promised = self.guarantee(ready.strategy, now)
            return (ready, promised), {"cost": ready.strategy.cost, "guarantee": str(promised)}

        (ready, promised), receipt = self.charged(now, plan, blocks=one.blocks, question=text)
        ledger = self.opened.ledger
        answer = paid(ledger, receipt, lambda: self.answered(one, text, ready, promised, receipt))
        ledger.settle(receipt, dumped(answer))
        return answer
