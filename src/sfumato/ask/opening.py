"""Opening a dataset for questions: its engine, its unit, its public facts, its ledger.

Contract: what the ledger has registered decides. The first session registers unit, bounds, public
keys, purposes, limits and policy; later ones may leave them out, and are refused if they
state others. An analyst's bounds and keys for one question add to the owner's and never replace
them.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.ask.blocks import Blocks, SomeBlocks, add_blocks
from sfumato.ask.sources import Source, source_of
from sfumato.ask.standing import Standing, smallest
from sfumato.data.wording import did_you_mean
from sfumato.dp.guarantees import Guarantee
from sfumato.dp.neighbours import Neighbours, PrivacyUnit, Row, Unit, unit_of
from sfumato.dp.rounding import stated
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.ledger import Ledger
from sfumato.govern.limits import Limits, names_of
from sfumato.govern.places import default_place
from sfumato.govern.policies import Free
from sfumato.govern.purposes import check_purpose
from sfumato.govern.registering import MAIN, Registration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from sfumato.ask.engines.base import Engine
    from sfumato.ask.language import TableFacts
    from sfumato.dp.accounting.costs import Spent
    from sfumato.govern.policies import Policy


@dataclass(eq=False)
class Opened:
    """A dataset that is open for questions."""

    dataset: str
    table: str
    kind: str
    unit: PrivacyUnit
    engine: Engine
    ledger: Ledger
    registration: Registration
    salt: bytes
    facts: dict[str, TableFacts]
    owns_ledger: bool

    @property
    def policy(self) -> Policy:
        """How the budget is dealt out."""
        return self.registration.policy

    @property
    def blocks(self) -> tuple[str, ...]:
        """The labels of the dataset's blocks."""
        return tuple(self.engine.engines) if isinstance(self.engine, Blocks) else (MAIN,)

    def check_blocks(self, wanted: Sequence[str] | None) -> tuple[str, ...]:
        """Check the blocks that a question names; all when it names none."""
        if wanted is None:
            return self.blocks
        unknown = [label for label in wanted if label not in self.blocks]
        if unknown or not wanted:
            raise ParameterError(
                f"The dataset {self.dataset} has the blocks {', '.join(self.blocks)}, and "
                f"{', '.join(map(repr, unknown)) or 'none'} was named."
            )
        return tuple(dict.fromkeys(wanted))

    def engine_of(self, blocks: Sequence[str]) -> Engine:
        """Give an engine that reads these blocks."""
        if isinstance(self.engine, Blocks):
            return SomeBlocks(self.engine, blocks)
        return self.engine

    def fingerprint(self, blocks: Sequence[str]) -> str:
        """Give a text that changes when a row of these blocks changes."""
        return self.engine_of(blocks).fingerprint()

    def own_bounds(self, extra: Mapping[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
        """Add the bounds of a question to the owner's, which stay as they are."""
        clash = _clashing(extra, self.registration.rules["bounds"])
        if clash:
            raise GovernanceError(
                f"The owner has fixed the bounds of {', '.join(clash)}; a question cannot change "
                "them. Clamp further in the question, as in CLAMP(x, 0, 10)."
            )
        return dict(extra)

    def own_keys(self, extra: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
        """Add the public key values of a question to the owner's, which stay as they are."""
        clash = _clashing(extra, self.registration.rules["keys"])
        if clash:
            raise GovernanceError(
                f"The owner has fixed the values of {', '.join(clash)}; a question cannot change "
                "them. Choose among them with WHERE or HAVING."
            )
        return {name: tuple(_values(name, values)) for name, values in extra.items()}

    # -- purposes and limits --------------------------------------------------------------

    def purpose_of(self, wanted: str | None) -> str | None:
        """Choose the purpose of a session; the dataset's only one when none is stated."""
        named = self.registration.purposes
        chosen = named[0] if wanted is None and len(named) == 1 else wanted
        self.check_purpose(chosen)
        return chosen

    def check_purpose(self, purpose: str | None) -> None:
        """Refuse a purpose that the dataset does not name."""
        check_purpose(self.dataset, self.current.purposes, purpose)

    @property
    def current(self) -> Registration:
        """The registration in force; its owner may have amended it meanwhile."""
        return self.ledger.registration(self.dataset) or self.registration

    def limits_of(
        self, analyst: str, purpose: str | None, blocks: Sequence[str]
    ) -> Iterator[tuple[Guarantee, Spent]]:
        """List the limits that apply, with what was spent of each."""
        limits = self.current.limits
        for block in blocks:
            for scope, name in names_of(analyst, purpose or "").items():
                limit = limits.of(scope, name)
                if limit is not None:
                    whose = {} if scope == "dataset" else {scope: name}
                    yield limit, self.ledger.spent(self.dataset, block=block, **whose)

    def standing(
        self, analyst: str, purpose: str | None, blocks: Sequence[str] | None = None
    ) -> Standing:
        """Take down what was spent of every limit that applies."""
        accounts = tuple(self.limits_of(analyst, purpose, blocks or self.blocks))
        return Standing(accounts, Neighbours("unbounded", self.unit))

    def budget(self, analyst: str, purpose: str | None) -> Guarantee:
        """Give the smallest limit that applies, whatever was spent of it."""
        limits = self.current.limits
        found = (limits.of(*one) for one in names_of(analyst, purpose or "").items())
        chosen = smallest([limit for limit in found if limit is not None])
        return replace(chosen, neighbours=Neighbours("unbounded", self.unit))

    def close(self) -> None:
        """Give back the engine and a ledger that was opened here."""
        close = getattr(self.engine, "close", None)
        if close is not None and self.kind != "engine":  # which its owner closes
            close()
        if self.owns_ledger:
            self.ledger.close()


def opened(source: Any, **stated_facts: Any) -> Opened:
    """Open a dataset and register it in its ledger."""
    sources = _sources(source, stated_facts["name"], stated_facts["schema"])
    first = next(iter(sources.values()))
    ledger, owned = _ledger(stated_facts["ledger"], first.path)
    try:
        is_new = ledger.registration(first.name) is None
        try:
            return _opened(sources, first, ledger, owned, stated_facts)
        except GovernanceError:
            if not is_new or ledger.registration(first.name) is None:
                raise
        # Somebody else registered the dataset in the meantime; theirs holds.
        return _opened(sources, first, ledger, owned, stated_facts)
    except BaseException:
        if owned:
            ledger.close()
        raise


def _opened(
    sources: dict[str, Source],
    first: Source,
    ledger: Ledger,
    owned: bool,
    given: dict[str, Any],
) -> Opened:
    known = ledger.registration(first.name)
    unit = _unit(given["unit"], first, known)
    if len(sources) > 1 and not isinstance(unit, Row):
        raise ParameterError(
            "Blocks with budgets of their own are for unit='row': a person may have rows in "
            "several blocks, so that their budgets would add up for her. Give one table."
        )
    rules = _rules(unit, first, given, known)
    registration = Registration(
        dataset=first.name,
        unit="row" if isinstance(unit, Row) else str(unit),
        rules=rules,
        purposes=first.purposes if known is None else known.purposes,
        limits=_limits(given, known),
        policy=given["policy"] or (Free() if known is None else known.policy),
    )
    person = unit.name if isinstance(unit, Unit) else None
    facts = {
        "person": person,
        "bounds": {name: _pair(pair) for name, pair in rules["bounds"].items()},
        "domains": {name: tuple(values) for name, values in rules["keys"].items()},
        "public": given["public"],
        "private": given["private"],
    }
    engines = {label: one.engine(**facts) for label, one in sources.items()}
    engine = next(iter(engines.values())) if len(engines) == 1 else Blocks(engines)
    tables = {table.name: table for table in engine.tables()}
    _check_columns(tables, first.name, rules)
    ledger.register(registration)
    add_blocks(ledger, first.name, engines)
    tables.setdefault("data", tables[first.name])
    return Opened(
        first.name, first.name, first.kind, unit, engine, ledger, registration,
        bytes.fromhex(rules["salt"]), tables, owned,
    )  # fmt: skip


def _check_columns(tables: Mapping[str, TableFacts], main: str, rules: dict[str, Any]) -> None:
    """Refuse public facts about columns that are not there, before they are registered."""
    known = {column.name for column in tables[main].columns}
    known |= {f"{table.name}.{one.name}" for table in tables.values() for one in table.columns}
    for name in (*rules["bounds"], *rules["keys"]):
        if name not in known:
            raise ParameterError(
                f"Bounds or keys are declared for {name!r}, which is no column of {main} that can "
                f"be asked about.{did_you_mean(name, sorted(known))}"
            )


def _sources(source: Any, name: str | None, schema: Any) -> dict[str, Source]:
    if not isinstance(source, (list, tuple)):
        return {MAIN: source_of(source, name=name, schema=schema)}
    if not source:
        raise ParameterError("A dataset has at least one block; an empty list was given.")
    found: dict[str, Source] = {}
    for place, one in enumerate(source):
        read = source_of(one, name=name, schema=schema)
        label = MAIN if place == 0 else f"block {place + 1}"
        found[label] = read.named(next(iter(found.values())).name) if found else read
    return found


def _ledger(ledger: Ledger | str | Path | None, path: Path | None) -> tuple[Ledger, bool]:
    if isinstance(ledger, Ledger):
        return ledger, False
    if ledger is None and path is None:
        return Ledger(None), True
    return Ledger(default_place(path) if ledger is None else str(ledger)), True


def _unit(given: Any, first: Source, known: Registration | None) -> PrivacyUnit:
    if known is not None and given is None:
        return _unit_from(known.rules["unit"])
    wanted = given if given is not None else first.unit
    if wanted is None:
        raise ParameterError(
            "Say whose presence is hidden: unit='row' if every row is another person, or "
            "unit=Unit('user_id', rows=5) with the column that names the person."
        )
    if isinstance(wanted, str) and wanted not in {"row", "person"}:
        return Unit(wanted)
    return unit_of("row" if wanted == "person" else wanted)


def _unit_from(entry: Any) -> PrivacyUnit:
    return Row() if entry == "row" else Unit(**entry)


def _unit_to(unit: PrivacyUnit) -> Any:
    if not isinstance(unit, Unit):
        return "row"
    return {
        "name": unit.name,
        "rows": unit.rows,
        "groups": unit.groups,
        "rows_per_group": unit.rows_per_group,
    }


def _rules(
    unit: PrivacyUnit, first: Source, given: dict[str, Any], known: Registration | None
) -> dict[str, Any]:
    """Give what the owner fixes; what is not stated stays as registered."""
    if known is not None:
        bounds = _texts(given["bounds"]) if given["bounds"] else known.rules["bounds"]
        keys = _listed(given["keys"]) if given["keys"] else known.rules["keys"]
        salt = known.rules["salt"]
    else:
        bounds = {**_texts(first.bounds), **_texts(given["bounds"])}
        keys = {**_listed(first.domains), **_listed(given["keys"])}
        salt = secrets.token_hex(16)
    return {"unit": _unit_to(unit), "bounds": bounds, "keys": keys, "salt": salt}


def _texts(bounds: Mapping[str, tuple[Any, Any]]) -> dict[str, list[str]]:
    for name, pair in bounds.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ParameterError(f"The bounds of {name!r} are a pair of numbers (low, high).")
    return {name: [str(stated(end)) for end in pair] for name, pair in bounds.items()}


def _pair(texts: Sequence[str]) -> tuple[Fraction, Fraction]:
    low, high = (Fraction(text) for text in texts)
    return low, high


def _listed(keys: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {
        name: [v.isoformat() if isinstance(v, dt.date) else v for v in _values(name, values)]
        for name, values in keys.items()
    }


def _values(name: str, values: Any) -> list[Any]:
    """Read a list of values; those of numpy become plain ones."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ParameterError(
            f"The values of the key {name!r} are a list, and a {type(values).__name__} was given."
        )
    return [value.item() if hasattr(value, "item") else value for value in values]


def _clashing(extra: Mapping[str, Any], fixed: Mapping[str, Any]) -> list[str]:
    """Name what the owner has fixed; capitals do not count, as they do not in questions."""
    known = {name.casefold() for name in fixed}
    return [name for name in extra if name.casefold() in known]


def _limits(given: dict[str, Any], known: Registration | None) -> Limits:
    limits: Limits | None = given["limits"]
    budget: Guarantee | None = given["budget"]
    if limits is not None and budget is not None:
        raise ParameterError("Give budget= or limits=, not both: a budget is the dataset's limit.")
    if limits is not None:
        return limits
    if budget is None:
        if known is not None:
            return known.limits
        raise ParameterError(
            "Say how much may be revealed in all: budget=sf.PureDP(1.0), sf.ApproxDP(1.0, 1e-6) or "
            "sf.ZCDP(0.1)."
        )
    if not isinstance(budget, Guarantee):
        raise ParameterError(
            f"budget= is a guarantee such as sf.PureDP(1.0), and a {type(budget).__name__} was "
            "given."
        )
    return Limits(dataset=budget)
