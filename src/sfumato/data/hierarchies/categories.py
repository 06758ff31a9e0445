"""Hierarchies over free categories: flat, or joined by frequency.

`Frequency` joins, level by level, the two rarest groups until the wanted number is left
(Huffman, 1952, cut at each level), so that common values stay as they are for longest and
few records pay for each step. It knows nothing of meaning; where a tree with meaning
exists, that one is better.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import field_validator, model_validator

from sfumato.data.hierarchies.levels import Level, Rule, build, level_of, present_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sfumato.data.hierarchies.hierarchy import Hierarchy

LONGEST_LABEL = 60

Group = tuple[int, str, tuple[str, ...]]
"""How many records, the group's first member (to break ties), and its members."""


class Flat(Rule):
    """Each value as it is, or `*`."""

    name: ClassVar[str] = "flat"

    def over(
        self,
        values: Iterable[str],
        attribute: str,
        counts: Mapping[str, int] | None = None,  # noqa: ARG002 - nothing between leaf and root
    ) -> Hierarchy:
        """Return the two-level hierarchy over the distinct `values`."""
        present, missing = present_values(values, attribute)
        return build(sorted(present), [], missing=missing, source=self.name)


class Frequency(Rule):
    """Rare values joined first; `groups` is the number of groups left on each level.

    Without `groups` every level leaves half of the groups of the one below.
    """

    name: ClassVar[str] = "frequency"

    groups: tuple[int, ...] | None = None

    @field_validator("groups", mode="before")
    @classmethod
    def _one_number_is_one_level(cls, groups: Any) -> Any:
        return (groups,) if isinstance(groups, int | str) else groups

    @model_validator(mode="after")
    def _falling(self) -> Self:
        wanted = self.groups
        if wanted is not None and (
            not wanted or min(wanted) < 2 or list(wanted) != sorted(set(wanted), reverse=True)
        ):
            raise ValueError(
                "'groups' must be numbers of at least 2 that fall from level to level."
            )
        return self

    def over(
        self, values: Iterable[str], attribute: str, counts: Mapping[str, int] | None = None
    ) -> Hierarchy:
        """Return groups of the distinct `values`, joined by how often they occur."""
        present, missing = present_values(values, attribute)
        weights = {value: (counts or {}).get(value, 0) if counts else 1 for value in present}
        leaves = sorted(present)
        groups: list[Group] = [(weights[value], value, (value,)) for value in leaves]
        levels = []
        for wanted in self.groups or _halves(len(leaves)):
            groups = _joined(groups, wanted)
            levels.append(_level(leaves, groups, weights))
        return build(leaves, levels, missing=missing, source=self.name)


def _halves(size: int) -> list[int]:
    wanted = []
    while size > 2:
        size = (size + 1) // 2
        wanted.append(size)
    return wanted


def _joined(groups: Sequence[Group], wanted: int) -> list[Group]:
    heap = list(groups)
    heapq.heapify(heap)
    while len(heap) > wanted:
        lighter, light = heapq.heappop(heap), heapq.heappop(heap)
        first = min(lighter[1], light[1])
        heapq.heappush(heap, (lighter[0] + light[0], first, lighter[2] + light[2]))
    return heap


def _level(leaves: Sequence[str], groups: Sequence[Group], weights: Mapping[str, int]) -> Level:
    group_of = {member: number for number, group in enumerate(groups) for member in group[2]}
    labels: dict[int, str] = {}
    taken: set[str] = set()
    for number, (_, _, members) in enumerate(groups):
        label = _label(sorted(members, key=lambda member: (-weights[member], member)))
        while label in taken:  # a value may look like the label of a group
            label += " "
        taken.add(label)
        labels[number] = label
    return level_of([group_of[leaf] for leaf in leaves], labels)


def _label(members: Sequence[str]) -> str:
    """Return the members, most frequent first, the tail of a long list as a count."""
    if len(members) == 1:
        return members[0]
    whole = "{" + ", ".join(members) + "}"
    if len(whole) <= LONGEST_LABEL:
        return whole
    shown = 1
    while len(", ".join(members[: shown + 1])) <= LONGEST_LABEL - 16:
        shown += 1
    return "{" + ", ".join(members[:shown]) + f", and {len(members) - shown} more" + "}"
