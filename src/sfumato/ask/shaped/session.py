"""A session on a graph, trees, sets or traces: statistics under a budget that a ledger keeps.

Contract: as for tables (:mod:`sfumato.ask.session.session`), in the same ledger and by the same
steps of :mod:`sfumato.govern.spending`: a question is priced from public facts, charged durably,
and only then data are read; the same question of the same analyst is answered again for nothing.
The unit is registered with the dataset and named in every answer.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sfumato.ask.session.keys import check_registered_once, key_fingerprint, new_salt
from sfumato.ask.session.owner_rules import limits_for
from sfumato.data.graphs.directed import refuse_directions
from sfumato.data.graphs.graph import require_listed
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import Customer, unit_of
from sfumato.dp.publish.statistics.graph import check_declared
from sfumato.dp.publish.statistics.nested import OwnedSets
from sfumato.dp.publish.statistics.statistic import MeasuredValue, Statistic
from sfumato.dp.rounding import stated_up
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.ledger.registrations import SALT_HASH, Registration, salt_hash
from sfumato.govern.limits import in_short
from sfumato.govern.policies import Free
from sfumato.govern.purposes import purpose_for
from sfumato.govern.spending import Plan, Spending
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from sfumato.ask.session.publications import Publication
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.dp.publish.statistics.statistic import StatisticForecast
    from sfumato.dp.publish.topk.choice_of_way import TopKPlan
    from sfumato.dp.rounding import Stated
    from sfumato.govern.ledger.snapshots import Snapshot
    from sfumato.govern.limits import Limits
    from sfumato.govern.policies import SpendingPolicy
    from sfumato.release import Release

USUAL_UNIT = {"graph": "edge", "trees": "tree", "sets": "transaction", "trajectories": "trip"}
SHAPES = tuple(USUAL_UNIT)


@dataclass(frozen=True)
class StatisticAnswer(Shown):
    """A measured statistic with its promise; `margin` is that of the noise alone."""

    what: str
    value: Any
    guarantee: Guarantee
    margin: float | None = None
    notes: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        margin = "" if self.margin is None else f" ± {math.ceil(self.margin):,} (95 %)"
        lines = [f"{self.what}: {_shown(self.value)}{margin}", f"cost: {self.guarantee}"]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    text = json.dumps(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


class ShapedSession(Shown):
    """Statistics of one analyst about data of one shape."""

    def __init__(
        self,
        source: Any,
        *,
        unit: PrivacyUnit | str | None = None,
        budget: Guarantee | None = None,
        analyst: str = "analyst",
        purpose: str | None = None,
        ledger: Ledger | str | None = None,
        name: str | None = None,
        limits: Limits | None = None,
        policy: SpendingPolicy | None = None,
        people: Sequence[Any] | None = None,
        purposes: tuple[str, ...] = (),
        compared: Collection[str] | None = None,
    ) -> None:
        """Open a session; `people` says of each set whose it is, for the unit of a customer.

        `compared` names the datasets of the ledger whose rows these may not be; all of them, unless
        stated (:func:`~sfumato.ask.session.keys.check_registered_once`).
        """
        refuse_directions(source, "Statistics are answered")
        self.shape: str = source.shape
        self.unit = unit_of(USUAL_UNIT[self.shape] if unit is None else unit)
        if self.shape == "graph":
            require_listed(source)
            check_declared(source, self.unit)
        self.dataset = name or source.name
        self._data = _held(source, people)
        self._source, self._people = source, people
        self._owned = not isinstance(ledger, Ledger)
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        try:
            salt = self._register(source, budget, limits, policy, purposes, compared)
            known = self.ledger.registration(self.dataset)
            assert known is not None
            self.purpose = purpose_for(self.dataset, known.purposes, purpose)
        except BaseException:
            self.close()
            raise
        self.analyst = analyst
        self.spending = Spending(
            self.ledger, self.dataset, analyst=analyst, purpose=self.purpose, unit=self.unit,
            fingerprint=key_fingerprint(salt, _answers_of(source, people)),
        )  # fmt: skip

    def _register(
        self,
        source: Any,
        budget: Guarantee | None,
        limits: Limits | None,
        policy: SpendingPolicy | None,
        purposes: tuple[str, ...],
        compared: Collection[str] | None,
    ) -> bytes:
        known = self.ledger.registration(self.dataset)
        salt = self.ledger.salt(self.dataset) or new_salt()
        rules = {"shape": self.shape, "hidden": self.unit.stated(), SALT_HASH: salt_hash(salt)}
        if known is not None:
            stated = {name: known.rules.get(name) for name in ("shape", "hidden")}
            if stated != {name: rules[name] for name in ("shape", "hidden")}:
                raise GovernanceError(
                    f"{self.dataset!r} is registered for {known.unit}, and this session hides "
                    f"{self.unit}; open it with the registered unit, or another name."
                )
        stated_limits = limits_for({"limits": limits, "budget": budget}, known, self.unit)
        if stated_limits.relation == "bounded":
            raise ParameterError(
                "Statistics and copies of data that are no table hide units that are added or "
                "removed; state the budget without neighbours='bounded'."
            )
        registration = Registration(
            dataset=self.dataset,
            unit=str(self.unit),
            rules=rules if known is None else known.rules,
            purposes=purposes if known is None else known.purposes,
            limits=stated_limits,
            policy=policy or (Free() if known is None else known.policy),
        )
        rows = fingerprint(source)
        if known is None:
            check_registered_once(self.ledger, self.dataset, [rows], compared)
        keyed = key_fingerprint(salt, rows)
        self.ledger.register(registration, salt=salt, fingerprint=keyed)
        return salt

    # -- what it is ---------------------------------------------------------------------------

    @property
    def remaining(self) -> Guarantee:
        """What is left of the tightest limit."""
        return self.spending.remaining

    def __repr__(self) -> str:
        return (
            f"<Session of {self.analyst} on {self.dataset}, for {self.unit}: "
            f"{in_short(self.remaining)} left>"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the ledger, where it is this session's own."""
        if self._owned:
            self.ledger.close()

    # -- asking -------------------------------------------------------------------------------

    def ask(self, question: Statistic, *, epsilon: Stated) -> StatisticAnswer:
        """Measure a statistic of the data, such as ``sf.dp.queries.Triangles()``."""
        self._check(question)
        wanted = parameters.budget(epsilon)

        def plan(now: Snapshot) -> Plan[Fraction]:
            amount = self.spending.amount(now, stated_up(wanted))
            promise = self._promise(amount)
            return Plan(Cost.of(promise), promise, {"statistic": question.key()}, amount)

        text = json.dumps([question.key(), self.unit.stated(), str(wanted)], sort_keys=True)
        stored = self.spending.spend(
            plan, lambda bought: self._measured(question, bought.made), what=text
        )
        return StatisticAnswer(
            question.what, stored["value"], self._promise(Fraction(stored["epsilon"])),
            stored["margin"], tuple(stored["notes"]), stored["details"],
        )  # fmt: skip

    def estimate(
        self, question: Statistic, *, epsilon: Stated, guess: float | None = None
    ) -> StatisticForecast:
        """Tell the error before anything is paid; `guess` is what the answer may be."""
        self._check(question)
        return question.forecast(self.unit, parameters.budget(epsilon), guess)

    def top_k(
        self,
        what: str | int | None = None,
        k: int | None = None,
        *,
        of: str | None = None,
        among: Any = None,
        cells: int | None = None,
        counts: bool = False,
        set_size: int = 1,
        **price: Any,
    ) -> Release:
        """Release the k most frequent items of sets, values of trees, nodes, or cells of a grid.

        `what` is "item" of sets, "node" of graphs, "cell" of traces, or names a label of trees or
        an attribute of nodes (as `of` does); `session.top_k(3)` takes what the shape has. `among`
        is the public list of what can win (of sets it may be left out, with epsilon= and delta=).
        Nodes of a graph win by their degree, with edges hidden. For traces, `cells` per side of the
        public bounds can win.
        """
        from sfumato.ask.session.publish import buy  # noqa: PLC0415 - loaded when used

        k, of = _wanted(what, k, of)
        wanted = self._winners(
            k, of=of, among=among, cells=cells, counts=counts, set_size=set_size,
            unlisted=price.get("delta") is not None,
        )  # fmt: skip
        return buy(self.spending, wanted, price)

    def predict_top_k(self, what: str | int | None = None, k: int | None = None, *,
                      epsilon: Stated, delta: Stated | None = None, of: str | None = None,
                      **options: Any) -> TopKPlan:  # fmt: skip
        """Tell what `top_k` can tell apart at a price; nothing is read or spent."""
        k, of = _wanted(what, k, of)
        price = {"epsilon": epsilon, **({} if delta is None else {"delta": delta})}
        plan: TopKPlan = self._winners(k, of=of, **options).predict(1, price)
        return plan

    def _winners(self, k: int, **options: Any) -> Publication:
        from sfumato.ask.shaped.winners import plan_winners  # noqa: PLC0415 - loaded when used

        return plan_winners(self._source, self._people, self.spending.neighbours, k, **options)

    def synthesize(
        self,
        *,
        epsilon: Stated | None = None,
        delta: Stated | None = None,
        rho: Stated | None = None,
        **options: Any,
    ) -> Release:
        """Make a synthetic copy of the data that may be given away, charged to the ledger.

        It hides the unit of the session. Options are those of `sf.dp.synthesize` for the shape.
        """
        from sfumato.ask.session.shaped_copies import buy_copy  # noqa: PLC0415 - loaded when used

        customers = isinstance(self.unit, Customer) and self._people is not None
        private = {"customers": list(self._people or ())} if customers else {}
        price = {"epsilon": epsilon, "delta": delta, "rho": rho}
        stated = {name: value for name, value in price.items() if value is not None}
        return buy_copy(self.spending, self._source, private=private, **stated, **options)

    def save(self, release: Release, folder: str | Path, **options: Any) -> Path:
        """Save a release that was made here, recorded in the ledger before it appears."""
        from sfumato.govern.releases import save_recorded  # noqa: PLC0415 - loaded when used

        return save_recorded(release, folder, self.spending, **options)

    def _check(self, question: Statistic) -> None:
        if not isinstance(question, Statistic):
            raise ParameterError(
                "A session on data that are no table answers statistics, such as "
                "sf.dp.queries.Edges(), not SQL."
            )
        if question.shape != self.shape:
            raise ParameterError(
                f"{question.what} is about data of the shape '{question.shape}', and these are "
                f"{self.shape}."
            )
        question.check(self.unit)
        question.sensitivity(self.unit)  # refuses limits that are missing

    def _promise(self, amount: Fraction) -> PureDP:
        return PureDP(stated_up(amount), neighbours=self.spending.neighbours)

    def _measured(self, question: Statistic, epsilon: Fraction) -> dict[str, Any]:
        found: MeasuredValue = question.measure(self._data, self.unit, epsilon)
        return {
            "value": found.value, "margin": found.margin, "notes": list(found.notes),
            "details": found.details, "epsilon": str(epsilon),
        }  # fmt: skip


def _held(source: Any, people: Sequence[Any] | None) -> Any:
    if source.shape != "sets":
        return source
    owners = None
    if people is not None:
        if len(people) != len(source):
            raise ParameterError("people must have one name per set.")
        _, codes = np.unique(np.array([str(name) for name in people]), return_inverse=True)
        owners = codes.reshape(-1).astype(np.int64)
    return OwnedSets(source.lists(), owners)


def _answers_of(source: Any, people: Sequence[Any] | None) -> str:
    """Return digests that change with what answers depend on: the data, and whose they are."""
    if people is None:
        return fingerprint(source)
    names = json.dumps([str(name) for name in people])
    return f"{fingerprint(source)}.{hashlib.sha256(names.encode()).hexdigest()}"


def fingerprint(source: Any) -> str:
    """Return a digest that changes with the data."""
    digest = hashlib.sha256(source.shape.encode())
    if source.shape == "graph":
        named = [source.labels, dict(source.attributes)] if source.attributes else source.labels
        parts: list[Any] = [np.array(source.nodes), source.edges, json.dumps(named)]
    elif source.shape == "trajectories":
        parts = [source.starts, source.places, source.times, source.person]
    elif source.shape == "trees":
        parts = [source.type_of, source.parent, source.record,
                 json.dumps({k: list(v) for k, v in source.values.items()})]  # fmt: skip
    else:
        parts = [json.dumps(source.lists())]
    for part in parts:
        content = part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes()
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


_OWN_WORDS = frozenset({"item", "items", "node", "nodes", "cell", "cells"})
"""What wins where nothing else is named: of sets, of graphs, of traces."""


def _wanted(what: str | int | None, k: int | None, of: str | None) -> tuple[int, str | None]:
    """Take what wins and how many: `("item", 3)`, `("courses.id", 3)` or `(3, of="courses.id")`."""
    if isinstance(what, int):
        what, k = None, what if k is None else k
    if k is None:
        raise ParameterError("Say how many win, as in top_k('item', k=10, epsilon=1).")
    if of is None and what not in _OWN_WORDS:
        of = what
    return k, of
