"""Released sets as a stranger sees them: distinct sets of labels, and how often each is there.

Where a label stands several times in a set (the *bag* meaning), its copies are items of their own:
whoever knows two kinds of beer looks for sets that show the group of beers twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.anonymize.definitions.classes import Classes
from sfumato.data.sets.sets import Sets
from sfumato.data.sets.sources import read_raw
from sfumato.released.view import View

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition

SHOWN = 8
"""Items of a set that are shown where a set is described."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SetsView(View):
    """Distinct released sets with weights; those of set i are `items[starts[i]:starts[i + 1]]`.

    `covers` says, where that is known, which items a released label may stand for.
    """

    shape: ClassVar[str] = "sets"
    unit: ClassVar[str] = "set"

    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    weights: NDArray[np.int64]
    labels: tuple[str, ...]
    covers: Mapping[str, tuple[str, ...]]
    anything: str = ""
    """The label that may stand for every item, where there is one."""

    @property
    def records(self) -> int:
        """Number of released sets."""
        return int(self.weights.sum())

    def groups(self, definition: Definition | None = None) -> Classes:  # noqa: ARG002 - sets that look alike
        """Return the sets that look alike."""
        return Classes(self.weights)

    def describe(self, group: int) -> Mapping[str, str]:
        """Show a set by its labels."""
        return {"set": self.shown(self.items[self.starts[group] : self.starts[group + 1]])}

    def shown(self, items: Any) -> str:
        """Return items as text, at most a few of them."""
        texts = [self.labels[int(a)] for a in items]
        more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
        return ("{" + ", ".join(texts[:SHOWN]) + "}" + more) if texts else "an empty set"

    @cached_property
    def codes(self) -> dict[str, int]:
        """Label by its text."""
        return {label: code for code, label in enumerate(self.labels)}

    def may_be(self, label: str, items: Iterable[str]) -> bool:
        """Tell whether a label may stand for one of some items."""
        if label == self.anything:
            return True
        below = self.covers.get(label, ())
        return any(item == label or item in below for item in items)


def see_sets(
    source: Any,
    *,
    manifest: Any = None,
    called: str | None = None,
    schema: Any = None,  # noqa: ARG001 - labels are compared as they stand
    promise: Any = None,
    **options: Any,
) -> SetsView:
    """Look at a released file, at sets as they came, or at a Python list of collections."""
    facts = {} if manifest is None else dict(manifest.facts)
    if isinstance(source, Sets):
        raw = (
            source.starts,
            source.items.astype(np.int64),
            source.tree.labels[: source.tree.items],
        )
    else:
        if isinstance(source, str | Path) and Path(source).suffix == ".csv" and not options:
            options = {"form": "lines"}
        raw, _ = read_raw(source, **options)
    starts, items, weights, labels = distinct_sets(*raw)
    covers = {str(k): tuple(map(str, v)) for k, v in (facts.get("stands_for") or {}).items()}
    return SetsView(
        source=called or (str(source) if isinstance(source, str | Path) else "the sets"),
        promise=promise, starts=starts, items=items, weights=weights, labels=labels, covers=covers,
        anything=str(facts.get("stands_for_anything") or ""),
    )  # fmt: skip


def distinct_sets(
    starts: NDArray[np.int64], codes: NDArray[np.int64], labels: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    """Count equal sets; a label that stands n times in one becomes n items."""
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort([codes, rows])
    codes = codes[order]
    again = np.zeros(len(codes), dtype=np.int64)
    if len(codes):
        new = np.concatenate([[True], (codes[1:] != codes[:-1]) | (rows[1:] != rows[:-1])])
        first = np.maximum.accumulate(np.where(new, np.arange(len(codes)), 0))
        again = np.arange(len(codes)) - first
    copies = int(again.max(initial=0)) + 1
    used, items = np.unique(codes * copies + again, return_inverse=True)
    texts = tuple(
        labels[u // copies] + ("" if u % copies == 0 else f" ({u % copies + 1})") for u in used
    )
    items = items.reshape(-1).astype(np.int64)
    counted: dict[bytes, int] = {}
    whole = items.astype(np.int32).tobytes()
    for b, e in zip((4 * starts[:-1]).tolist(), (4 * starts[1:]).tolist(), strict=True):
        key = whole[b:e]
        counted[key] = counted.get(key, 0) + 1
    sizes = np.fromiter((len(key) // 4 for key in counted), np.int64, len(counted))
    flat = np.frombuffer(b"".join(counted), dtype=np.int32).astype(np.int64)
    weights = np.fromiter(counted.values(), np.int64, len(counted))
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), flat, weights, texts
