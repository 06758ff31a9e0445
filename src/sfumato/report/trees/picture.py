"""A class of trees as a picture: the members as they came, and the one tree that is shown of all.

Vertices of members that are left out are hollow. The tree that is shown has its labels beside its
vertices; a sensitive value is counted over the vertices that look alike, never shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.anonymize.trees.classes import TreeClass
    from sfumato.anonymize.trees.plan import ClassPlan

MEMBERS = 5
LINE, STEP = 15, 22
SMALL_WIDTH, SMALL_LINE, SMALL_STEP = 120, 5, 14
LONGEST = 90
HOLLOW = Markup(' fill="none" stroke="currentColor"')


def draw_class(plan: ClassPlan, number: int) -> Markup:
    """Draw up to five members on top, and the representative below."""
    group = plan.classes[number]
    shown = list(range(min(len(group), MEMBERS)))
    smalls = [_member(plan, group, i, 10 + SMALL_WIDTH * i) for i in shown]
    height = max((h for _, h in smalls), default=0)
    top = height + 34
    large, below = _tree(_rows(plan, group, number), top, _text)
    title = f"{len(group)} trees that are shown alike: what came above, what is shown below"
    body = Markup("").join(drawn for drawn, _ in smalls) + large
    return Markup(
        '<svg class="chart" viewBox="0 0 640 {}" width="100%" role="img" aria-label="{}">{}</svg>'
    ).format(below + 12, title, body)


def _text(x: float, y: float, words: str) -> Markup:
    return Markup('<text x="{:.0f}" y="{:.1f}" font-size="10">{}</text>').format(
        x + 8, y + 3, words
    )


def _member(plan: ClassPlan, group: TreeClass, i: int, left: float) -> tuple[Markup, float]:
    """Draw one tree as it came, small; return the picture and where it ends."""
    data, kept = plan.data, set(group.vertices[:, i].tolist())
    mine = plan.forest.originals[group.members[i]].tolist()
    children: dict[int, list[int]] = {v: [] for v in mine}
    for v in mine[1:]:
        children[int(data.parent[v])].append(v)
    order: list[tuple[int, int]] = []
    waiting = [(mine[0], 0)]
    while waiting:
        vertex, depth = waiting.pop()
        order.append((vertex, depth))
        waiting += [(c, depth + 1) for c in reversed(children[vertex])]
    marks = Markup("")
    for line, (vertex, depth) in enumerate(order):
        x, y = left + SMALL_STEP * depth, 10 + SMALL_LINE * line
        marks += Markup('<circle class="{}" cx="{:.0f}" cy="{:.1f}" r="2"{}/>').format(
            "after" if vertex in kept else "", x, y, "" if vertex in kept else HOLLOW
        )
    return marks, 10 + SMALL_LINE * len(order)


def _rows(plan: ClassPlan, group: TreeClass, number: int) -> list[tuple[int, str, bool]]:
    """Return (depth, words, whether a value is withheld) per vertex, parents before children."""
    children: dict[int, list[int]] = {v: [] for v in range(len(group.kinds))}
    for v, up in enumerate(group.tree.up.tolist()):
        if up >= 0:
            children[up].append(v)
    rows: list[tuple[int, str, bool]] = []
    waiting = [(0, 0)]
    while waiting:
        vertex, depth = waiting.pop()
        hidden = any(bool(mask[vertex]) for mask in plan.withheld[number].values())
        rows.append((depth, _words(plan, group, vertex, hidden), hidden))
        waiting += [(c, depth + 1) for c in reversed(children[vertex])]
    return rows


def _words(plan: ClassPlan, group: TreeClass, vertex: int, hidden: bool) -> str:
    kind = plan.forest.types[int(group.kinds[vertex])]
    nodes = plan.forest.nodes
    marks = [m for m in group.tree.marks[vertex].tolist() if m >= 0]
    names = [label.rpartition(".")[2] for label in kind.labels if label in nodes.leaf]
    texts = [nodes.texts[m] for m in marks]
    pairs = [" ".join(pair) for pair in zip(names, texts, strict=True)]
    shown = ", ".join(texts if kind.plain else pairs)
    words = f"{kind.path.rpartition('.')[2] or 'person'}{': ' if shown else ''}{shown}"
    words += " (value withheld)" if hidden else ""
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def _tree(
    rows: list[tuple[int, str, bool]], top: float, text: Callable[[float, float, str], Markup]
) -> tuple[Markup, float]:
    """Draw rows with lines to their parents; return the picture and where it ends."""
    lines, marks = Markup(""), Markup("")
    last: dict[int, float] = {}
    for number, (depth, words, hidden) in enumerate(rows):
        x, y = 14 + STEP * depth, top + LINE * number
        if depth:
            lines += Markup(
                '<path class="edge" fill="none" d="M{:.0f} {:.1f} V{:.1f} H{:.0f}"/>'
            ).format(x - STEP, last[depth - 1], y, x)
        last[depth] = y
        marks += Markup('<circle class="{}" cx="{:.0f}" cy="{:.1f}" r="3.5"/>').format(
            "chosen" if hidden else "after", x, y
        )
        marks += text(x, y, words)
    return lines + marks, top + LINE * len(rows)
