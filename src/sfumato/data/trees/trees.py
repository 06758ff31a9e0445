"""Trees: one rooted tree per person, its vertices of known types and with labels.

Contract: a vertex type is named by its path, "" for the root and "encounters.conditions" for the
conditions of an encounter; a label by the path of its type and its own name, "encounters.start". A
vertex that is a plain value has one label, which has the type's own path. Children are not
ordered. Vertices stand record by record, parents before children; a type stands after its parent.
A vertex whose parent is of a higher type than its own type's parent was cut off and attached there:
nothing is said about which of the vertices between the two it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data.schema import ROW_UNIT
from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import DataError, SchemaError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.data.schema import Schema

RECORD_TAGS = ("records", "record")
"""What the elements around and of a record are called in XML unless the file says otherwise."""


@dataclass(frozen=True)
class VertexType:
    """A kind of vertex: where it hangs, which labels it has, and how a file writes it.

    `plain` vertices are values, not objects; `many` tells whether a parent may have several.
    """

    path: str
    parent: int
    labels: tuple[str, ...] = ()
    plain: bool = False
    many: bool = True

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.path or "the root"


@dataclass(frozen=True, eq=False, repr=False)
class Trees(Shown):
    """Trees as arrays over vertices; its length is the number of trees.

    `values[label]` has a text per vertex of the label's type, in the order of the vertices, missing
    ones as empty texts. `forms[label]` says whether all of them were numbers or logical values.
    """

    types: tuple[VertexType, ...]
    type_of: NDArray[np.int32]
    parent: NDArray[np.int32]
    record: NDArray[np.int32]
    values: Mapping[str, NDArray[Any]]
    records: int
    forms: Mapping[str, str] = field(default_factory=dict)
    schema: Schema | None = None
    name: str = "trees"
    kind: str = "python"
    tags: tuple[str, str] = RECORD_TAGS
    shape: ClassVar[str] = "trees"

    def __len__(self) -> int:
        return self.records

    def __repr__(self) -> str:
        return f"<Trees {self.name}: {self.records:,} trees, {len(self.type_of):,} vertices>"

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Type number by path."""
        return {kind.path: number for number, kind in enumerate(self.types)}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All labels, type by type."""
        return tuple(label for kind in self.types for label in kind.labels)

    @cached_property
    def of_type(self) -> tuple[NDArray[np.int64], ...]:
        """The vertices of each type."""
        return tuple(np.flatnonzero(self.type_of == t) for t in range(len(self.types)))

    @cached_property
    def detached(self) -> NDArray[np.bool_]:
        """Which vertices hang higher than their type does."""
        usual = np.array([kind.parent for kind in self.types], dtype=np.int32)
        above = np.where(self.parent >= 0, self.type_of[self.parent], -1)
        return np.asarray(above != usual[self.type_of], dtype=np.bool_)

    def role(self, label: str) -> str | None:
        """Return the role of a label; None where it is not to be released."""
        if self.schema is None or label not in self.schema.attributes:
            return None
        return self.schema.attributes[label].role

    def with_role(self, *roles: str) -> tuple[str, ...]:
        """Return the labels that have one of some roles."""
        return tuple(label for label in self.labels if self.role(label) in roles)

    def with_schema(self, schema: Schema) -> Trees:
        """Return the same trees under a schema; refuse one that names other labels."""
        for name, attribute in schema.attributes.items():
            if name not in self.values:
                raise SchemaError(
                    f"{schema.source} names the {attribute.role} label '{name}', which "
                    f"{self.name} does not have; its labels are {listed(self.labels)}."
                    f"{did_you_mean(name, self.labels)}"
                )
        _check_people(self, schema)
        return replace(self, schema=schema)

    @property
    def root_labels(self) -> tuple[str, ...]:
        """Labels of whole trees."""
        return tuple(label for kind in self.types if kind.parent < 0 for label in kind.labels)


def _check_people(trees: Trees, schema: Schema) -> None:
    """Refuse trees of which several are of one person: they would hide only behind themselves."""
    unit = schema.unit
    if unit == ROW_UNIT:
        return
    if unit not in trees.root_labels:
        raise SchemaError(
            f"{schema.source} names '{unit}' as the privacy unit, which is no label of whole trees "
            f"in {trees.name}; name the label that tells whose a tree is, or 'row' if every tree "
            f"is a person. Labels of whole trees are {listed(trees.root_labels)}."
            f"{did_you_mean(unit, trees.root_labels)}"
        )
    if unit in schema.attributes and schema.attributes[unit].role != "identifier":
        raise SchemaError(
            f"{schema.source} names '{unit}' as the privacy unit and gives it the role "
            f"'{schema.attributes[unit].role}': a label that tells whose a tree is names people. "
            "Give it the role 'identifier'."
        )
    if len(set(trees.values[unit].tolist())) < trees.records:
        raise DataError(
            f"{trees.name} has several trees of one '{unit}', which the schema names as the "
            "privacy unit; everything about a person is one tree. Put the trees of a person "
            "together first."
        )


def type_of_label(label: str, types: tuple[VertexType, ...]) -> int:
    """Return the number of the type that has a label."""
    return next(number for number, kind in enumerate(types) if label in kind.labels)
