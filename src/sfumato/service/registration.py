"""Registering a dataset and amending it: the catalogue and the ledger, one after the other.

Contract: the source is put in its place, roles are suggested where none are stated, the ledger
registers the owner's rules (which is what decides), and last the catalogue lists it; what fails
before that leaves nothing that anybody could ask about.
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.session.keys import known_rows, private_part
from sfumato.ask.session.open import open_dataset
from sfumato.data.schema import ROW_UNIT
from sfumato.data.schema_files import schema_text
from sfumato.data.tables.suggestions import inspect
from sfumato.dp.neighbours import Unit
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.office import events
from sfumato.govern.office.catalogue import (
    CatalogueEntry,
    Facts,
    add_dataset,
    change_facts,
    check_free,
    check_name,
    list_datasets,
)
from sfumato.govern.office.owners import owned
from sfumato.service.held import (
    WITH_SCHEMA,
    is_table,
    open_shaped,
    own_schema,
    read_held,
    read_stated,
    schema_at,
)
from sfumato.service.sources import (
    DATABASE,
    SPARK,
    folder_of,
    give_back,
    inside,
    is_handed_over,
    place_source,
    rows_only,
    source_at,
    stored_schema,
)
from sfumato.service.whose import check_whose
from sfumato.shape import TABLE, read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sfumato.data.schema import Schema
    from sfumato.govern.ledger.registrations import Registration
    from sfumato.requests.service import AmendRequest, DatasetRequest
    from sfumato.service.access import Caller
    from sfumato.service.house import House


def record_event(house: House, kind: str, caller: Caller, what: str = "") -> None:
    """Write a line of the audit log."""
    events.record(house.office, kind, who=caller.pseudonym, what=what)


def register(house: House, caller: Caller, wanted: DatasetRequest) -> None:
    """Register a dataset for its owner."""
    register_for(house, caller, wanted, owner=caller.id)


def register_for(house: House, caller: Caller, wanted: DatasetRequest, *, owner: str) -> None:
    """Register a dataset; the operator may do so before there is an owner."""
    check_name(wanted.name)
    check_free(house.office, wanted.name)
    check_whose(house, caller, wanted.name, [wanted.source, *map(str, wanted.reading.values())])
    folder = folder_of(house.settings, wanted.name)
    known = house.reader.registration(wanted.name)
    is_new = _claim(folder)
    if not is_new and is_handed_over(wanted.source):
        raise ParameterError(
            f"There are files under 'data/{wanted.name}' of the server already; choose another "
            "name."
        )
    try:
        source, held = place_source(house.settings, wanted.name, wanted.source)
        facts = Facts(**wanted.told.model_dump(), held=held, shape=wanted.shape,
                      reading=dict(wanted.reading))  # fmt: skip
        text = _register_rules(house, caller, wanted, source, facts)
    except BaseException:
        if is_new and house.reader.registration(wanted.name) == known:
            give_back(house.settings, wanted.name, wanted.source)
            shutil.rmtree(folder, ignore_errors=True)
        raise
    add_dataset(
        house.office, wanted.name, owner=owner, source=source, schema_text=text, facts=facts
    )
    record_event(house, "registered", caller, wanted.name)


def _claim(folder: Path) -> bool:
    """Make the folder of a dataset; of several who try at once, one is told that it is new."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return False
    return True


def _register_rules(
    house: House, caller: Caller, wanted: DatasetRequest, source: str, facts: Facts
) -> str:
    """Register the owner's rules in the ledger; give what they say about the data, as text.

    A dataset that the ledger knows, because it was registered beside the server by the command line
    or from Python, is taken in with the rules and the budget it has, for one who has its rows.

    Whether rows are those of a dataset is no answer for one who may hand over any rows, and could
    guess a row of others so: what owners hand over is compared with their own datasets alone.
    """
    guessed = caller.entrant is not None and _is_handed_over(house, wanted.source)
    known = house.reader.registration(wanted.name)
    rules: dict[str, Any] = {
        "limits": wanted.owner.limits(None if known is None else known.limits),
        "policy": wanted.owner.chosen_policy(),
        "purposes": tuple(wanted.purposes),
        "compared": owned(house.office, caller.id) if guessed else None,
    }  # fmt: skip
    if known is None:
        return _register_as_shape(house, wanted, source, facts, rules)
    if not guessed and set(wanted.purposes) <= set(known.purposes):
        # what the ledger says of another registration is for one who has the rows
        with contextlib.suppress(GovernanceError):
            return _register_as_shape(house, wanted, source, facts, rules)
    raise ParameterError(
        f"The ledger knows a dataset {wanted.name!r} that is not held here. It is taken in with "
        "the rows it had when it was registered or last asked about, and with the unit, limits, "
        "purposes and bounds it has: leave them out, or choose another name. Rows that are handed "
        "over are taken in by the operator alone."
    )


def _is_handed_over(house: House, source: str) -> bool:
    """Tell whether rows were handed over, now or for a dataset in whose folder they lie."""
    if is_handed_over(source):
        return True
    if source.startswith((DATABASE, SPARK)):
        return False
    place = inside(house.settings, source.partition("::")[0])
    return any(
        place.is_relative_to(folder_of(house.settings, listed.name).resolve())
        for listed in list_datasets(house.office)
    )


def _register_as_shape(
    house: House, wanted: DatasetRequest, source: str, facts: Facts, rules: dict[str, Any]
) -> str:
    if not is_table(wanted.shape):
        return _register_shaped(house, wanted, source, facts, rules)
    where = source_at(house.settings, source)
    known = house.reader.registration(wanted.name)
    schema = _schema(house, wanted, where, known)
    _check_subject(schema, facts.subject)
    if wanted.shape != TABLE:
        read(where, schema=schema, shape=wanted.shape)  # says what its schema lacks
    opened = open_dataset(
        where, unit=wanted.unit.privacy_unit(None if schema is None else schema.unit),
        budget=None, name=wanted.name,
        schema=rows_only(schema),
        bounds={}, keys={}, public={}, private={}, ledger=house.ledger,
        time_zone=wanted.time_zone or None, **rules,
    )  # fmt: skip
    try:
        if known is not None:
            _check_rows(house, wanted.name, opened.fingerprint(opened.blocks))
    finally:
        opened.close()
    return "" if schema is None else schema_text(schema)


def _register_shaped(
    house: House, wanted: DatasetRequest, source: str, facts: Facts, rules: dict[str, Any]
) -> str:
    """Register data that are no table: read once by their shape, which says what is wrong."""
    file = schema_at(house.settings, wanted.name, wanted.shape)
    if wanted.schema_text.strip():
        if wanted.shape in WITH_SCHEMA:
            read_stated(wanted.schema_text, file)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(wanted.schema_text, encoding="utf-8")
    listed = CatalogueEntry(wanted.name, "", source, wanted.schema_text, 1, 0.0, facts)
    data = read_held(house.settings, listed)
    if facts.subject:
        where = source_at(house.settings, source)
        if not facts.held or facts.subject not in read(where).columns:
            raise ParameterError(
                f"There is no column {facts.subject!r} by which a person could be found."
            )
    if wanted.unit.unit == "row" or wanted.unit.limits != (None, None, None):
        raise ParameterError(
            f"Data of the shape '{wanted.shape}' have no rows by which a person could be hidden; "
            f"leave the unit out, or name one of the shape, and no number of rows."
        )
    if wanted.time_zone:
        raise ParameterError(
            f"Data of the shape '{wanted.shape}' have no instants; leave the time zone out."
        )
    is_known = house.reader.registration(wanted.name) is not None
    session = open_shaped(
        data, wanted.name, house.ledger, unit=wanted.unit.unit or None, **rules
    )  # fmt: skip
    if is_known:
        _check_rows(house, wanted.name, session.spending.fingerprint_of(()))
    return wanted.schema_text


def _check_rows(house: House, name: str, fingerprint: str) -> None:
    """Refuse to take in a dataset of the ledger for one who does not have its rows."""
    found = {private_part(part) for part in fingerprint.split("+")}
    if not found <= known_rows(house.reader)[name]:
        raise GovernanceError(f"The dataset {name!r} is registered with other rows.")


def _check_unit(schema: Schema, unit: str, *, stated: bool) -> None:
    """Refuse a unit beside a schema that names another person."""
    if stated and schema.unit not in {ROW_UNIT, unit}:
        raise ParameterError(
            f"The schema names '{schema.unit}' as the privacy unit, and the unit is stated to be "
            f"'{unit}'; state the same in both, or leave the unit out."
        )


def _schema(
    house: House, wanted: DatasetRequest, where: Any, known: Registration | None
) -> Schema | None:
    """Read the schema, or suggest one; write it beside the rows."""
    folder = folder_of(house.settings, wanted.name)
    is_file = isinstance(where, str) and "://" not in where and "::" not in where
    text, file = wanted.schema_text, folder / "schema.yaml"
    if not text.strip() and not is_file:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    if text.strip():
        found, stated = read_stated(text, file), True
    else:
        stored = stored_schema(house.settings, wanted.name)
        stated = stored is not None
        found = own_schema(inspect(where).schema if stored is None else stored)
    if wanted.purposes:
        found = found.model_copy(update={"purposes": tuple(wanted.purposes)})
    if known is not None and not stated:
        unit = known.unit_hidden
        found = found.model_copy(update={"unit": unit.name if isinstance(unit, Unit) else ROW_UNIT})
    elif wanted.unit.unit:
        _check_unit(found, wanted.unit.unit, stated=stated)
        found = found.model_copy(update={"unit": wanted.unit.unit})
    found.write(file)
    return stored_schema(house.settings, wanted.name)


def _check_subject(schema: Schema | None, subject: str) -> None:
    if subject and schema is not None and subject not in schema.attributes:
        raise ParameterError(f"There is no column {subject!r} by which a person could be found.")


def _check_told(told: Mapping[str, Any]) -> None:
    unknown = set(told) - {"title", "why", "contact", "retention", "tick", "deadline"}
    if unknown:
        raise ParameterError(f"Nothing is told under {min(unknown)!r}.")
    if any(isinstance(v, str) == (k in {"tick", "deadline"}) for k, v in told.items()):
        raise ParameterError("The tick and the deadline are numbers, all else is text.")


def amend(house: House, caller: Caller, name: str, wanted: AmendRequest) -> None:
    """Amend limits, policy, purposes and what everybody may know."""
    known = house.reader.registration(name)
    if known is None:
        raise ParameterError(f"There is no dataset {name!r}.")
    changes: dict[str, Any] = {}
    if wanted.owner is not None:
        changes["limits"] = wanted.owner.limits(known.limits)
        changes["policy"] = wanted.owner.chosen_policy()
    if wanted.purposes is not None:
        changes["purposes"] = tuple(wanted.purposes)
        limits = changes.get("limits") or known.limits
        stray = set(limits.purposes) - set(wanted.purposes)
        if stray:
            kept = {
                purpose: limit for purpose, limit in limits.purposes.items() if purpose not in stray
            }
            changes["limits"] = replace(limits, purposes=kept)
    stated = {field: value for field, value in changes.items() if value is not None}
    if not stated and not wanted.told:
        raise ParameterError("An amendment changes limits, policy, purposes or what is told.")
    _check_told(wanted.told or {})
    if stated:
        house.ledger.amend(name, **stated, reason=wanted.reason, known=known)
    if wanted.told:
        change_facts(house.office, name, **wanted.told)
    record_event(house, "amended", caller, name)
