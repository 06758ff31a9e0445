"""A picture of a witness: outputs on both data sets side by side, the event in full colour.

Contract: ``picture`` gives a standalone SVG, without scripts, that shows fresh runs: how often each
range of outputs (or each output, if there are few) came on D and on D′. Where the event
happened the columns are strong, elsewhere pale; an event that is private enough has columns that
differ by at most the factor e^ε. It is an illustration, and no measurement.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sfumato.audit.claims.evidence.scores import text_of
from sfumato.representation import Picture

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.audit.claims.evidence.events import Event
    from sfumato.audit.claims.outputs import Outputs

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 340, 20, 64, 46
_COLOURS = ("#1f5fa8", "#c2571a")
_BINS = 36
_MOST_TEXTS = 12


def picture(
    first: Outputs, second: Outputs, event: Event, title: str, *, named: bool = True
) -> str:
    """Draw outputs on D and D′ as columns; unless ``named``, no output is written out."""
    labels, codes = _places(first, second)
    labels = labels if named else [""] * len(labels)
    sides = (first, second)
    shares = [np.bincount(c, minlength=len(labels)) / max(1, len(c)) for c in codes]
    inside = _inside(sides, codes, event, len(labels))
    tallest = max(float(max(share.max() for share in shares)), 1e-9)
    marks = [_text(_LEFT, 22, title, 14, "start"), *_legend()]
    slot = (_WIDTH - 2 * _LEFT) / len(labels)
    for side, share in enumerate(shares):
        for place, value in enumerate(share):
            height = (_HEIGHT - _TOP - _BOTTOM) * value / tallest
            left = _LEFT + slot * (place + 0.08 + 0.42 * side)
            opacity = 1.0 if inside[place] else 0.28
            marks.append(_column(left, 0.42 * slot, height, _COLOURS[side], opacity))
    every = max(1, len(labels) // 12)
    marks += [
        _text(_LEFT + slot * (place + 0.5), _HEIGHT - 26, labels[place], 11)
        for place in range(0, len(labels), every)
    ]
    marks.append(_text(_WIDTH / 2, _HEIGHT - 8, "output", 12))
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}" font-family="sans-serif" fill="#222">'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>{"".join(marks)}</svg>\n'
    )


def _places(
    first: Outputs, second: Outputs
) -> tuple[list[str], tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Give the columns their names and each output its column."""
    whole = first.whole(), second.whole()
    codes, rows = np.unique(np.concatenate(whole), return_index=True)
    if codes.size <= _MOST_TEXTS or not (first.scalar and second.scalar):
        kept = rows[:_MOST_TEXTS]
        names = [
            text_of(first, int(r)) if r < len(first) else text_of(second, int(r) - len(first))
            for r in kept
        ]
        at = [np.minimum(np.searchsorted(codes, w), len(names) - 1) for w in whole]
        return names, (at[0], at[1])
    values = first.numbers[:, 0], second.numbers[:, 0]
    low, high = np.quantile(np.concatenate(values), [0.004, 0.996])
    edges = np.linspace(low, high, _BINS + 1)
    bins = [np.clip(np.searchsorted(edges, v, side="right") - 1, 0, _BINS - 1) for v in values]
    return [f"{(a + b) / 2:.3g}" for a, b in pairwise(edges)], (bins[0], bins[1])


def _inside(
    sides: tuple[Outputs, Outputs],
    codes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    event: Event,
    places: int,
) -> npt.NDArray[np.bool_]:
    """Tell for which columns the event happened in most of the outputs."""
    happened, seen = np.zeros(places), np.zeros(places)
    for outputs, code in zip(sides, codes, strict=True):
        happened += np.bincount(code, weights=event.of(outputs), minlength=places)
        seen += np.bincount(code, minlength=places)
    return np.asarray(happened > seen / 2)


def _column(left: float, width: float, height: float, colour: str, opacity: float) -> str:
    top = _HEIGHT - _BOTTOM - height
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{colour}" opacity="{opacity}"/>'
    )


def _text(x: float, y: float, text: str, size: int, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _legend() -> list[str]:
    marks = []
    words = ("on D", "on D′ (strong colours: the event)")
    for i, (name, colour) in enumerate(zip(words, _COLOURS, strict=True)):
        x = _LEFT + 80 * i
        marks.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{colour}"/>')
        marks.append(_text(x + 18, 47, name, 12, "start"))
    return marks
