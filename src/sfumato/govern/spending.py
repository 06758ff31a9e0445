"""Spending: the one way to use up ε, for an answer, a histogram, a synthetic table or a model.

Contract, in the order in which things happen:

1. **Repeat.** What the same analyst has bought before for the same purpose, by the same text on
   unchanged data, is given again for nothing. Who wants the same at the same moment, in another
   thread, session or process, waits for it and pays nothing either
   (:mod:`sfumato.govern.ledger.question_lock`).
2. **Price.** ``plan(snapshot)`` states cost and guarantee from public facts and from what the
   ledger says at one moment. It reads no data, so a refusal costs and tells nothing.
3. **Charge.** The cost is on disk, checked against every limit, or nothing happens. If somebody
   else came first and the policy goes by the order of questions, ``plan`` is asked again.
4. **Work.** Only now ``work`` may touch data. Whatever goes wrong in it, the charge stays, or
   errors would be free questions; the ledger gets a code and the caller one sentence, raised
   outside of the handler, so that no error that may quote a cell hangs on to it.
5. **Settle.** The result is stored as the text ``dump`` makes of it, for step 1, and given.

A dataset is registered before a first charge. In a ledger that is tentative
(:mod:`sfumato.govern.ledger.tentative`) nothing is written until a first plan has proved to
fit: it is charged to memory, and only then the registration is kept, for good.

    >>> from sfumato import dp
    >>> from sfumato.dp.accounting.costs import Cost
    >>> from sfumato.dp.guarantees import PureDP
    >>> from sfumato.govern import Ledger, Limits, Plan, Registration, Spending
    >>> ledger = Ledger(None)
    >>> ledger.register(Registration("patients", Limits(PureDP(1))))
    >>> spending = Spending(ledger, "patients", analyst="ann", fingerprint="rows of May")
    >>> def spend_on_a_count():
    ...     return spending.spend(
    ...         plan=lambda now: Plan(Cost("0.5"), PureDP("0.5")),
    ...         work=lambda bought: int(dp.Geometric(epsilon="0.5", sensitivity=1).release(812)),
    ...         what="how many patients there are",
    ...     )
    >>> spend_on_a_count() == spend_on_a_count()        # the second is the first again, for nothing
    True
    >>> spending.remaining.epsilon
    0.5
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sfumato.dp.guarantee_json import guarantee_to_json
from sfumato.dp.neighbours import Neighbours, Row
from sfumato.errors import DataError, GovernanceError, ParameterError, PositionMoved, WorkFailed
from sfumato.govern.known_noise import refuse_known_noise
from sfumato.govern.ledger.chain import canonical, joined
from sfumato.govern.ledger.charges import Charge
from sfumato.govern.ledger.registrations import MAIN
from sfumato.govern.ledger.tentative import TentativeLedger
from sfumato.govern.policies import Free
from sfumato.govern.purposes import check_purpose
from sfumato.govern.standing import Standing, smallest
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from sfumato.dp.accounting.costs import Cost
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.dp.rounding import Stated
    from sfumato.govern.ledger.charges import Receipt
    from sfumato.govern.ledger.ledger import Ledger
    from sfumato.govern.ledger.snapshots import Snapshot

_TRIES = 100
_FAILED = (
    "What was paid for could not be done; its cost stays charged, because an error must not be a "
    "free question."
)
T = TypeVar("T")
P = TypeVar("P")


@dataclass(frozen=True)
class Plan(Shown, Generic[P]):
    """What something will cost and promise, stated before data are touched.

    ``details`` is plain JSON for the ledger's entry; ``made`` is whatever the planner wants to hand
    to the work. ``at`` is the moment it was planned for, if that is later than the one given.
    """

    cost: Cost
    guarantee: Guarantee
    details: Mapping[str, Any] = field(default_factory=dict)
    made: P | None = None
    at: Snapshot | None = None


@dataclass(frozen=True)
class Purchase(Shown, Generic[P]):
    """What was charged: the plan, the proof that it is on disk, and which texts it is for."""

    plan: Plan[P]
    receipt: Receipt
    wanted: tuple[str, ...]

    @property
    def made(self) -> P:
        """What the planner made for the work."""
        assert self.plan.made is not None
        return self.plan.made

    @property
    def after(self) -> Snapshot:
        """What the ledger says right after the charge."""
        return self.receipt.after


@dataclass(frozen=True)
class Spending(Shown):
    """Where one analyst spends on one dataset, for one purpose.

    ``unit`` is whose presence is hidden: every guarantee that is bought is about one of it added or
    removed (or replaced by another, where the owner's limits are about that). ``fingerprint`` is a
    text that changes when the data do, or a function that gives one for some blocks; ``blocks`` are
    those of the dataset.
    """

    ledger: Ledger
    dataset: str
    analyst: str
    purpose: str | None = None
    unit: PrivacyUnit = field(default_factory=Row)
    fingerprint: str | Callable[[Sequence[str]], str] = ""
    blocks: tuple[str, ...] = (MAIN,)
    failed: str = _FAILED

    # -- what the ledger says -------------------------------------------------------------

    @cached_property
    def neighbours(self) -> Neighbours:
        """What a guarantee of this dataset is about: one unit added or removed, or replaced.

        Which of the two is what the owner's limits are about, and never changes.
        """
        known = self.ledger.registration(self.dataset)
        return Neighbours("unbounded" if known is None else known.limits.relation, self.unit)

    def refuse_replaced(self, what: str) -> None:
        """Refuse what is proved for units that are added or removed, and for no others."""
        if self.neighbours.bounded:
            raise ParameterError(
                f"{what} hides units that are added or removed, and the budget of "
                f"{self.dataset!r} is about one replaced by another (neighbours='bounded'); use a "
                "dataset whose budget is unbounded."
            )

    def snapshot(self) -> Snapshot:
        """Read the rules in force, the place in the policy and the totals; check the purpose."""
        found = self.ledger.snapshot(self.dataset, self.analyst, self.purpose, self.blocks)
        check_purpose(self.dataset, found.registration.purposes, self.purpose)
        return found

    def budget(self, now: Snapshot) -> Guarantee:
        """Give the smallest limit that applies, whatever was spent of it."""
        chosen = smallest([limit for _, limit, _ in now.limits()])
        if chosen.neighbours != self.neighbours:
            chosen = replace(chosen, neighbours=self.neighbours)
        return chosen

    def standing(self, now: Snapshot, blocks: Sequence[str] | None = None) -> Standing:
        """Take down what was spent of every limit that applies, on some blocks or all."""
        accounts = tuple(
            (limit, spent)
            for (block, _, _), limit, spent in now.limits()
            if blocks is None or block in blocks
        )
        return Standing(accounts, self.neighbours)

    @property
    def remaining(self) -> Guarantee:
        """What is left of the tightest limit."""
        return self.standing(self.snapshot()).remaining

    def amount(
        self, now: Snapshot, wanted: Stated | None = None, blocks: Sequence[str] | None = None
    ) -> Fraction:
        """Give the ε (or ρ, of a budget in ρ) that the policy lets the next purchase spend."""
        position = now.position(self._deciding_scope(now), tuple(blocks or self.blocks))
        return now.registration.policy.next(self.budget(now), position, wanted)

    # -- spending -------------------------------------------------------------------------

    def spend(
        self,
        plan: Callable[[Snapshot], Plan[P]],
        work: Callable[[Purchase[P]], T],
        *,
        what: str,
        blocks: Sequence[str] | None = None,
        dump: Callable[[T], str] = json.dumps,
        load: Callable[[str], T] = json.loads,
        wait: float | None = None,
    ) -> T:
        """Price, charge, work and settle; or give again what was bought before.

        ``what`` names what is bought: two with one text are the same, so it holds every parameter
        that matters, the price among them. ``dump`` and ``load`` write the result as text and
        read it. ``wait`` limits the seconds to wait while the same is bought elsewhere.
        """

        def planned(now: Snapshot, _: tuple[str, ...]) -> Plan[P]:
            return plan(now)

        found = self.spend_together(
            planned, lambda bought: (work(bought),), what=(what,), blocks=blocks, dump=dump,
            load=lambda _, stored: load(stored), wait=wait,
        )  # fmt: skip
        return found[what]

    def spend_together(
        self,
        plan: Callable[[Snapshot, tuple[str, ...]], Plan[P]],
        work: Callable[[Purchase[P]], Sequence[T]],
        *,
        what: Sequence[str],
        load: Callable[[str, str], T],
        dump: Callable[[T], str] = json.dumps,
        blocks: Sequence[str] | None = None,
        wait: float | None = None,
    ) -> dict[str, T]:
        """Buy several things by one charge, and give again those that were bought before.

        ``plan`` gets the texts that are new, and ``work`` gives a result for each of them, in
        their order; ``load`` gets a text and what was stored for it.
        """
        chosen = tuple(blocks or self.blocks)
        refuse_known_noise()
        self._register_first(lambda now: plan(now, tuple(what)), chosen)
        rows = self.fingerprint_of(chosen)
        with self.ledger.hold(self.dataset, self.analyst, [(rows, text) for text in what], wait):
            now = self.snapshot()  # refuses another purpose, also for what was bought before
            if len(what) == 1:
                stored = self.ledger.repeat(*self._identity(rows, what[0]))
                if stored is not None:
                    return {what[0]: load(what[0], stored)}
                return self._bought(now, plan, work, tuple(what), chosen, dump)
            new = tuple(dict.fromkeys(text for text in what if not self._is_stored(rows, text)))
            found = self._bought(now, plan, work, new, chosen, dump) if new else {}
            for text in dict.fromkeys(text for text in what if text not in new):
                found[text] = load(text, self._repeated(rows, text))
        return found

    def charge(
        self,
        plan: Callable[[Snapshot], Plan[P]],
        *,
        what: Sequence[str],
        blocks: Sequence[str] | None = None,
        now: Snapshot | None = None,
    ) -> Purchase[P]:
        """Charge what is planned for this moment, and plan again if somebody came first.

        This is a step of :meth:`spend`: what it charges stays charged, whatever is done then.
        """
        wanted, chosen = tuple(what), tuple(blocks or self.blocks)
        now = now or self.snapshot()
        for _ in range(_TRIES):
            planned = plan(now)
            charge = self._charge(planned, planned.at or now, wanted, chosen)
            try:
                return Purchase(planned, self.ledger.charge(charge), wanted)
            except PositionMoved:
                now = self.snapshot()
        raise DataError("The ledger is too busy: other questions were charged first; ask again.")

    def perform(self, bought: Purchase[P], work: Callable[[Purchase[P]], T]) -> T:
        """Do what was paid for; an error does not give the payment back."""
        try:
            return work(bought)
        except (KeyboardInterrupt, SystemExit):
            self.ledger.fail(bought.receipt, "interrupted")
            raise
        except AssertionError:
            code = "internal"
        except Exception:  # noqa: BLE001 - whatever it is, its message may quote a cell
            code = "engine-failed"
        self.ledger.fail(bought.receipt, code)
        raise WorkFailed(self.failed, charge=bought.receipt.number, code=code)

    def fingerprint_of(self, blocks: Sequence[str]) -> str:
        """Give the text that changes when the data of these blocks do."""
        return self.fingerprint if isinstance(self.fingerprint, str) else self.fingerprint(blocks)

    # -- steps ----------------------------------------------------------------------------

    def _bought(
        self,
        now: Snapshot,
        plan: Callable[[Snapshot, tuple[str, ...]], Plan[P]],
        work: Callable[[Purchase[P]], Sequence[T]],
        new: tuple[str, ...],
        blocks: tuple[str, ...],
        dump: Callable[[T], str],
    ) -> dict[str, T]:
        bought = self.charge(lambda then: plan(then, new), what=new, blocks=blocks, now=now)
        results = self.perform(bought, work)
        self.ledger.settle(bought.receipt, *map(dump, results))
        return dict(zip(new, results, strict=True))

    def _charge(
        self, planned: Plan[P], now: Snapshot, wanted: tuple[str, ...], blocks: tuple[str, ...]
    ) -> Charge:
        several = len(wanted) > 1
        return Charge(
            dataset=self.dataset,
            analyst=self.analyst,
            purpose=self.purpose,
            blocks=blocks,
            fingerprint=self.fingerprint_of(blocks),
            question=joined(wanted) if several else wanted[0],
            parts=wanted if several else (),
            cost=planned.cost,
            guarantee=str(planned.guarantee),
            details=self._details(planned),
            **self._position(now, blocks),
        )

    def _details(self, planned: Plan[P]) -> dict[str, Any]:
        """Give what the entry keeps: the guarantee, so that it can be read back, and the rest."""
        if planned.guarantee.neighbours != self.neighbours:
            raise GovernanceError(
                f"What is bought promises something about {planned.guarantee.neighbours}, and the "
                f"budget of {self.dataset!r} is about {self.neighbours}; restate cost and "
                "guarantee for that before they are charged."
            )
        details = {"guarantee": guarantee_to_json(planned.guarantee), **planned.details}
        if planned.details:
            try:
                canonical(details)
            except (TypeError, ValueError):
                raise ParameterError("The details of a plan are plain JSON.") from None
        return details

    def _position(self, now: Snapshot, blocks: tuple[str, ...]) -> dict[str, Any]:
        """State for which place in the policy a charge was planned, where that matters."""
        if isinstance(now.registration.policy, Free):
            return {}
        scope = self._deciding_scope(now)
        return {"scope": scope, "position": now.position(scope, blocks)}

    def _deciding_scope(self, now: Snapshot) -> str:
        """Name the scope whose limit a policy deals out: that of the smallest."""
        chosen = smallest([limit for _, limit, _ in now.limits()])
        return next(scope for (_, scope, _), limit, _ in now.limits() if limit == chosen)

    def _identity(self, rows: str, text: str) -> tuple[str, str, str, str, str | None]:
        """Give all that two requests share if the second is the first again."""
        return self.dataset, self.analyst, rows, text, self.purpose

    def _is_stored(self, rows: str, text: str) -> bool:
        return self.ledger.stored(*self._identity(rows, text)) is not None

    def _repeated(self, rows: str, text: str) -> str:
        stored = self.ledger.repeat(*self._identity(rows, text))
        assert stored is not None  # it was there a moment ago, and nothing is ever deleted
        return stored

    def _register_first(self, plan: Callable[[Snapshot], Plan[P]], blocks: tuple[str, ...]) -> None:
        """Register a dataset for good once a first plan has proved to fit."""
        ledger = self.ledger
        if not isinstance(ledger, TentativeLedger) or not ledger.pending:
            return
        now = self.snapshot()
        planned = plan(now)
        if ledger.pending:  # unless the plan itself has bought something
            ledger.charge(self._charge(planned, now, ("the first",), blocks))  # to memory
            ledger.keep()
