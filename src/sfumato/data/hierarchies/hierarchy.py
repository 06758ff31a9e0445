"""Generalisation hierarchies: which coarser value may stand for a finer one.

A hierarchy is a tree whose leaves are the values of an attribute. It is stored as the
table ARX made common: one row per leaf, one column per level, the leaf in column 0 and
the root in the last. A branch that ends early repeats its label (`private, private, *`),
so every leaf has a node on every level and the lowest common ancestor of any set of
leaves is the first level on which they agree.

Others rely on: leaves are distinct, there is one root, and two leaves that share a node
share all nodes above it. `Hierarchy` checks this when it is made and never changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sfumato.data.hierarchies.checks import checked_rows
from sfumato.data.hierarchies.files import read_rows, write_rows
from sfumato.data.hierarchies.nested_trees import rows_of_tree
from sfumato.data.hierarchies.rule_table import make_rule
from sfumato.data.numbers import number
from sfumato.errors import HierarchyError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

    from numpy.typing import NDArray

MISSING = ""
"""The text of a missing cell: a value of its own that generalises like any other."""

ROOT = "*"


class HierarchyRule(Protocol):
    """Anything that can give a hierarchy over the values an attribute really has."""

    def over(
        self, values: Iterable[str], attribute: str, counts: Mapping[str, int] | None = None
    ) -> Hierarchy:
        """Return a hierarchy whose leaves include `values`.

        `counts` says how often each value occurs; rules that go by frequency use it.
        """
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(Shown):
    """A tree over values, as node numbers per leaf and level.

    `levels[i, h]` is the node of leaf `i` on level `h`; `labels[h][node]` is its text.
    `ordered` says that the leaves are listed in a meaningful order, so that algorithms
    which split by order may release any contiguous range of leaves.
    `spans[h][node]`, where given, is the number of values of the whole domain that the
    node stands for (a masked digit stands for ten), used to estimate query answers.

    >>> import sfumato as sf
    >>> sf.Hierarchy.tree({"ill": ["flu", "cold"], "well": None}).rows()[0]
    ('flu', 'ill', '*')
    """

    labels: tuple[tuple[str, ...], ...]
    levels: NDArray[np.int32]
    ordered: bool = False
    spans: tuple[NDArray[np.float64], ...] = field(default=(), repr=False)
    source: str = "code"

    # -- making one -------------------------------------------------------------------

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Sequence[str]],
        *,
        source: str = "code",
        ordered: bool = False,
        spans: tuple[NDArray[np.float64], ...] = (),
    ) -> Hierarchy:
        """Build from rows `leaf, …, root`; check coverage, nesting and the single root."""
        table = checked_rows(rows, source)
        height = len(table[0])
        labels: list[tuple[str, ...]] = []
        levels = np.empty((len(table), height), dtype=np.int32)
        for h in range(height):
            index: dict[str, int] = {}
            for i, row in enumerate(table):
                levels[i, h] = index.setdefault(row[h], len(index))
            labels.append(tuple(index))
        levels.setflags(write=False)
        return cls(tuple(labels), levels, ordered, spans, source)

    @classmethod
    def flat(cls, values: Iterable[str], *, source: str = "code") -> Hierarchy:
        """Return the two-level hierarchy: each value as it is, or `*`."""
        return cls.from_rows([(value, ROOT) for value in dict.fromkeys(values)], source=source)

    @staticmethod
    def read(path: str | Path, *, delimiter: str | None = None, ordered: bool = False) -> Hierarchy:
        """Read ARX's leaf-to-root CSV, or a nested YAML tree, by the file's ending."""
        rows = read_rows(Path(path), root=ROOT, delimiter=delimiter)
        return Hierarchy.from_rows(rows, source=str(Path(path)), ordered=ordered)

    def write(self, path: str | Path, *, delimiter: str = ";") -> None:
        """Write ARX's leaf-to-root CSV."""
        write_rows(self.rows(), path, delimiter=delimiter)

    # -- rules: hierarchies still to be bound to the values of an attribute --------------

    @staticmethod
    def tree(nested: Any, *, ordered: bool = False, source: str = "code") -> Hierarchy:
        """Build from a nested tree: mappings name nodes, lists name leaves."""
        rows = rows_of_tree(nested, root=ROOT, source=source)
        return Hierarchy.from_rows(rows, source=source, ordered=ordered)

    @staticmethod
    def intervals(
        *,
        width: float | Decimal | None = None,
        fanout: int = 2,
        levels: int | None = None,
        low: float | Decimal | None = None,
        high: float | Decimal | None = None,
    ) -> HierarchyRule:
        """Return a rule for numbers: `[30,35)`, then `fanout` neighbours joined per level.

        Values below `low` or from `high` on get nodes of their own. Without `width` a round
        one is chosen that gives at most about twenty intervals.
        """
        options = {"width": width, "fanout": fanout, "levels": levels, "low": low, "high": high}
        return make_rule("intervals", options)

    @staticmethod
    def quantiles(n: int, *, fanout: int = 2) -> HierarchyRule:
        """Return a rule for numbers: `n` groups of about equally many records."""
        return make_rule("quantiles", {"n": n, "fanout": fanout})

    @staticmethod
    def cuts(points: Sequence[Any]) -> HierarchyRule:
        """Return a rule for numbers with own cut points, one list per level, finest first."""
        return make_rule("cuts", {"points": points})

    @staticmethod
    def mask(length: int | None = None, *, side: str = "right", char: str = "*") -> HierarchyRule:
        """Return a rule for codes: 12345 → 1234* → 123**, from the right or the left."""
        return make_rule("mask", {"length": length, "side": side, "char": char})

    @staticmethod
    def dates(
        *,
        levels: Sequence[str] = ("month", "quarter", "year", "decade"),
        format: str | None = None,  # noqa: A002 - the word of strptime
    ) -> HierarchyRule:
        """Return a rule for dates: day → month → quarter → year → decade → *."""
        return make_rule("dates", {"levels": levels, "format": format})

    @staticmethod
    def frequency(groups: int | Sequence[int] | None = None) -> HierarchyRule:
        """Return a rule for categories: the rarest are joined first, level by level."""
        return make_rule("frequency", {"groups": groups})

    @staticmethod
    def automatic() -> HierarchyRule:
        """Return the rule that chooses by the values: dates, codes, numbers or categories."""
        return make_rule("automatic", {})

    def __repr__(self) -> str:
        return f"<Hierarchy {self.source}: {self.size} leaves, {self.height} levels>"

    # -- asking it --------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of leaves."""
        return int(self.levels.shape[0])

    @property
    def height(self) -> int:
        """Number of levels, leaves and root included."""
        return int(self.levels.shape[1])

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values on level 0, in order of their codes."""
        return self.labels[0]

    @cached_property
    def codes(self) -> dict[str, int]:
        """Leaf code by value."""
        return {label: code for code, label in enumerate(self.labels[0])}

    @cached_property
    def leaf_counts(self) -> tuple[NDArray[np.int64], ...]:
        """For each level, the number of leaves below each node."""
        return tuple(
            np.bincount(self.levels[:, h], minlength=len(self.labels[h])).astype(np.int64)
            for h in range(self.height)
        )

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """Loss metric of leaf `i` on level `h`: (leaves below its node − 1) / (leaves − 1)."""
        if self.size == 1:
            return np.zeros(self.levels.shape)
        below = np.stack([c[self.levels[:, h]] for h, c in enumerate(self.leaf_counts)], axis=1)
        return (below - 1) / (self.size - 1)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the tree as rows `leaf, …, root`."""
        return [
            tuple(self.labels[h][self.levels[i, h]] for h in range(self.height))
            for i in range(self.size)
        ]

    def label(self, leaf: int, level: int) -> str:
        """Return the text of the node of a leaf on a level."""
        return self.labels[level][int(self.levels[leaf, level])]

    def common_level(self, leaves: NDArray[np.integer]) -> int:
        """Return the lowest level on which all the given leaf codes share one node."""
        rows = self.levels[leaves]
        return int(np.argmax((rows == rows[0]).all(axis=0)))

    def over(
        self,
        values: Iterable[str],
        attribute: str,
        counts: Mapping[str, int] | None = None,  # noqa: ARG002 - the tree is given
    ) -> Hierarchy:
        """Return this hierarchy if it covers `values`; a missing cell is added as a leaf.

        A missing cell keeps a branch of its own up to the root, so it generalises like any
        other value. Any other value that is not a leaf is an error: letting it pass would
        release it untouched.
        """
        unknown = sorted({value for value in values if value not in self.codes})
        if unknown == [MISSING]:
            row = (*([MISSING] * (self.height - 1)), self.labels[-1][0])
            spans = tuple(np.append(level, 1.0) for level in self.spans[:-1])
            root = tuple(level + 1.0 for level in self.spans[-1:])
            return Hierarchy.from_rows(
                [*self.rows(), row], source=self.source, ordered=self.ordered, spans=spans + root
            )
        if unknown:
            raise HierarchyError(
                f"The hierarchy of attribute '{attribute}' ({self.source}) does not cover "
                f"{len(unknown)} value(s) of the data; every value must be one of its "
                f"{self.size} leaves. Add a row for each missing value, for instance by starting "
                f"from `sfumato hierarchy data.csv {attribute}`, or mend the data."
                f"{self._same_numbers(unknown)}"
            )
        return self

    def _same_numbers(self, unknown: list[str]) -> str:
        """Return a hint where only the spelling of numbers differs, as after reading as floats."""
        known = {number(leaf) for leaf in self.leaves} - {None}
        same = sum(number(value) in known for value in unknown)
        if not same:
            return ""
        return (
            f" {same} of them are numbers of the hierarchy written in another way (39.0 for 39): "
            "read the column as integers."
        )
