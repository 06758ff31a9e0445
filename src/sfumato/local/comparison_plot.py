"""A picture of protocols side by side: error as bars, size of a report as text.

Contract: ``draw`` gives one self-contained SVG, without scripts or fonts from elsewhere. Bars are
as long as the standard error, so shorter is better; the best is in colour, what does not fit is
hatched out in grey. Every text comes from public parameters.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sfumato.representation import Picture

if TYPE_CHECKING:
    from sfumato.local.comparison import Candidate, Comparison

_WIDTH, _ROW, _TOP, _LABEL, _RIGHT = 640, 30, 56, 150, 170
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.title{font-weight:600}.quiet{fill:#666}"
    ".best{fill:#2a6f97}.rest{fill:#a9c5d6}.no{fill:#ddd}"
)


def draw(comparison: Comparison) -> str:
    """Draw the standard errors of all candidates."""
    rows = comparison.candidates
    longest = max(candidate.standard_error for candidate in rows)
    height = _TOP + _ROW * len(rows) + 12
    title = (
        f"Error of a frequency: {len(comparison.domain):,} values, "
        f"ε = {float(comparison.protocol.epsilon):g}, {comparison.n:,} people"
    )
    marks = [
        f'<text class="title" x="8" y="22">{escape(title)}</text>',
        '<text class="quiet" x="8" y="42">standard error; shorter is better</text>',
    ]
    for place, candidate in enumerate(rows):
        marks += _row(candidate, place, longest)
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(comparison.reason, quote=True)}"><style>{_STYLE}</style>'
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>{"".join(marks)}</svg>'
    )


def _row(candidate: Candidate, place: int, longest: float) -> list[str]:
    y = _TOP + _ROW * place
    room = _WIDTH - _LABEL - _RIGHT
    length = max(1.0, room * candidate.standard_error / longest)
    tone = "no" if not candidate.fits else "best" if place == 0 else "rest"
    note = "" if candidate.fits else ", too large"
    text = f"{candidate.standard_error:.2g} · {candidate.report_bits:,} bits{note}"
    return [
        f'<text x="8" y="{y + 16}">{escape(candidate.name)}</text>',
        f'<rect class="{tone}" x="{_LABEL}" y="{y + 3}" width="{length:.1f}" height="18" rx="2"/>',
        f'<text x="{_LABEL + length + 6:.1f}" y="{y + 16}">{escape(text)}</text>',
    ]
