"""Marks of pictures: one SVG that needs nothing else, without scripts or fonts from elsewhere.

Contract: pure functions from values to markup; every text is escaped here and freed of characters
that XML forbids. The style comes with the picture, for light and dark.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 720.0
_LETTER = 7.0
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLE = (
    "<style>.sfumato-published{--card:#fff;--ink:#22262b;--soft:#5d646d;--after:#2f6f8f}"
    "@media screen and (prefers-color-scheme:dark){.sfumato-published{--card:#1e2227;"
    "--ink:#e6e4df;--soft:#a2a8b0;--after:#68b0d1}}"
    ".sfumato-published text{font:12px system-ui,sans-serif;fill:var(--soft)}"
    ".sfumato-published text.title{font-size:14px;font-weight:600;fill:var(--ink)}"
    ".sfumato-published text.label,.sfumato-published text.value{fill:var(--ink)}"
    ".sfumato-published .card{fill:var(--card)}"
    ".sfumato-published .above{fill:var(--after);fill-opacity:.82}"
    ".sfumato-published .hot{fill:var(--after)}"
    ".sfumato-published .whisker{stroke:var(--ink);stroke-width:1.3;fill:none}"
    ".sfumato-published .axis{stroke:var(--soft)}"
    ".sfumato-published .frame{fill:none;stroke:var(--soft)}</style>"
)


def plain(words: str) -> str:
    """Escape a text."""
    return escape(_FORBIDDEN.sub("\ufffd", " ".join(words.split()) or "(empty)"), quote=True)


def fitted(words: str, room: float) -> str:
    """Cut a text that is too wide, and show that it was cut."""
    most = int(room / _LETTER)
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def figure(value: float) -> str:
    """Write a number: whole ones in full, others with four digits."""
    shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"
    return shown.replace("-", "−")


def text(
    x: float, y: float, words: str, kind: str = "tick", anchor: str = "start", title: str = ""
) -> str:
    """Write a text; ``title`` is shown when the pointer rests on it."""
    told = f"<title>{plain(title)}</title>" if title else ""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{told}'
        f"{plain(words)}</text>"
    )


def box(x: float, y: float, width: float, height: float, kind: str, shade: float = 1.0) -> str:
    """Draw a rectangle; ``shade`` is how strong its colour is."""
    faint = "" if shade >= 1 else f' fill-opacity="{shade:.2f}"'
    return (
        f'<rect class="{kind}" x="{x:.2f}" y="{y:.2f}" width="{max(width, 0.0):.2f}" '
        f'height="{max(height, 0.0):.2f}"{faint}/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Draw a line."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def disc(x: float, y: float, radius: float, title: str) -> str:
    """Draw a disc that tells of itself under the pointer."""
    return (
        f'<circle class="above" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">'
        f"<title>{plain(title)}</title></circle>"
    )


def svg(marks: Sequence[str], height: float, label: str) -> str:
    """Put marks on a card that stands alone."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sfumato-published" '
        f'viewBox="0 0 {WIDTH:.0f} {height:.0f}" width="{WIDTH:.0f}" height="{height:.0f}" '
        f'style="max-width:100%;height:auto" role="img" aria-label="{plain(label)}">{_STYLE}'
        f'<rect class="card" width="{WIDTH:.0f}" height="{height:.0f}" rx="8"/>'
        f"{''.join(marks)}</svg>"
    )
