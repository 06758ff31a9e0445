"""Which released labels may stand for a value that somebody else knows.

Labels of a declared tree cover the leaves below them, `*` covers everything, and labels of
rules are read as the rules write them (`130**`, `[30,40)`, `2020-Q1`, `{a, b}`). Any other
label is a value of its own. Only where no schema is known may it be a node of some tree, and
then it may stand for any value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.hierarchies.hierarchy import MISSING, ROOT, Hierarchy
from sfumato.errors import InputError
from sfumato.released.compatibility import is_open_group, may_meet
from sfumato.released.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.data.schema import Schema

_WRITTEN_BY_RULES = re.compile(
    r"\[.*[\])]|<.+|>=.+|\{.*\} *|[+-]?\d+(\.\d*)?([eE][+-]?\d+)?|\d{4}(s|-Q[1-4]|-\d\d(-\d\d)?)?"
)


@dataclass(frozen=True, eq=False)
class Cover:
    """For each value the numbers of the labels that may stand for it, in order.

    Those of value `v` are `labels[starts[v] : starts[v + 1]]`. `unread` counts labels that
    had to be taken for anything.
    """

    starts: NDArray[np.int64]
    labels: NDArray[np.int64]
    unread: int = 0

    def of(self, value: int) -> NDArray[np.int64]:
        """Return the labels that may stand for a value."""
        return self.labels[self.starts[value] : self.starts[value + 1]]

    @property
    def selectivity(self) -> float:
        """Labels that fit the average value: the fewer, the sooner to ask about them."""
        return len(self.labels) / max(len(self.starts) - 1, 1)


def cover(
    labels: Sequence[str],
    values: Sequence[str],
    name: str,
    schema: Schema,
    *,
    blind: bool = False,
) -> Cover:
    """Return which labels of an attribute may stand for which values.

    `blind` says that the hierarchies are not known.
    """
    reader = _Reader(values, name, schema, blind)
    found = [reader.values_of(label) for label in labels]
    lengths = [len(covering) for covering in found]
    value = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
    label = np.repeat(np.arange(len(labels), dtype=np.int64), lengths)
    order = np.lexsort((label, value))
    starts = np.searchsorted(value[order], np.arange(len(values) + 1)).astype(np.int64)
    return Cover(starts, label[order], reader.unread)


class _Reader:
    """Resolves labels of one attribute to the numbers of the values they may stand for."""

    def __init__(self, values: Sequence[str], name: str, schema: Schema, blind: bool) -> None:
        self.values = values
        self.blind = blind
        self.place = {value: i for i, value in enumerate(values)}
        self.everything = np.arange(len(values), dtype=np.int64)
        self.unread = 0
        rule = schema.attribute(name).hierarchy
        self.declared = isinstance(rule, Hierarchy)
        self.tree = _bound(rule, values, name)
        if self.tree is not None:
            self.labels = Labels(self.tree)
            codes = self.tree.codes
            self.leaf = np.array([codes.get(value, -1) for value in values], dtype=np.int64)
            self.nodes = _nodes(self.tree)
            self.value_of_leaf = np.full(self.tree.size, -1, dtype=np.int64)
            self.value_of_leaf[self.leaf[self.leaf >= 0]] = self.everything[self.leaf >= 0]

    def values_of(self, label: str) -> NDArray[np.int64]:
        """Return the numbers of the values a label may stand for."""
        if label == ROOT:
            return self.everything
        if is_open_group(label) and not self.declared:
            # A rule may give other people a group of the same name with other members.
            self.unread += 1
            return self.everything
        if self.tree is not None:
            leaves = self._leaves(label)
            if leaves is not None:
                values = self.value_of_leaf[leaves]
                return np.sort(values[values >= 0])
        if label in self.place:
            return np.array([self.place[label]], dtype=np.int64)
        return self._read(label)

    def _leaves(self, label: str) -> NDArray[np.int64] | None:
        assert self.tree is not None
        node = self.nodes.get(label)
        if node is not None and len(node) == 1:
            level, number = node[0]
            return np.flatnonzero(self.tree.levels[:, level] == number)
        mask = self.labels.leaves(label)
        return None if mask is None else np.flatnonzero(mask)

    def _read(self, label: str) -> NDArray[np.int64]:
        readable = ROOT in label or _WRITTEN_BY_RULES.fullmatch(label) is not None
        if self.blind and label != MISSING and not readable:
            self.unread += 1
            return self.everything
        fits = [i for i, value in enumerate(self.values) if may_meet(label, value)]
        return np.array(fits, dtype=np.int64)


def _bound(rule: object, values: Sequence[str], name: str) -> Hierarchy | None:
    """Return the hierarchy over the values, or None where labels must be read as text.

    Values that a declared tree does not have fit none of its nodes but the root.
    """
    if isinstance(rule, Hierarchy):
        return rule.over([v for v in values if v in rule.codes or v == MISSING], name)
    if rule is None or not hasattr(rule, "over"):
        return None
    try:
        bound: Hierarchy = rule.over(list(values), name)
    except InputError:
        return None
    return bound


def _nodes(tree: Hierarchy) -> dict[str, list[tuple[int, int]]]:
    """Return where each label stands, once per set of leaves it covers.

    A branch that ends early repeats its label over the same leaves, which counts once; a
    text that stands for different sets on different levels is left to the slower reader.
    """
    nodes: dict[str, dict[tuple[int, int], tuple[int, int]]] = {}
    for level, labels in enumerate(tree.labels):
        _, first = np.unique(tree.levels[:, level], return_index=True)
        for node, label in enumerate(labels):
            leaves = int(tree.leaf_counts[level][node]), int(first[node])
            nodes.setdefault(label, {}).setdefault(leaves, (level, node))
    return {label: list(found.values()) for label, found in nodes.items()}
