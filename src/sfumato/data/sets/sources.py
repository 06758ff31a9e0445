"""Bring sets in: lines, long tables, list cells, list columns.

`read_sets` takes

* a `.dat`, `.txt` or `.basket` file (also packed, `.dat.gz`): one set per line, blanks between
items;
* a CSV or Parquet file or a frame in long form, with the columns of `person` and `items`
  (the only two columns where none is named);
* the same with one row per set, `items` naming a list column, or, with a `separator`, a cell such
  as `beer|wine`;
* a CSV file with one set per line and as many cells as items: `form="lines"`;
* a table of a database, `postgresql://…?table=baskets` or `shop.duckdb::baskets`, in both forms;
* any Python sequence of collections.

An item that is there twice counts once. Without a `hierarchy` one is made from co-occurrence.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines.duckdb import quoted, quoted_text, translated
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.sets.databases import is_database, stream_sets
from sfumato.data.sets.item_groups import group_by_occurrence, group_in_order
from sfumato.data.sets.item_tree import ItemTree, tree_of_hierarchy
from sfumato.data.sets.line_files import is_line_file, read_lines
from sfumato.data.sets.sets import Sets
from sfumato.data.tables.memory_rows import brought
from sfumato.data.tables.sources import read as read_table
from sfumato.data.tables.table import ROW, Table
from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import DataError, HierarchyError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    RawSets = tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]
    """Starts, item codes with repetitions, and the text of each code."""

BATCH = 50_000
NUMBERS = ("DOUBLE[]", "FLOAT[]")
"""Types of lists in which what is no number is no item."""
TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".pq")


def read_sets(
    source: Any,
    *,
    hierarchy: Any = None,
    name: str | None = None,
    **options: Any,
) -> Sets:
    """Return the sets of a source; `hierarchy` is a `Hierarchy`, a file of one, or a fan-out.

    A whole number as `hierarchy` joins so many neighbours per level, items in natural order.
    """
    if isinstance(source, Sets):
        return source if hierarchy is None else regroup(source, hierarchy)
    raw, kind = read_raw(source, **options)
    if len(raw[0]) < 2:
        raise DataError("There is no set in the data; at least one is needed.")
    title = name or (Path(source).name.split(".")[0] if isinstance(source, str | Path) else "sets")
    return assemble(raw, hierarchy, title, kind)


def read_raw(source: Any, **options: Any) -> tuple[RawSets, str]:
    """Return sets as they stand, repetitions included, and the kind they came in."""
    if is_database(source):
        return encode(stream_sets(source, **_columns(options))), "lines"
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            raise DataError(f"{path} is not a file; give the path of a file of sets.")
        lines = options.pop("form", None) == "lines"
        if lines or is_line_file(path):
            given = options.pop("encoding", None) or "utf-8"
            _no_more(options)
            commas = lines and not is_line_file(path)
            return encode(read_lines(path, commas=commas, encoding=given)), "lines"
        if path.suffix.lower() not in TABLE_ENDINGS:
            raise DataError(
                f"{path} does not say what it holds; sets are read from {listed(TABLE_ENDINGS)} "
                "and from .dat, .txt and .basket files with one set per line."
            )
    elif _is_collection(source):
        _no_more(options)
        return encode(_texts(source)), "lists"
    return _read_table(source, **options)


def _columns(options: Mapping[str, Any]) -> dict[str, Any]:
    strangers = sorted(set(options) - {"person", "items"})
    if strangers:
        raise ParameterError(f"A table of a database needs no {listed(strangers)}.")
    return dict(options)


def _no_more(options: Mapping[str, Any]) -> None:
    if options:
        raise ParameterError(f"One set per line needs no {listed(sorted(options))}.")


def _is_collection(source: Any) -> bool:
    """Tell a Python sequence of collections from a frame or a mapping of columns."""
    if isinstance(source, Mapping | Table) or not isinstance(source, list | tuple):
        return False
    if any(
        isinstance(members, str | bytes) or not isinstance(members, Iterable) for members in source
    ):
        raise DataError("Each set must be a collection of items, such as a list or a set.")
    return True


def _texts(sets: Iterable[Iterable[Any]]) -> Iterator[list[str]]:
    """Give the items of Python's sets as texts; what is no item is refused, not called one."""
    for place, members in enumerate(sets, start=1):
        texts = []
        for item in members:
            if item is None or item != item or item == "":  # noqa: PLR0124 - nothing else is not itself
                raise DataError(f"Set {place} holds a missing item; leave it out.")
            if isinstance(item, bytes | Iterable) and not isinstance(item, str):
                raise DataError(
                    f"Set {place} holds a {type(item).__name__} as an item; items are texts or "
                    "numbers."
                )
            texts.append(str(item))
        yield texts


def encode(sets: Iterable[Sequence[str]]) -> RawSets:
    """Give the items of sets numbers in the order in which they come; hold numbers alone."""
    index: dict[str, int] = {}
    codes, ends = array("i"), array("q", [0])
    for members in sets:
        codes.extend(index.setdefault(item, len(index)) for item in members)
        ends.append(len(codes))
    starts = np.frombuffer(ends, dtype=np.int64).copy()
    return starts, np.frombuffer(codes, dtype=np.int32).astype(np.int64), tuple(index)


# -- tables ----------------------------------------------------------------------------


def _read_table(
    source: Any,
    *,
    person: str | None = None,
    items: str | None = None,
    separator: str | None = None,
    form: str | None = None,
    **options: Any,
) -> tuple[RawSets, str]:
    if form not in {None, "long", "list"}:
        raise ParameterError(f"form is 'lines', 'long' or 'list', not {form!r}.")
    table = brought(read_table(source, **options))
    person, items = _choose_columns(table, person, items, separator)
    kept = table.materialize()
    cell = _items_of(table, items, separator)
    key = ROW if person is None else table.text(person)
    if person is not None:
        nobody = f"{key} IS NULL OR {key} = ''"
        if missing := kept.run(f"SELECT count(*) FROM {kept.scan} WHERE {nobody}")[0][0]:
            raise DataError(
                f"{missing:,} row(s) name nobody in column '{person}'; remove them, or say whose "
                "they are."
            )
    total = int(kept.run(f"SELECT count(DISTINCT {key}) FROM {kept.scan}")[0][0])
    with translated(table.source):
        found = encode(_stream(kept, key, cell, total))
    kept.drop()
    return found, table.kind


def _stream(table: Table, key: str, cell: str, total: int) -> Iterator[list[str]]:
    """Give the sets in the order of their keys, those of no item last; the engine sorts."""
    rows = table.engine.local.connection.execute(
        f"WITH cells AS (SELECT dense_rank() OVER (ORDER BY {key}) AS set, {cell} AS item "
        f"FROM {table.scan}) SELECT set, item FROM cells ORDER BY set"
    )
    given, number = 0, None
    members: list[str] = []
    while batch := rows.fetchmany(BATCH):
        for of, item in batch:
            if of != number and number is not None:
                yield members
                given, members = given + 1, []
            number = of
            if item:
                members.append(item)
    if number is not None:
        yield members
        given += 1
    yield from ([] for _ in range(total - given))


def _choose_columns(
    table: Table, person: str | None, items: str | None, separator: str | None
) -> tuple[str | None, str]:
    """Find out which columns hold the person and the items."""
    for column in (person, items):
        if column is not None and column not in table.columns:
            raise ParameterError(
                f"There is no column '{column}'; there are {listed(table.columns)}."
                f"{did_you_mean(column, table.columns)}"
            )
    lists = [c for c in table.columns if table.types[c].endswith("]")]
    if items is None and person is None and len(lists) == 1:
        return None, lists[0]
    if items is None and len(table.columns) == 2 and separator is None:
        person = person or table.columns[0]
        return person, next(column for column in table.columns if column != person)
    if items is None:
        raise ParameterError(
            f"Say which column holds the items, with items=…, and in long form which holds the "
            f"person, with person=…; there are {listed(table.columns)}."
        )
    if person is None and separator is None and items not in lists:
        raise ParameterError(
            f"Column '{items}' holds no lists: name the column of the person for the long form, "
            "or the separator inside a cell."
        )
    return person, items


def _items_of(table: Table, items: str, separator: str | None) -> str:
    """Return the SQL of one item per row."""
    if table.types[items].endswith("]"):
        text = f"CAST(unnest({quoted(items)}) AS VARCHAR)"
        return f"nullif({text}, 'nan')" if table.types[items] in NUMBERS else text
    if separator is not None:
        if not separator:
            raise ParameterError("The separator must be at least one character.")
        return f"trim(unnest(string_split({table.text(items)}, {quoted_text(separator)})))"
    return table.text(items)


# -- the tree --------------------------------------------------------------------------


def assemble(raw: RawSets, hierarchy: Any, title: str, kind: str) -> Sets:
    """Put sets and the tree of their items together; each item counts once in a set."""
    starts, codes, labels = raw
    starts, codes = _distinct(starts, codes, len(labels))
    tree = _tree(hierarchy, labels, starts, codes)
    place = np.array([tree.codes[label] for label in labels], dtype=np.int64)
    starts, items = _distinct(starts, place[codes], tree.items) if len(codes) else (starts, codes)
    return Sets(title, starts, items.astype(np.int32), tree, kind, hierarchy is not None)


def _distinct(
    starts: NDArray[np.int64], codes: NDArray[np.int64], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort the items of each set and keep each once."""
    count = len(starts) - 1
    keys = np.repeat(np.arange(count), np.diff(starts))
    keys *= max(width, 1)
    keys += codes
    keys.sort()  # in place: `np.unique` hashes first, which takes as much room again
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
    sizes = np.bincount(keys // max(width, 1), minlength=count)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), keys % max(width, 1)


def _tree(
    hierarchy: Any, labels: tuple[str, ...], starts: NDArray[np.int64], codes: NDArray[np.int64]
) -> ItemTree:
    if not labels:
        raise DataError("No set holds any item; at least one is needed.")
    if hierarchy is None:
        return group_by_occurrence(labels, starts, codes.astype(np.int32))
    if isinstance(hierarchy, str) and hierarchy.isdecimal() and not Path(hierarchy).exists():
        hierarchy = int(hierarchy)  # as a command line writes it
    if isinstance(hierarchy, int):
        return group_in_order(labels, hierarchy)
    if isinstance(hierarchy, ItemTree):
        tree = hierarchy
    else:
        found = Hierarchy.read(hierarchy) if isinstance(hierarchy, str | Path) else hierarchy
        if not isinstance(found, Hierarchy):
            raise ParameterError(
                "hierarchy must be a Hierarchy, the path of one, or a whole number of neighbours "
                f"per level, not {type(hierarchy).__name__}."
            )
        tree = tree_of_hierarchy(found)
    unknown = sum(label not in tree.codes for label in labels)
    if unknown:
        raise HierarchyError(
            f"The item hierarchy ({tree.source}) does not cover {unknown} item(s) of the data; "
            "every item must be one of its leaves. Add a row for each, or mend the data."
        )
    return tree


def regroup(sets: Sets, hierarchy: Any) -> Sets:
    """Return the same sets under another hierarchy."""
    labels = sets.tree.labels[: sets.tree.items]
    used = np.unique(sets.items)
    place = np.zeros(len(labels), dtype=np.int64)
    place[used] = np.arange(len(used))
    raw = (sets.starts, place[sets.items], tuple(labels[i] for i in used))
    return assemble(raw, hierarchy, sets.name, sets.kind)
