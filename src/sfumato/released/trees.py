"""Released trees as a stranger sees them: shapes with labels, and which of them look alike.

Two trees look alike where they are isomorphic as unordered trees with the quasi-identifying labels:
their canonical forms (Aho, Hopcroft, Ullman 1974) are the same text. Vertices of like trees look
alike where, on the way from the root down, the canonical forms of the subtrees are the same: that
is the orbit under automorphisms. A sensitive value shown as `*` is withheld and tells nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
from sfumato.data.hierarchies.hierarchy import ROOT
from sfumato.data.schema import Schema
from sfumato.data.trees.sources import read_trees
from sfumato.errors import ParameterError
from sfumato.released.people import stated_people, stated_unit
from sfumato.released.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.trees.trees import Trees

LONGEST = 160
"""How much of a tree is shown as text."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TreesView(View):
    """Released trees; `quasi` and `secret` are the labels with these roles that there are."""

    shape: ClassVar[str] = "trees"
    unit: ClassVar[str] = "tree"

    trees: Trees
    schema: Schema
    quasi: tuple[str, ...]
    secret: tuple[str, ...]
    people: Mapping[str, Any] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @cached_property
    def texts(self) -> list[dict[str, str]]:
        """The labels of every vertex."""
        found: list[dict[str, str]] = [{} for _ in range(len(self.trees.type_of))]
        for kind, places in zip(self.trees.types, self.trees.of_type, strict=True):
            for label in kind.labels:
                for vertex, text in zip(places.tolist(), self.trees.values[label], strict=True):
                    found[vertex][label] = str(text)
        return found

    @cached_property
    def canonical(self) -> list[str]:
        """The canonical form of the tree below every vertex."""
        below: list[list[str]] = [[] for _ in range(len(self.trees.type_of))]
        forms = [""] * len(below)
        shown = set(self.quasi)
        for vertex in range(len(below) - 1, -1, -1):
            kind = self.trees.types[int(self.trees.type_of[vertex])]
            known = {name: self.texts[vertex][name] for name in kind.labels if name in shown}
            forms[vertex] = f"{kind.path!r}{known!r}({','.join(sorted(below[vertex]))})"
            parent = int(self.trees.parent[vertex])
            if parent >= 0:
                below[parent].append(forms[vertex])
        return forms

    @cached_property
    def class_of(self) -> list[str]:
        """The canonical form of every tree."""
        return [self.canonical[int(root)] for root in self.trees.of_type[0]]

    @cached_property
    def classes(self) -> dict[str, int]:
        """Number of trees by canonical form."""
        return dict(Counter(self.class_of))

    @cached_property
    def orbits(self) -> list[int]:
        """For every vertex, the number of those that look like it."""
        seen: dict[tuple[int, str], int] = {}
        found = [0] * len(self.canonical)
        for vertex, form in enumerate(self.canonical):
            parent = int(self.trees.parent[vertex])
            found[vertex] = seen.setdefault((-1 if parent < 0 else found[parent], form), len(seen))
        return found

    def values_by_orbit(self, label: str) -> dict[int, Counter[str]]:
        """Count the values of a sensitive label among vertices that look alike."""
        found: dict[int, Counter[str]] = {}
        kind = next((n for n, t in enumerate(self.trees.types) if label in t.labels), None)
        if kind is None:
            return found
        for vertex in self.trees.of_type[kind].tolist():
            text = self.texts[vertex][label]
            if text != ROOT:
                found.setdefault(self.orbits[vertex], Counter())[text] += 1
        return found

    def groups(self, definition: Definition | None = None) -> Classes:
        """Return classes of like trees; vertices that look alike where values are judged."""
        names = () if definition is None else definition.sensitive
        if not names:
            return Classes(np.array(list(self.classes.values()), dtype=np.int64))
        if len(names) > 1:
            raise ParameterError("Vertices are judged by one sensitive label at a time.")
        counted = list(self.values_by_orbit(names[0]).values())
        values = sorted({text for counts in counted for text in counts})
        table = np.array([[counts[v] for v in values] for counts in counted], dtype=np.int64)
        table = table.reshape(len(counted), len(values))
        histogram = SensitiveHistogram(table, table.sum(axis=0), tuple(values))
        return Classes(table.sum(axis=1), {names[0]: histogram})

    def describe(self, group: int) -> Mapping[str, str]:
        """Show a tree by its root's labels and how many vertices it has."""
        form = list(self.classes)[group]
        return self.describe_tree(self.class_of.index(form))

    def describe_tree(self, number: int) -> Mapping[str, str]:
        """Show one tree: what is known of its root, and its vertices by type."""
        trees = self.trees
        root = int(trees.of_type[0][number])
        known = {name: text for name, text in self.texts[root].items() if name in self.quasi}
        mine = trees.type_of[trees.record == number]
        sizes = Counter(trees.types[int(t)].path for t in mine if t > 0)
        return {**known, **{name: f"{count} of them" for name, count in sorted(sizes.items())}}


def see_trees(
    source: Any,
    *,
    schema: Any = None,
    manifest: Any = None,
    called: str | None = None,
    promise: Any = None,
    **options: Any,
) -> TreesView:
    """Look at a released file, or at trees as they came; labels have the roles of the schema."""
    trees = read_trees(source, **options)
    rules = _roles(schema, manifest, trees)
    quasi = tuple(label for label in trees.labels if label in rules.quasi_names)
    secret = tuple(label for label in trees.labels if label in rules.sensitive_names)
    return TreesView(
        source=called or (str(source) if isinstance(source, str | Path) else "the trees"),
        promise=promise, trees=trees, schema=rules, quasi=quasi, secret=secret,
        people=stated_people(manifest),
    )  # fmt: skip


def _roles(schema: Any, manifest: Any, trees: Trees) -> Schema:
    if isinstance(schema, Schema):
        return schema
    if schema is not None:
        return Schema.read(schema)
    if trees.schema is not None:
        return trees.schema
    stated = {} if manifest is None else manifest.facts.get("roles")
    if isinstance(stated, dict) and stated:
        return Schema(
            quasi=tuple(map(str, stated.get("quasi", ()))),
            sensitive=tuple(map(str, stated.get("sensitive", ()))),
            insensitive=tuple(map(str, stated.get("insensitive", ()))),
            unit=stated_unit(manifest),
        )
    raise ParameterError(
        "Nothing says which labels others may know; give the schema of the trees with schema=."
    )
