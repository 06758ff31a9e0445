"""A conformance kit for engines: ours and a third party's.

`check_engine` fills an engine with small, unpleasant tables, asks it for bounded aggregates and
compares every number with :class:`~sfumato.testing.reference_engine.ReferenceEngine`; then it tries
the rules on which a guarantee rests:

* of each person exactly as many groups and rows are kept as the bound allows, and not the same
  for everybody (χ² test with false-alarm rate 10⁻⁶);
* neither the order of storage nor another person changes what is kept of anyone;
* asking again gives the same; the fingerprint follows the rows and not their order;
* what the guarantee does not cover is refused, and no message holds a cell;
* rows added to a public table while the engine is open multiply nothing (where ``add_rows`` says
  how to add them; an engine that reads every table once and keeps its own copy has no such way).

A check that an engine cannot pass may be listed in ``notimpl`` with the reason. A reason is
demanded, and a listed check that passes after all fails, so that the list stays true.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.representation import Shown
from sfumato.testing import engine_rules
from sfumato.testing.engine_cases import cases
from sfumato.testing.engine_joins import join_cases, rows_added_later_multiply_nothing
from sfumato.testing.engine_random import random_cases
from sfumato.testing.engine_tables import tables
from sfumato.testing.reference_engine import CheckTable, ReferenceEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.ask.engines.base import Engine
    from sfumato.ask.language.request import Aggregates, Request

MakeEngine: TypeAlias = "Callable[[Mapping[str, CheckTable]], Engine]"
AddRows: TypeAlias = "Callable[[Any, str, CheckTable], None]"
Answer: TypeAlias = dict[tuple[Any, ...], tuple[int, ...]]


@dataclass(frozen=True)
class EngineCheck(Shown):
    """What an engine passed, what it was excused from and why, and how much it was asked."""

    passed: tuple[str, ...]
    notimpl: Mapping[str, str]
    requests: int


@dataclass(eq=False)
class Bench:
    """An engine under check beside the reference; engines are made on first use."""

    make: MakeEngine
    examples: int = 20
    requests: int = 0
    add_rows: AddRows | None = None
    _made: dict[str, tuple[Engine, ReferenceEngine]] = field(default_factory=dict)

    @cached_property
    def tables(self) -> dict[str, CheckTable]:
        """The tables of the checks."""
        return tables()

    def pair(self, name: str, changed: Mapping[str, CheckTable]) -> tuple[Engine, ReferenceEngine]:
        """Make, once, an engine and a reference with the same tables."""
        if name not in self._made:
            self._made[name] = self.make(changed), ReferenceEngine(changed)
        return self._made[name]

    @property
    def main(self) -> tuple[Engine, ReferenceEngine]:
        """The engine with the tables as they are."""
        return self.pair("main", self.tables)

    def ask(self, engine: Engine, request: Request) -> Answer:
        """Ask an engine and check the form of what it gives."""
        self.requests += 1
        return answer(engine.aggregate(request), request)

    def agree(self, request: Request, pair: tuple[Engine, ReferenceEngine] | None = None) -> None:
        """Demand that the engine gives exactly what the reference gives."""
        engine, reference = pair or self.main
        found = self.ask(engine, request)
        wanted = answer(reference.aggregate(request), request)
        if found != wanted:
            groups = {place for place in {*found, *wanted} if found.get(place) != wanted.get(place)}
            place = min(groups, key=repr)
            raise AssertionError(
                f"{len(groups)} of {len(wanted)} groups differ from the reference; the group "
                f"{place!r} has {found.get(place)} and should have {wanted.get(place)} "
                f"(people, totals) in {request}"
            )


def answer(aggregates: Aggregates, request: Request) -> Answer:
    """Give aggregates as a mapping of keys and spread to people and totals; check types."""
    count = len(aggregates.people)
    assert len(aggregates.keys) == count, "there must be one tuple of keys per group"
    assert len(aggregates.totals) == len(request.totals), "there must be one array per total"
    assert len(aggregates.spread) == len(request.spread), "there must be one array per spread"
    found: Answer = {}
    for i, keys in enumerate(aggregates.keys):
        typed = tuple((type(key).__name__, key) for key in keys)
        place = (*typed, *(int(column[i]) for column in aggregates.spread))
        assert place not in found, "a group must be given once"
        people = int(aggregates.people[i])
        found[place] = (people, *(int(total[i]) for total in aggregates.totals))
    return found


def check_engine(
    make_engine: MakeEngine,
    *,
    examples: int = 20,
    notimpl: Mapping[str, str] | None = None,
    add_rows: AddRows | None = None,
) -> EngineCheck:
    """Try all checks on the engines that ``make_engine`` makes of tables.

    ``make_engine`` is given tables by name, with kinds, cells, the column of the person and whether
    they are private, and returns an engine that holds them. ``examples`` says how many random
    requests are tried beside the fixed ones. ``add_rows`` is given an engine, the name of a public
    table and a table of the same form, whose rows it adds to what the engine reads.
    """
    excused = dict(notimpl or {})
    bench = Bench(make_engine, examples, add_rows=add_rows)
    checks = all_checks(bench)
    for name, reason in excused.items():
        assert name in checks, f"notimpl names '{name}', which is no check"
        assert reason.strip(), f"notimpl gives no reason for '{name}'"
    passed = []
    for name, check in checks.items():
        if _passes(name, check, excused):
            passed.append(name)
    return EngineCheck(tuple(passed), excused, bench.requests)


def all_checks(bench: Bench) -> dict[str, Callable[[], None]]:
    """List every check by its name."""
    checks: dict[str, Callable[[], None]] = {}
    for name, requests in {**cases(bench.tables), **join_cases(bench.tables)}.items():
        checks[name] = partial(_all_agree, bench, requests)
    checks["random tables and requests"] = partial(_random, bench)
    for name, rule in engine_rules.RULES.items():
        checks[name] = partial(rule, bench)
    if bench.add_rows is not None:
        rule = rows_added_later_multiply_nothing
        checks[rule.__name__.replace("_", " ")] = partial(rule, bench)
    return checks


def _all_agree(bench: Bench, requests: list[Request]) -> None:
    for request in requests:
        bench.agree(request)


def _random(bench: Bench) -> None:
    """Compare on random tables, all of them held by one engine."""
    made, requests = random_cases(bench.examples)
    pair = bench.pair("random", made)
    for request in requests:
        bench.agree(request, pair)


def _passes(name: str, check: Callable[[], None], excused: Mapping[str, str]) -> bool:
    try:
        check()
    except AssertionError as error:
        if name in excused:
            return False
        raise AssertionError(f"{name}: {error}") from None
    except Exception as error:
        if name in excused:
            return False
        raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
    assert name not in excused, f"'{name}' passes, so it does not belong in notimpl"
    return True
