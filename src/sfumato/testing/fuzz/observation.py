"""What a session really does for an answer: what it asks of its engine and what noise it draws.

`observe` listens in four places while a question is answered: at the engine (requests and exact
totals), where noise is added to totals, at the samplers (which law is drawn, how often), and where
quantiles are picked. Nothing is taken from the prices or sensitivities that the session derived.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from sfumato.ask.answers import measurement
from sfumato.ask.price import bounds_search
from sfumato.ask.price import noise as laws
from sfumato.ask.session import desk
from sfumato.dp.mechanisms import quantiles
from sfumato.dp.noise.choice import Choice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.ask.language.request import Aggregates, Request
    from sfumato.ask.price.preparation import PreparedQuestion


@dataclass(frozen=True)
class Draw:
    """So many numbers drawn from a law: the scale of a geometric one, a Gaussian's variance."""

    kind: str
    size: Fraction
    count: int


@dataclass
class Pick:
    """One quantile that was picked: with which mechanism, at which rate, from which ranges."""

    mechanism: Any
    rate: Fraction
    first: Any
    sizes: Any
    distances: Any


@dataclass
class AskedRequest:
    """One request, its exact totals, and what was drawn because of it."""

    request: Request
    exact: Aggregates
    added: list[list[Draw]] = field(default_factory=list)
    """Per total, and last for the number of people, what was drawn; nothing where no noise was."""
    picks: list[Pick] = field(default_factory=list)
    search: list[Draw] = field(default_factory=list)


@dataclass
class ObservedAnswer:
    """All that was done for one answer; `ready` has the groups' threshold and the bounds found."""

    asked: list[AskedRequest] = field(default_factory=list)
    ready: PreparedQuestion | None = None


@contextmanager
def observe(session: Any) -> Iterator[list[ObservedAnswer]]:
    """Listen to what a session does; every question it answers adds one `ObservedAnswer`."""
    found: list[ObservedAnswer] = []
    engine = session.desk.opened.engine
    with ExitStack() as stack:
        stack.enter_context(patch.object(engine, "aggregate", _engine(engine, found)))
        stack.enter_context(patch.object(desk, "measure", _measure(found)))
        stack.enter_context(patch.object(measurement, "_with_noise", _with_noise(found)))
        stack.enter_context(patch.object(measurement, "found_bounds", _search(found)))
        for kind, name in (("geometric", "discrete_laplace"), ("gaussian", "rounded_gaussian")):
            sampler = getattr(laws, name)
            stack.enter_context(patch.object(laws, name, _sampler(kind, sampler, found)))
        stack.enter_context(patch.object(quantiles, "Choice", _choice(found)))
        chosen = quantiles.ExponentialQuantile
        stack.enter_context(patch.object(chosen, "_drawn", _drawn(chosen._drawn, found)))  # noqa: SLF001 - listens
        yield found


def _engine(engine: Any, found: list[ObservedAnswer]) -> Any:
    original = engine.aggregate

    def aggregate(request: Request) -> Aggregates:
        exact: Aggregates = original(request)
        found[-1].asked.append(AskedRequest(request, exact))
        return exact

    return aggregate


def _measure(found: list[ObservedAnswer]) -> Any:
    original = measurement.measure

    def measure(*arguments: Any) -> Any:
        found.append(ObservedAnswer())
        numbers = original(*arguments)
        found[-1].ready = numbers.prepared
        return numbers

    return measure


def _with_noise(found: list[ObservedAnswer]) -> Any:
    original = measurement._with_noise  # noqa: SLF001 - listens

    def with_noise(exact: list[int], noise: Any) -> list[int]:
        found[-1].asked[-1].added.append([])
        return original(exact, noise)

    return with_noise


def _search(found: list[ObservedAnswer]) -> Any:
    original = bounds_search.found_bounds

    def found_bounds(*arguments: Any) -> Any:
        asked = found[-1].asked[-1]
        asked.added.append(asked.search)
        return original(*arguments)

    return found_bounds


def _sampler(kind: str, original: Any, found: list[ObservedAnswer]) -> Any:
    def sampler(size: Any, count: int) -> Any:
        found[-1].asked[-1].added[-1].append(Draw(kind, Fraction(size), count))
        return original(size, count)

    return sampler


def _choice(found: list[ObservedAnswer]) -> Any:
    original = Choice

    def choice(scores: Any, rate: Any, *rest: Any) -> Any:
        pick = found[-1].asked[-1].picks[-1]
        pick.rate, pick.distances = Fraction(rate), -scores
        return original(scores, rate, *rest)

    return choice


def _drawn(original: Any, found: list[ObservedAnswer]) -> Any:
    def drawn(self: Any, cut: Any, count: int) -> Any:
        first, sizes, distances = cut
        found[-1].asked[-1].picks.append(Pick(self, Fraction(0), first, sizes, distances))
        return original(self, cut, count)

    return drawn
