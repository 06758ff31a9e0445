"""From nested Python values (as JSON gives them) to arrays, and back.

An object is a vertex; its values are its labels, its lists and objects are its children. A value
that stands where other records have a list counts as a list of one. Keys with a dot, such as
"encounters.conditions" at a patient, hold children that were cut off from the vertices between.
What is missing, null or empty is the same: not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import numpy as np

from sfumato.data.trees.trees import RECORD_TAGS, Trees, VertexType
from sfumato.errors import DataError

DEEPEST = 50
"""More levels than this are taken for a mistake, such as a record that contains itself."""


PLAIN = (str, int, float, Decimal, np.generic, date, time, UUID, Enum, type(None))
"""Values that stand for themselves when they are written as text."""


class NumberText(str):
    """A number as the file writes it."""

    __slots__ = ()


def plain_text(value: Any) -> str:
    """Return a value as text; nothing for what is missing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _form(value: Any) -> str:
    if isinstance(value, bool):
        return "logical"
    is_number = isinstance(value, NumberText | int | float | np.number)
    return "number" if is_number else "text"


class _Survey:
    """What stands under every path: values, lists of values, objects, lists of objects."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.seen: dict[str, set[str]] = {}
        self.forms: dict[str, set[str]] = {}

    def look(self, found: Mapping[Any, Any], path: str, above: tuple[int, ...]) -> None:
        if len(above) > DEEPEST:
            raise DataError(
                f"{self.source} has records of more than {DEEPEST} levels, or one that contains "
                "itself; cut what refers back before reading."
            )
        if id(found) in above:
            raise DataError(f"{self.source} has a record that contains itself.")
        for key, value in found.items():
            if not isinstance(key, str) or not key or key != key.strip("."):
                raise DataError(f"{self.source}: a key is not a name, at {path or 'the root'}.")
            place = f"{path}.{key}" if path else key
            if isinstance(value, Mapping):
                self.seen.setdefault(place, set()).add("object")
                self.look(value, place, (*above, id(found)))
            elif isinstance(value, list | tuple):
                self.seen.setdefault(place, set()).add("list")
                self._look_along(value, place, (*above, id(found)))
            else:
                self._value(place, value, detached="." in key)

    def _look_along(self, values: Iterable[Any], place: str, above: tuple[int, ...]) -> None:
        for value in values:
            if isinstance(value, Mapping):
                self.seen[place].add("object")
                self.look(value, place, above)
            elif isinstance(value, list | tuple):
                raise DataError(
                    f"{self.source} has a list within a list at '{place}'; give the inner list a "
                    "key of its own."
                )
            else:
                self.seen[place].add("item")
                self._value(place, value)

    def _value(self, place: str, value: Any, *, detached: bool = False) -> None:
        if not isinstance(value, PLAIN):
            raise DataError(
                f"{self.source}: '{place}' holds a value of the type {type(value).__name__}; "
                "records hold text, numbers, dates, true and false, lists and objects."
            )
        if detached and value not in (None, ""):
            raise DataError(
                f"{self.source}: the key of the value at '{place}' has a dot; write it without."
            )
        kinds = self.seen.setdefault(place, set())
        if value is not None and value != "":
            kinds.add("value")
            self.forms.setdefault(place, set()).add(_form(value))

    def types(self) -> tuple[tuple[VertexType, ...], dict[str, str]]:
        """Return the vertex types and the form of every label."""
        vertices = {place for place, kinds in self.seen.items() if kinds & {"list", "object"}}
        for place in list(vertices):
            if "object" in self.seen[place] and self.seen[place] & {"value", "item"}:
                raise DataError(
                    f"{self.source} has objects and plain values at '{place}'; make them one kind."
                )
            parts = place.split(".")
            vertices |= {".".join(parts[:n]) for n in range(1, len(parts))}
        for place, kinds in self.seen.items():
            if kinds & {"value", "item"} and any(p.startswith(f"{place}.") for p in self.seen):
                raise DataError(
                    f"{self.source} has plain values at '{place}' and something below it; make "
                    "them one kind."
                )
        labels = [p for p, kinds in self.seen.items() if p not in vertices]
        return _arrange(vertices, labels, self.seen), {
            label: next(iter(forms)) if len(forms) == 1 else "text"
            for label, forms in self.forms.items()
        }


def _arrange(
    vertices: set[str], labels: list[str], seen: Mapping[str, set[str]]
) -> tuple[VertexType, ...]:
    """Put types into an order in which parents come first, and labels to their types."""
    order = ["", *sorted(vertices, key=lambda place: (place.count("."), place))]
    number = {place: n for n, place in enumerate(order)}
    own: dict[str, list[str]] = {place: [] for place in order}
    for label in labels:
        own[label.rpartition(".")[0]].append(label)
    types = [VertexType("", -1, tuple(own[""]))]
    for place in order[1:]:
        kinds = seen.get(place, set())
        plain = bool(kinds & {"item", "value"}) and not _has_below(place, order)
        names = (place,) if plain else tuple(own[place])
        many = "list" in kinds or "object" not in kinds
        types.append(VertexType(place, number[place.rpartition(".")[0]], names, plain, many))
    return tuple(types)


def _has_below(place: str, order: list[str]) -> bool:
    return any(other.startswith(f"{place}.") for other in order)


class _Builder:
    """Vertices in the making."""

    def __init__(self, types: tuple[VertexType, ...]) -> None:
        self.types = types
        self.number = {kind.path: n for n, kind in enumerate(types)}
        self.type_of: list[int] = []
        self.parent: list[int] = []
        self.record: list[int] = []
        self.values: dict[str, list[str]] = {name: [] for kind in types for name in kind.labels}

    def add(self, value: Any, kind: int, parent: int, record: int) -> None:
        """Add a vertex and everything below it."""
        place = len(self.type_of)
        self.type_of.append(kind)
        self.parent.append(parent)
        self.record.append(record)
        own = self.types[kind]
        if own.plain:
            self.values[own.path].append(plain_text(value))
            return
        found = value if isinstance(value, Mapping) else {}
        start = f"{own.path}." if own.path else ""
        for label in own.labels:
            self.values[label].append(plain_text(found.get(label.removeprefix(start))))
        for key, below in found.items():
            child = self.number.get(start + key)
            if child is None or below is None or below == "":
                continue
            for each in below if isinstance(below, list | tuple) else [below]:
                self.add(each, child, place, record)


def from_nested(
    records: list[Any],
    *,
    source: str,
    name: str,
    kind: str = "python",
    tags: tuple[str, str] = RECORD_TAGS,
) -> Trees:
    """Return trees from a list of nested mappings, one per person."""
    survey = _Survey(source)
    for number, record in enumerate(records, 1):
        if not isinstance(record, Mapping):
            raise DataError(
                f"{source}: record {number} is not an object with keys; every record is one."
            )
        survey.look(record, "", ())
    if not records:
        raise DataError(f"{source} has no records.")
    types, forms = survey.types()
    builder = _Builder(types)
    for number, record in enumerate(records):
        builder.add(record, 0, -1, number)
    return Trees(
        types,
        np.array(builder.type_of, dtype=np.int32),
        np.array(builder.parent, dtype=np.int32),
        np.array(builder.record, dtype=np.int32),
        {name: np.array(found, dtype=object) for name, found in builder.values.items()},
        len(records), forms, None, name, kind, tags,
    )  # fmt: skip


def to_nested(trees: Trees) -> list[dict[str, Any]]:
    """Return one nested mapping per tree.

    Every object has all keys of its type in one order, and children stand in the order of their own
    content: how a tree is written tells nothing that its vertices and labels do not.
    """
    made: list[Any] = [None] * len(trees.type_of)
    below: list[dict[str, list[Any]]] = [{} for _ in made]
    position = np.empty(len(made), dtype=np.int64)
    for places in trees.of_type:
        position[places] = np.arange(len(places))
    children = [
        [other for other in trees.types if other.parent == number]
        for number in range(len(trees.types))
    ]
    for vertex in range(len(made) - 1, -1, -1):
        number = int(trees.type_of[vertex])
        kind = trees.types[number]
        texts = {label: _written(trees, label, int(position[vertex])) for label in kind.labels}
        if kind.plain:
            made[vertex] = texts[kind.path]
        else:
            made[vertex] = _object(kind, texts, children[number], below[vertex])
        parent = int(trees.parent[vertex])
        if parent >= 0:
            below[parent].setdefault(kind.path, []).append(made[vertex])
    return [made[int(root)] for root in trees.of_type[0]]


def _object(
    kind: VertexType,
    texts: Mapping[str, Any],
    children: list[VertexType],
    found: Mapping[str, list[Any]],
) -> dict[str, Any]:
    start = len(kind.path) + 1 if kind.path else 0
    content = {label[start:]: text for label, text in texts.items()}
    for child in children:
        listed = sorted(found.get(child.path, []), key=repr)
        if child.many or len(listed) > 1:
            content[child.path[start:]] = listed
        else:
            content[child.path[start:]] = listed[0] if listed else None
    usual = {child.path for child in children}
    for path in sorted(set(found) - usual):
        content[path[start:]] = sorted(found[path], key=repr)
    return content


def _written(trees: Trees, label: str, place: int) -> Any:
    """Return a label as a file shows it: numbers as such where all of the label's are."""
    text = trees.values[label][place]
    form = trees.forms.get(label, "text")
    if text == "":
        return None
    if form == "logical" and text in {"true", "false"}:
        return text == "true"
    if form == "number":
        return NumberText(text)
    return str(text)
