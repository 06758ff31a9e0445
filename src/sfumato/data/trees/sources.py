"""Bring trees in: JSON, JSON lines, XML, or nested Python values.

`read_trees` takes a file (`.json`, `.jsonl`, `.ndjson`, `.xml`, each also with `.gz`) or a list of
nested mappings. A schema gives every label its role by its path; labels without one are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sfumato.data.schema import Schema
from sfumato.data.trees.json_files import read_json, read_json_lines
from sfumato.data.trees.nested import from_nested
from sfumato.data.trees.trees import Trees
from sfumato.data.trees.xml_files import read_xml
from sfumato.errors import DataError, ParameterError

ENDINGS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".xml": "xml"}


def read_trees(source: Any, *, schema: Any = None, name: str | None = None) -> Trees:
    """Return the trees of a source, under a schema where one is given."""
    trees = source if isinstance(source, Trees) else _read(source, name)
    if schema is None:
        return trees
    rules = schema if isinstance(schema, Schema) else Schema.read(schema)
    return trees.with_schema(rules)


def _read(source: Any, name: str | None) -> Trees:
    if isinstance(source, str | Path):
        return _read_file(Path(source), name)
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        return from_nested(list(source), source="The list of records", name=name or "trees")
    raise ParameterError(
        "Trees are read from a file of JSON, JSON lines or XML, or from a list of nested mappings, "
        f"not from {type(source).__name__}."
    )


def _read_file(path: Path, name: str | None) -> Trees:
    if not path.is_file():
        raise DataError(f"{path} is not a file; give the path of a file of records.")
    kind = ENDINGS.get(Path(path.name.removesuffix(".gz")).suffix.lower())
    called = name or path.name.split(".")[0]
    if kind == "xml":
        records, tags = read_xml(path)
        return from_nested(records, source=str(path), name=called, kind=kind, tags=tags)
    if kind is None:
        raise DataError(
            f"{path} has none of the endings by which trees are read: {', '.join(ENDINGS)}, each "
            "also with .gz."
        )
    found = read_json(path) if kind == "json" else read_json_lines(path)
    return from_nested(found, source=str(path), name=called, kind=kind)
