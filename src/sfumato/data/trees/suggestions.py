"""Suggestions for a schema of trees: each vertex type is looked at like a table of its labels.

A label that differs from vertex to vertex names a vertex as an identifier of rows names a row, and
what singles people out among the roots does so here. Whatever stands on a lower level is known to
whoever knows of the visit, the course, the book; so labels of lower levels are quasi-identifiers
unless their names or values say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.tables.sources import read as read_table
from sfumato.data.tables.suggestions import ColumnSuggestion, Suggestions, suggest
from sfumato.data.trees.sources import read_trees

if TYPE_CHECKING:
    from sfumato.data.schema import Schema
    from sfumato.data.trees.trees import Trees


@dataclass(frozen=True)
class TreeSuggestions(Suggestions):
    """A suggested role for every label of every vertex type."""

    vertices: tuple[tuple[str, int], ...] = ()


def inspect_trees(source: Any) -> TreeSuggestions:
    """Suggest a schema for a file of trees."""
    trees: Trees = read_trees(source)
    columns: list[ColumnSuggestion] = []
    sets: tuple[Any, ...] = ()
    for kind, places in zip(trees.types, trees.of_type, strict=True):
        if not kind.labels or not len(places):
            continue
        found = suggest(read_table({label: trees.values[label] for label in kind.labels}))
        columns += [_on_its_level(column, kind.path) for column in found.columns]
        sets = sets if kind.path else found.sets
    named = str(source) if isinstance(source, str | Path) else trees.name
    counts = tuple((kind.name, len(p)) for kind, p in zip(trees.types, trees.of_type, strict=True))
    return TreeSuggestions(named, len(trees), tuple(columns), sets, vertices=counts)


def _on_its_level(found: ColumnSuggestion, path: str) -> ColumnSuggestion:
    """Say of a label below the root that vertices were counted, not people."""
    if not path or found.role == "identifier":
        return found
    reason = found.reason.replace(" people", " vertices").replace("1 person", "1 vertex")
    return replace(found, reason=reason, company="")


def suggested_schema(trees: Trees) -> Schema:
    """Return the suggested roles alone."""
    return inspect_trees(trees).schema
