"""Data of any shape that the server holds, as the rooms that release them take them.

Contract: a shape reads its own files; here it is only said where they lie and how they are read. A
file that reading or a schema names lies in the server's folder ``data``, like the rows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.schema import Schema
from sfumato.data.tables.suggestions import inspect
from sfumato.dp.neighbours import named_units
from sfumato.errors import ParameterError
from sfumato.requests.releases import TABLES, read_shape_options
from sfumato.service.sources import folder_of, inside, source_at, stored_schema
from sfumato.shape import find_shape, read

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from sfumato.ask.shaped.session import ShapedSession
    from sfumato.govern.ledger.ledger import Ledger
    from sfumato.govern.limits import Limits
    from sfumato.govern.office.catalogue import CatalogueEntry
    from sfumato.govern.policies import Policy
    from sfumato.service.settings import Settings

_SCHEMA = {"sets": "hierarchy.csv"}
WITH_SCHEMA = (*TABLES, "trees")
"""Shapes whose file is a `Schema`; that of traces states options, a graph has none."""

_NAMES_A_FILE = "hierarchy"


def is_table(shape: str) -> bool:
    """Tell whether data of a shape answer SQL."""
    return shape in TABLES


@cache
def algorithms_of(shape: str) -> tuple[str, ...]:
    """Name the algorithms of a shape, the default first."""
    return tuple(find_shape(shape).algorithms())


def schema_at(settings: Settings, name: str, shape: str) -> Path:
    """Give the place of what an owner says about the data: a schema, or a hierarchy of items."""
    return folder_of(settings, name) / _SCHEMA.get(shape, "schema.yaml")


def check_reading(settings: Settings, shape: str, given: dict[str, Any]) -> dict[str, Any]:
    """Check how a file is to be read; a file that is named there is one of ours."""
    said = read_shape_options(find_shape(shape).options.get("read"), given)
    named = said.get(_NAMES_A_FILE)
    if named is not None and not str(named).isdecimal():
        said[_NAMES_A_FILE] = str(inside(settings, str(named)))
    return said


def read_stated(text: str, file: Path) -> Schema:
    """Read a schema that an owner states, as the text of a file that is not written yet.

    It holds all itself: a file that it named would be read by the server, whose files are not the
    owner's. Whether there is one at a path is not looked at.
    """
    return Schema.read(file, text=text, files="nowhere")


def own_schema(schema: Schema) -> Schema:
    """Let a schema hold the hierarchies that files beside the rows gave it."""
    return schema.model_copy(update={"attributes": {
        name: kind.model_copy(update={"hierarchy": replace(kind.hierarchy, source="the schema")})
        if isinstance(kind.hierarchy, Hierarchy) else kind
        for name, kind in schema.attributes.items()
    }})  # fmt: skip


def suggest_roles(file: Path, shape: str) -> Any:
    """Suggest a role for every column or label; None where the shape has no roles to suggest."""
    if is_table(shape):
        return inspect(file)
    return find_shape(shape).suggest(file) if shape == "trees" else None


def read_held(settings: Settings, listed: CatalogueEntry) -> Any:
    """Read data of any shape."""
    facts = listed.facts
    file = schema_at(settings, listed.name, facts.shape)
    schema: Any = file if file.exists() else None
    if facts.shape in WITH_SCHEMA:
        schema = stored_schema(settings, listed.name)
    reading = check_reading(settings, facts.shape, facts.reading)
    return read(source_at(settings, listed.source), schema=schema, shape=facts.shape, **reading)


def open_shaped(
    data: Any,
    name: str,
    ledger: Ledger,
    *,
    unit: Any = None,
    analyst: str = "owner",
    purpose: str | None = None,
    purposes: tuple[str, ...] = (),
    limits: Limits | None = None,
    policy: Policy | None = None,
    compared: Collection[str] | None = None,
) -> ShapedSession:
    """Open a session on data that are no table; the first one registers the owner's rules."""
    from sfumato.ask.shaped.session import ShapedSession  # noqa: PLC0415 - loads the compiler

    known = ledger.registration(name)
    if known is not None:
        unit = _registered_unit(known.rules, data.shape)
    elif purpose is None and purposes:
        purpose = purposes[0]
    return ShapedSession(
        data, unit=unit, name=name, ledger=ledger, analyst=analyst, purpose=purpose,
        purposes=purposes, limits=limits, policy=policy, compared=compared,
    )  # fmt: skip


def _registered_unit(rules: Any, shape: str) -> Any:
    """Find the unit that was registered among those that can be named in a word."""
    for unit in named_units().values():
        if unit.stated() == rules.get("hidden"):
            return unit
    raise ParameterError(f"The unit of this dataset of the shape '{shape}' is not known here.")
