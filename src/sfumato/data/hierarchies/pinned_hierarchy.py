"""A hierarchy that stays as it was when new values arrive.

A rule such as intervals or a mask is bound to the values of one batch of data. The next
batch has other values, and binding the rule again could move old ones: a wider range of
ages would choose wider intervals. `Pinned` keeps the rows of the first binding and lets
its rule place values that the rows do not list, but only if every listed value keeps every
label it had. So the same value is generalised in the same way in every batch, or it is an
error; a value is never placed by guessing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.hierarchies.categories import Flat
from sfumato.data.hierarchies.dates import Dates
from sfumato.data.hierarchies.hierarchy import MISSING, Hierarchy, HierarchyRule
from sfumato.data.hierarchies.intervals import Cuts, Intervals
from sfumato.data.hierarchies.rules import Automatic, Mask, fitting_rule
from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LASTING = (Cuts, Dates, Flat, Intervals, Mask)
"""Rules that place a value by looking at it, not at how often it or others occur."""


@dataclass(frozen=True, eq=False)
class PinnedHierarchy:
    """A bound hierarchy, and the rule that may place further values without moving these."""

    hierarchy: Hierarchy
    rule: HierarchyRule

    def over(
        self,
        values: Iterable[str],
        attribute: str,
        counts: Mapping[str, int] | None = None,  # noqa: ARG002 - lasting rules ignore frequencies
    ) -> Hierarchy:
        """Return a hierarchy of the same height over the values, in which no old one moved."""
        kept = self.hierarchy
        present = list(dict.fromkeys(values))
        new = [value for value in present if value not in kept.codes and value != MISSING]
        if not new:
            return kept.over(present, attribute)
        grown = self.rule.over([*kept.leaves, *present], attribute)
        if grown.height < kept.height or self._moves(grown):
            raise HierarchyError(
                f"The hierarchy of attribute '{attribute}' ({kept.source}) does not know "
                f"{len(new)} value(s) of the data, and its rule cannot place them without moving "
                "values it does know. Mend the data, or anonymise anew with a rule that does not "
                "depend on the data, such as intervals with 'width', 'low' and 'high'."
            )
        return self._cut(grown)

    def _moves(self, grown: Hierarchy) -> bool:
        """Whether a listed value would get another label on a level below the root."""
        kept = self.hierarchy
        at = np.array([grown.codes[leaf] for leaf in kept.leaves], dtype=np.int64)
        for level in range(1, kept.height - 1):
            now = grown.labels[level]
            was = kept.labels[level]
            pairs = zip(grown.levels[at, level].tolist(), kept.levels[:, level].tolist())  # noqa: B905 - equally long by construction
            if any(now[i] != was[j] for i, j in pairs):
                return True
        return False

    def _cut(self, grown: Hierarchy) -> Hierarchy:
        """Return the grown hierarchy with the root on the level it had."""
        top = self.hierarchy.height - 1
        levels = np.concatenate(
            [grown.levels[:, :top], np.zeros((grown.size, 1), dtype=np.int32)], axis=1
        )
        levels.setflags(write=False)
        spans = grown.spans[:top]
        return replace(
            grown,
            labels=(*grown.labels[:top], self.hierarchy.labels[-1]),
            levels=levels,
            spans=(*spans, np.array([spans[-1].sum()])) if spans else (),
            source=self.hierarchy.source,
        )


def pinned(hierarchy: Hierarchy, rule: HierarchyRule, attribute: str) -> HierarchyRule:
    """Pin what a rule gave for an attribute; without its rule, where that would not last."""
    if isinstance(rule, PinnedHierarchy):
        return PinnedHierarchy(hierarchy, rule.rule)
    if isinstance(rule, Automatic):
        present = [leaf for leaf in hierarchy.leaves if leaf != MISSING]
        rule = fitting_rule(present, attribute, text=rule.text)
    return PinnedHierarchy(hierarchy, rule) if isinstance(rule, LASTING) else hierarchy
