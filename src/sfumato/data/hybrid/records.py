"""Hybrid records: a row of attributes, and in some columns a set of items or a place.

Contract: what others may know of a person is a quasi-identifier with a tree over its values, or an
attribute of sets; everything else is kept as text. Identifiers are gone. Every record is another
person: where the schema names the person's column, somebody with several rows is refused, since
classes and sets are counted by records.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data.engines.duckdb import quoted, quoted_text
from sfumato.data.hybrid.quadtree import quadtree
from sfumato.data.schema import Schema
from sfumato.data.sets.item_tree import ItemTree, tree_of_hierarchy
from sfumato.data.sets.sources import assemble, encode
from sfumato.data.tables.memory_rows import brought
from sfumato.data.tables.sources import read as read_table
from sfumato.data.tables.table import ROW
from sfumato.data.tables.unit import person_column, repeats
from sfumato.errors import DataError, SchemaError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.data.sets.sets import Sets
    from sfumato.data.tables.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class QuasiColumn:
    """A quasi-identifier: the leaf of every record in the tree of its values."""

    name: str
    tree: ItemTree
    codes: NDArray[np.int32]
    weight: float = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class HybridRecords(Shown):
    """Quasi-identifiers, attributes of sets, and other columns as text, record by record."""

    name: str
    schema: Schema
    quasi: tuple[QuasiColumn, ...]
    sets: Mapping[str, Sets]
    others: Mapping[str, list[str | None]]
    kind: str = "csv"
    untruthful: tuple[str, ...] = field(default=())
    shape: ClassVar[str] = "hybrid"

    def __len__(self) -> int:
        return len(next(iter(self.sets.values())))

    def __repr__(self) -> str:
        return f"<HybridRecords {self.name}: {len(self):,} with sets of {', '.join(self.sets)}>"


def read_hybrid(
    source: Any,
    *,
    schema: str | Path | Schema | None = None,
    bounds: Mapping[str, tuple[float, float, float, float]] | None = None,
    **options: Any,
) -> HybridRecords:
    """Return the records of a file or frame whose schema names attributes of type set.

    `bounds` gives for attributes of type place the least x and y and the largest x and y; without
    them places are latitude and longitude.
    """
    if isinstance(source, HybridRecords):
        return source
    if schema is None:
        raise SchemaError("Hybrid records need a schema that says which attributes are sets.")
    rules = schema if isinstance(schema, Schema) else Schema.read(schema)
    names = [name for name, attribute in rules.attributes.items() if attribute.type == "set"]
    if not names:
        raise SchemaError(
            f"{rules.source} names no attribute of type 'set'; hybrid records have at least one."
        )
    table = read_table(source, schema=rules, **options)
    quasi = [name for name in rules.quasi_names if name not in names]
    others = [n for n in (*rules.sensitive_names, *rules.insensitive_names) if n not in names]
    _check_people(table)
    kept = _with_columns(table, {*quasi, *others, *names}).materialize()
    if not kept.rows:
        raise DataError(f"{table.source} has a header but no records; at least one is needed.")
    columns = {name: _cells(kept, name) for name in (*quasi, *others)}
    records = HybridRecords(
        name=table.name,
        schema=rules,
        quasi=tuple(_quasi(rules, name, columns[name], (bounds or {}).get(name)) for name in quasi),
        sets={name: _sets(kept, name, rules) for name in names},
        others={name: columns[name] for name in others},
        kind=table.kind,
    )
    kept.drop()
    return records


def _with_columns(table: Table, wanted: set[str]) -> Table:
    """Bring some columns here; who the records are of stays where it is."""
    types = {name: kind for name, kind in table.types.items() if name in wanted}
    return brought(replace(table, types=types))


def _check_people(table: Table) -> None:
    """Refuse records of which several are of one person: they would hide only behind themselves."""
    person = person_column(table)
    if person is not None and repeats(table, person):
        raise DataError(
            f"{table.source} has several rows of one '{person}', which the schema names as the "
            "privacy unit; records with sets are one row per person. Put the items of a person "
            "together in one row first."
        )


def _cells(table: Table, column: str) -> list[str | None]:
    rows = table.run(f"SELECT {table.text(column)} FROM {table.scan} ORDER BY {ROW}")
    return [row[0] for row in rows]


def _quasi(
    rules: Schema,
    name: str,
    cells: list[str | None],
    bounds: tuple[float, float, float, float] | None,
) -> QuasiColumn:
    attribute = rules.attribute(name)
    texts = ["" if cell is None else cell for cell in cells]
    values = list(dict.fromkeys(texts))
    if attribute.type == "place":
        tree = quadtree(values, name, bounds)
    else:
        tree = tree_of_hierarchy(rules.hierarchy_for(name, values))
    codes = np.array([tree.codes[text] for text in texts], dtype=np.int32)
    return QuasiColumn(name, tree, codes, attribute.weight)


def _sets(table: Table, name: str, rules: Schema) -> Sets:
    attribute = rules.attribute(name)
    if table.types[name].endswith("]"):
        rows = table.run(f"SELECT {quoted(name)} FROM {table.scan} ORDER BY {ROW}")
        lists = [[str(item) for item in row[0] or () if item is not None] for row in rows]
    else:
        cut = f"string_split({table.text(name)}, {quoted_text(attribute.separator)})"
        rows = table.run(f"SELECT {cut} FROM {table.scan} ORDER BY {ROW}")
        lists = [[item.strip() for item in row[0] or () if item.strip()] for row in rows]
    if not any(lists):
        raise DataError(f"No record has an item in '{name}'; at least one is needed.")
    return assemble(encode(lists), attribute.hierarchy, name, "lists")
