"""Winners of top-k as bars: the noisy count of each, and how far noise may have moved it.

Contract: drawn from what was released. Without counts the order alone is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.dp.publish.purse import within_95
from sfumato.pictures.marks import WIDTH, box, figure, fitted, line, svg, text

if TYPE_CHECKING:
    from sfumato.dp.publish.topk.release import TopK

_MOST, _ROW, _TOP, _NAME = 40, 20.0, 62.0, 220.0


def draw_winners(found: TopK) -> str:
    """Draw the first forty winners."""
    shown = found.items[:_MOST]
    words = "in the order in which they were picked; counts were not paid for"
    if found.counts is not None:
        words = "bars: noisy counts, whiskers: what noise alone makes of a count in 95 % of cases"
    marks = [text(20, 28, f"Top {len(found.items)}", "title"), text(20, 46, words)]
    room = WIDTH - _NAME - 110
    longest = 1.0 if found.counts is None else max(float(found.counts.max(initial=1.0)), 1.0)
    half = within_95(found.deviation or 0.0)
    for place, item in enumerate(shown):
        y = _TOP + _ROW * place
        name = _named(item)
        marks.append(text(_NAME - 8, y + 13, fitted(name, _NAME - 28), "label", "end", name))
        if found.counts is None:
            marks.append(text(_NAME, y + 13, f"{place + 1}", "value"))
            continue
        count = float(found.counts[place])
        length = room * max(count, 0.0) / longest
        marks.append(box(_NAME, y + 3, length, _ROW - 7, "above"))
        low, high = (_NAME + room * max(end, 0.0) / longest for end in (count - half, count + half))
        marks.append(line(low, y + 10, min(high, WIDTH - 70.0), y + 10, "whisker"))
        marks.append(text(WIDTH - 14, y + 13, figure(round(count)), "value", "end"))
    return svg(marks, _TOP + _ROW * len(shown) + 14, f"Top {len(found.items)}")


def _named(item: Any) -> str:
    return ", ".join(map(str, item)) if isinstance(item, tuple) else str(item)
