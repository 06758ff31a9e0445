"""Opening a dataset for questions: its engine, its unit, its public facts, its ledger.

Contract: what the ledger has registered decides. The first session registers unit, bounds, public
keys, private tables with the kinds of their columns, purposes, limits and policy; later ones may
leave them out, and are refused if they state others. Public tables are registered, too
(:mod:`sfumato.ask.session.public_tables`). An analyst's bounds and keys for one question add to the
owner's and never replace them. That what is first registered as public is public is the operator's
duty.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.engines.base import state_of
from sfumato.ask.engines.table_facts import KindFacts
from sfumato.ask.session.blocks import Blocks, add_blocks
from sfumato.ask.session.dataset import OpenDataset
from sfumato.ask.session.keys import (
    check_registered_once,
    key_fingerprint,
    new_salt,
    private_part,
)
from sfumato.ask.session.owner_rules import (
    as_registered,
    check_schema,
    check_tables,
    limits_for,
    pair_of,
    private_tables,
    registered_kinds,
    rules_for,
    stated_kinds,
    unit_for,
)
from sfumato.ask.session.public_tables import check_places, check_public, check_rows, public_tables
from sfumato.ask.session.sources import Source, source_of
from sfumato.data.wording import did_you_mean
from sfumato.dp.neighbours import Row, Unit
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.ledger.chain import REGISTERED
from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.ledger.registrations import MAIN, SALT_HASH, Registration, zone_of
from sfumato.govern.places import default_place
from sfumato.govern.policies import Free
from sfumato.message import Argument, Message

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sfumato.ask.engines.base import Engine
    from sfumato.ask.language.language import TableFacts
    from sfumato.dp.neighbours import PrivacyUnit


def open_dataset(source: Any, **stated_facts: Any) -> OpenDataset:
    """Open a dataset and register it in its ledger."""
    sources = _sources(source, stated_facts["name"], stated_facts["schema"])
    first = next(iter(sources.values()))
    for read in sources.values():
        if read.schema is not None:
            read.schema.check_public(stated_facts.get("public_types", False))
    ledger, owned = _ledger(stated_facts["ledger"], first)
    try:
        is_new = ledger.registration(first.name) is None
        try:
            return _open(sources, first, ledger, owned, stated_facts)
        except GovernanceError:
            if not is_new or ledger.registration(first.name) is None:
                raise
        # Somebody else registered the dataset in the meantime; theirs holds.
        return _open(sources, first, ledger, owned, stated_facts)
    except BaseException:
        if owned:
            ledger.close()
        raise


def _open(
    sources: dict[str, Source],
    first: Source,
    ledger: Ledger,
    owned: bool,
    given: dict[str, Any],
) -> OpenDataset:
    known = _known(ledger, first.name)
    if known is not None:
        check_schema(first, given, known)
    unit = unit_for(given["unit"], first, known)
    limits = limits_for(given, known, unit)
    if len(sources) > 1:
        _check_blocks(unit, given["private"])
    if limits.relation == "bounded":
        _check_replaced(sources, given["private"])
    check_places(sources.values(), given, ledger)
    salt = ledger.salt(first.name) or new_salt()
    rules = rules_for(unit, first, given, known, salt)
    person = unit.name if isinstance(unit, Unit) else None
    facts = {
        "person": person,
        "bounds": {name: pair_of(pair) for name, pair in rules["bounds"].items()},
        "domains": {name: tuple(values) for name, values in rules["keys"].items()},
        "public": given["public"],
        "private": given["private"],
    }
    guess = first.public_types or given.get("public_types", False)
    kinds = KindFacts(
        registered_kinds(known), stated_kinds(first, given, rules), guess, zone_of(rules)
    )
    engines = {label: source.engine(kinds=kinds, **facts) for label, source in sources.items()}
    engine = next(iter(engines.values())) if len(engines) == 1 else Blocks(engines)
    left_out = getattr(next(iter(engines.values())), "left_out", {})
    tables = {
        table.name: replace(table, unasked=left_out.get(table.name, ()))
        for table in engine.tables()
    }
    if known is None:
        _check_columns(tables, first.name, rules)
    _check_person(tables, first.name, person)
    private = private_tables(tables.values())
    if known is not None:
        private = as_registered(private, known)
        check_tables(private, known)
    _check_others(ledger, first.name, private, is_new=known is None)
    if known is None:
        rows = [engine.fingerprint() for engine in engines.values()]
        check_registered_once(ledger, first.name, rows, given.get("compared"))
    public = public_tables(engines.values(), salt)
    waiting = public if known is None else check_public(public, known)
    if waiting:
        check_rows(engines.values(), waiting)
    registration = Registration(
        dataset=first.name,
        unit="row" if isinstance(unit, Row) else str(unit),
        rules=rules | {"tables": private},
        purposes=(given.get("purposes") or first.purposes) if known is None else known.purposes,
        limits=limits,
        policy=given["policy"] or (Free() if known is None else known.policy),
        public=public if known is None else known.public,
    )
    _register(ledger, registration, engines, salt, is_new=known is None)
    if known is not None and waiting:
        registration = ledger.add_public(first.name, waiting)
    tables.setdefault("data", tables[first.name])
    return OpenDataset(
        first.name, first.name, first.kind, unit, engine, ledger, registration,
        salt, tables, owned,
    )  # fmt: skip


def _register(
    ledger: Ledger,
    registration: Registration,
    engines: Mapping[str, Engine],
    salt: bytes,
    *,
    is_new: bool,
) -> None:
    """Register a dataset, its rows and its blocks, or see that it is registered so.

    Rows are told from others when they are registered, and where there are several blocks. Later
    sessions on one table read none of them before a question is paid for.
    """
    dataset = registration.dataset
    if is_new or len(engines) > 1 or ledger.blocks(dataset) != {MAIN}:
        labels = _labels(engines, salt)
        main = next(fingerprint for fingerprint, label in labels.items() if label == MAIN)
        ledger.register(registration, salt=salt, fingerprint=main)
        add_blocks(ledger, dataset, labels)
    else:
        ledger.register(registration, salt=salt)
    for engine in engines.values():
        state_of(engine)  # hashes rows that were read into memory now, not with a first question


def _labels(engines: Mapping[str, Engine], salt: bytes) -> dict[str, str]:
    """Tell the rows of blocks from each other: give their labels by keyed fingerprints."""
    labels = {private_part(key_fingerprint(salt, e.fingerprint())): b for b, e in engines.items()}
    if len(labels) < len(engines):
        raise ParameterError(
            "Two blocks hold the same rows, which would count twice; give each block once."
        )
    return labels


def _known(ledger: Ledger, dataset: str) -> Registration | None:
    """Read the registration of a dataset; a session needs one that a session has made."""
    known = ledger.registration(dataset)
    if known is not None and SALT_HASH not in known.rules:
        raise GovernanceError(
            f"The dataset {dataset!r} was registered by hand, without the rules that a session "
            "needs. Let the first session register it: sf.Session(…, name=…, limits=…)."
        )
    return known


def _check_blocks(unit: PrivacyUnit, private: Mapping[str, Any]) -> None:
    """Refuse what several blocks of a dataset cannot have."""
    if not isinstance(unit, Row):
        raise ParameterError(
            Message(
                "Blocks with budgets of their own are for {}: a person may have rows in "
                "several blocks, so that their budgets would add up for her. Give one table.",
                Argument("unit", "row"),
            )
        )
    if private:
        raise ParameterError(
            "A dataset of several blocks has no further private tables: their rows would count "
            "once per block. Give one table."
        )


def _check_replaced(sources: Mapping[str, Source], private: Mapping[str, Any]) -> None:
    """Refuse what has no one number of units, which is public where a unit is replaced."""
    if len(sources) > 1 or private:
        raise ParameterError(
            Message(
                "Where a unit is replaced by another ({}), how many there are is public, of one "
                "table: a person may be in one block or private table and not in another. Give "
                "one table, or a budget about units added or removed.",
                Argument("neighbours", "bounded"),
            )
        )


def _check_columns(tables: Mapping[str, TableFacts], main: str, rules: dict[str, Any]) -> None:
    """Refuse public facts about columns that are not there, before they are registered."""
    known = {column.name for column in tables[main].columns}
    known |= {
        f"{table.name}.{column.name}" for table in tables.values() for column in table.columns
    }
    known |= {*tables[main].untyped}
    for name in (*rules["bounds"], *rules["keys"]):
        if name not in known:
            raise ParameterError(
                f"Bounds or keys are declared for {name!r}, which is no column of {main} that can "
                f"be asked about.{did_you_mean(name, sorted(known))}"
            )


def _check_person(tables: Mapping[str, TableFacts], main: str, person: str | None) -> None:
    """Refuse an engine that was opened for another unit than the one that is promised."""
    found = tables[main].person
    if found != person:
        raise ParameterError(
            f"The engine was opened with {found or 'the row'!r} as the unit of {main!r}, and the "
            f"session promises {person or 'the row'!r}; open it with the same."
        )


def _check_others(
    ledger: Ledger, dataset: str, private: Mapping[str, Any], *, is_new: bool
) -> None:
    """Refuse a private table that has a budget of its own elsewhere in this ledger."""
    for name in private:
        if name != dataset and ledger.registration(name) is not None:
            raise GovernanceError(
                f"{name!r} is a dataset of its own in this ledger, with a budget of its own; ask "
                "about it in a session of its own."
            )
    if not is_new:
        return
    for entry in ledger.entries():
        if entry.kind != REGISTERED or entry.dataset == dataset:
            continue
        if dataset in entry.details["registration"]["rules"].get("tables", {}):
            raise GovernanceError(
                f"{dataset!r} is a private table of the dataset {entry.dataset!r}, whose budget "
                "covers it; ask about it in a session on that."
            )


def _sources(source: Any, name: str | None, schema: Any) -> dict[str, Source]:
    if not isinstance(source, (list, tuple)):
        return {MAIN: source_of(source, name=name, schema=schema)}
    if not source:
        raise ParameterError("A dataset has at least one block; an empty list was given.")
    found: dict[str, Source] = {}
    for place, part in enumerate(source):
        read = source_of(part, name=name, schema=schema)
        label = MAIN if place == 0 else f"block {place + 1}"
        found[label] = read.named(next(iter(found.values())).name) if found else read
    return found


def _ledger(ledger: Ledger | str | Path | None, source: Source) -> tuple[Ledger, bool]:
    """Open the ledger; without one named, that of what lives with this process does so, too."""
    if isinstance(ledger, Ledger):
        return ledger, False
    if ledger is not None:
        return Ledger(str(ledger)), True
    if not source.outlives:
        return Ledger(None), True
    return Ledger(default_place(source.place, shared=source.kind == "spark")), True
