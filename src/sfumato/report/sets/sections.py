"""The sections of a report on sets: what items became, sizes, counts, and who is found.

The page compares with the sets as they came, so it stays in the house. It names items and counts
them; it shows no person's set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.sets.disassociation import Disassociated
from sfumato.anonymize.sets.recoding import SetRecoding
from sfumato.attack.releases.known_item_kernels import BUDGET, fewest_candidates
from sfumato.released.sets import see_sets
from sfumato.released.view import see
from sfumato.report import figures
from sfumato.report.section import Fact, Page, TemplateSection
from sfumato.report.svg import Series, histogram

if TYPE_CHECKING:
    from markupsafe import Markup
    from numpy.typing import NDArray

    from sfumato.released.sets import SetsView

SHOWN_ITEMS = 15
SIZES = (1, 2, 3, 4, 5, 6, 8, 11, 21, 51)
"""Where the columns of the picture of sizes begin."""
MEANT = {
    "NCP": "share of all items that a label may stand for",
    "utility loss": "share of all itemsets that a label may stand for",
    "deleted": "items that were deleted",
    "cut off": "items of which only their presence in a cluster is told",
    "links cut": "pairs of items of one set that are no longer in one row",
    "count error": "mean relative error of the count of a frequent item",
    "pair error": "mean relative error of the count of a frequent pair",
    "pairs lost": "frequent pairs that no released set shows",
    "frequent pairs lost": "frequent pairs that are not among those of the release",
}


@dataclass(frozen=True)
class ItemRow:
    """One item: how many sets held it, and how many show it alone, in a group, or not at all."""

    item: str
    came: int
    alone: int
    grouped: int
    deleted: int


def _items(page: Page) -> dict[str, Any] | None:
    """Gather what became of the items, from the decision."""
    recoding = page.release.decision.content
    if not isinstance(recoding, SetRecoding):
        return None
    tree, nodes = recoding.data.tree, recoding.nodes
    size = np.where(nodes < 0, 0, (tree.last - tree.first)[nodes])
    return {
        "chart": _fate_chart(size, tree.items),
        "rows": _item_rows(recoding),
        "losses": [(name, MEANT.get(name, ""), value) for name, value in page.release.loss.items()],
    }


def _fate_chart(size: NDArray[np.int64], items: int) -> Markup:
    """Draw how large the groups are that items are shown as."""
    bounds = [1, 2, 6, 26, 126, 626]
    bounds = [b for b in bounds if b <= items]
    names, shares = [], []
    for low, high in zip(bounds, [*bounds[1:], items + 1], strict=True):
        names.append("itself" if low == 1 else figures.span(low, high - 1))
        shares.append(float(((size >= low) & (size < high)).mean()) if len(size) else 0.0)
    names.append("deleted")
    shares.append(float((size == 0).mean()) if len(size) else 0.0)
    texts = tuple(figures.percent(share) for share in shares)
    told = "; ".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True))
    return histogram(
        names,
        [Series("items", "after", tuple(100 * share for share in shares), texts)],
        label=f"Items in per cent by the size of the group they are shown as. {told}.",
    )


def _item_rows(recoding: SetRecoding) -> list[ItemRow]:
    data, nodes = recoding.data, recoding.nodes
    first = np.argsort(-data.frequency, kind="stable")[:SHOWN_ITEMS]
    rows = []
    for item in first[data.frequency[first] > 0].tolist():
        shown = nodes[data.items == item]
        alone, gone = int((shown == item).sum()), int((shown < 0).sum())
        grouped = len(shown) - alone - gone
        rows.append(ItemRow(data.tree.labels[item], len(shown), alone, grouped, gone))
    return rows


def _sizes(page: Page) -> dict[str, Any] | None:
    """Compare how many items sets had and show."""
    recoding = page.release.decision.content
    if not isinstance(recoding, SetRecoding):
        return None
    starts, _ = recoding.released
    return {"chart": _size_chart(recoding.data.sizes, np.diff(starts)), "bag": recoding.bag}


def _size_chart(before: NDArray[np.int64], after: NDArray[np.int64]) -> Markup:
    largest = int(max(before.max(initial=1), after.max(initial=1)))
    bounds = [b for b in SIZES if b <= largest]
    highs = [*bounds[1:], largest + 1]
    names = [figures.span(low, high - 1) for low, high in zip(bounds, highs, strict=True)]
    series = []
    for name, sizes in (("before", before), ("after", after)):
        counts = tuple(
            int(((sizes >= low) & (sizes < high)).sum())
            for low, high in zip(bounds, highs, strict=True)
        )
        series.append(Series(name, name, counts, tuple(figures.count(c) for c in counts)))
    return histogram(names, series, label="Sets by the number of items in them, before and after")


def _risk(page: Page) -> dict[str, Any] | None:
    """Count who is left with few sets by one, two and three known items, before and after."""
    data = getattr(page.release.decision.content, "data", None)
    if data is None:
        return None
    k = max((int(getattr(part, "k", 0)) for part in page.release.promise.parts), default=0) or 5
    before, after = see_sets(data), see(page.release)
    rows = [
        (m, _found(before, m, k), _found(after, m, k)) for m in (1, 2, 3)
    ]  # shares left with fewer than k
    series = [
        Series(name, name, tuple(100 * row[i + 1] for row in rows),
               tuple(figures.percent(row[i + 1]) for row in rows))
        for i, name in enumerate(("before", "after"))
    ]  # fmt: skip
    chart = histogram(
        [f"{m} item{'s' if m > 1 else ''}" for m, _, _ in rows],
        series,
        label=f"People in per cent who are left with fewer than {k} sets, by known items",
    )
    return {"chart": chart, "k": k, "rows": rows}


def _found(view: Any, m: int, k: int) -> float:
    """Return the share of sets that up to m of their items leave with fewer than k sets."""
    seen: SetsView = view.rows() if hasattr(view, "rows") else view
    if not len(seen.items):
        return 0.0
    left, _, _ = fewest_candidates(
        seen.starts, seen.items, seen.weights, len(seen.labels), m, BUDGET // 10
    )
    return float(seen.weights[left < k].sum() / seen.weights.sum())


def _chunks(page: Page) -> dict[str, Any] | None:
    """Gather where items are after disassociation: with others of their set, alone, or as terms."""
    decided = page.release.decision.content
    if not isinstance(decided, Disassociated):
        return None
    chunked = page.release.artefact.chunked  # type: ignore[attr-defined]  # of a disassociation
    shared = [len(chunk.clusters) > 1 for chunk in chunked.chunks]
    counts = {"linked": 0, "across": 0, "alone": 0}
    for chunk, several in zip(chunked.chunks, shared, strict=True):
        linked = sum(len(row) for row in chunk.rows if len(row) > 1)
        counts["across" if several else "linked"] += linked
        counts["alone"] += sum(len(row) == 1 for row in chunk.rows)
    counts["terms"] = int((decided.chunk_of < 0).sum())
    total = max(sum(counts.values()), 1)
    texts = tuple(figures.percent(count / total) for count in counts.values())
    told = "; ".join(f"{name}: {text}" for name, text in zip(counts, texts, strict=True))
    shares = tuple(100 * count / total for count in counts.values())
    return {
        "chart": histogram(
            list(counts), [Series("items", "after", shares, texts)],
            label=f"Items in per cent by what is left of their links. {told}.",
        ),
        "clusters": len(chunked.clusters),
        "chunks": len(chunked.chunks),
        "shared": sum(shared),
        "losses": [(name, MEANT.get(name, ""), value) for name, value in page.release.loss.items()],
    }  # fmt: skip


def _facts(page: Page) -> list[Fact]:
    recoding = page.release.decision.content
    if isinstance(recoding, Disassociated):
        return [Fact("items in chunks", figures.percent(recoding.kept), "none is changed")]
    if not isinstance(recoding, SetRecoding):
        return []
    kept = float((recoding.nodes >= 0).mean()) if len(recoding.nodes) else 1.0
    exact = (
        float(((recoding.nodes >= 0) & (recoding.nodes < recoding.data.tree.items)).mean())
        if len(recoding.nodes)
        else 1.0
    )
    return [
        Fact("items kept", figures.percent(kept), f"{figures.percent(exact)} as they were"),
    ]


SECTIONS = (
    TemplateSection("items", "What items became", "sets/items.html", _items, _facts),
    TemplateSection("chunks", "What was cut", "sets/chunks.html", _chunks),
    TemplateSection("sizes", "Sizes of sets", "sets/sizes.html", _sizes),
    TemplateSection("risk", "Who is found", "sets/risk.html", _risk),
)
"""In the order in which they are read; the page puts attacks after the risk."""
