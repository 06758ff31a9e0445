"""What pictures that stand alone share: their style, texts that fit, numbers as they are written.

Contract: pure functions from values to markup. A picture is one SVG that needs nothing else: its
style comes with it, for light and dark, under a class of its own so that many can stand in one
page, and it has no script. Every text is escaped here and freed of characters that XML forbids.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sfumato.representation import Picture

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 720
LETTER = 7.0  # mean width of a letter, in pixels, at the size of labels
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

STYLE = Markup(
    "<style>"
    ".sfumato-answer{--card:#fff;--ink:#22262b;--soft:#5d646d;--line:#dedbd3;"
    "--after:#2f6f8f;--chosen:#b4541a}"
    "@media screen and (prefers-color-scheme:dark){.sfumato-answer{--card:#1e2227;--ink:#e6e4df;"
    "--soft:#a2a8b0;--line:#363b42;--after:#68b0d1;--chosen:#e8935a}}"
    ".sfumato-answer text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',"
    "sans-serif;fill:var(--soft)}"
    ".sfumato-answer .card{fill:var(--card)}"
    ".sfumato-answer text.title{font-size:14px;font-weight:600;fill:var(--ink)}"
    ".sfumato-answer text.label{fill:var(--ink)}"
    ".sfumato-answer text.value{fill:var(--ink);font-variant-numeric:tabular-nums}"
    ".sfumato-answer text.big{font-size:26px;font-weight:650;fill:var(--ink)}"
    ".sfumato-answer .halo{paint-order:stroke;stroke:var(--card);stroke-width:3px;"
    "stroke-linejoin:round}"
    ".sfumato-answer .above,.sfumato-answer .hot{fill:var(--after)}"
    ".sfumato-answer .above,.sfumato-answer .below{fill-opacity:.82}"
    ".sfumato-answer .below,.sfumato-answer .cold{fill:var(--chosen)}"
    ".sfumato-answer .whisker{stroke:var(--ink);stroke-width:1.3;fill:none}"
    ".sfumato-answer .axis{stroke:var(--soft)}"
    ".sfumato-answer .grid{stroke:var(--line)}"
    ".sfumato-answer .frame{fill:none;stroke:var(--soft)}"
    ".sfumato-answer .void{fill:var(--line)}"
    "</style>"
)


def plain(value: Any) -> str:
    """Write a cell as text that XML can hold; one that is missing gets a name."""
    text = "(missing)" if value is None else str(value)
    return _FORBIDDEN.sub("\ufffd", " ".join(text.split()) or "(empty)")


def text_width(text: str) -> float:
    """Estimate the width of a text in pixels; it errs on the wide side."""
    return sum(_letter(sign) for sign in text)


def _letter(sign: str) -> float:
    if unicodedata.combining(sign):
        return 0.0
    if unicodedata.east_asian_width(sign) in "WF":
        return 2 * LETTER
    if sign in "iljtfr.,;:'|!()[]–- ":
        return 0.62 * LETTER
    return 1.45 * LETTER if sign in "mwMW@%" else (1.15 * LETTER if sign.isupper() else LETTER)


def fitted(text: str, room: float) -> str:
    """Cut a text that is too wide, and show that it was cut."""
    if text_width(text) <= room:
        return text
    kept, width = [], 1.5 * LETTER
    for sign in text:
        width += _letter(sign)
        if width > room:
            break
        kept.append(sign)
    return "".join(kept).rstrip() + "…"


def figure(value: float | None) -> str:
    """Write a number: whole ones in full, others with four digits, grouped by thousands."""
    if value is None:
        return "–"
    if isinstance(value, float) and not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if float(value).is_integer() and abs(value) < 1e15:
        return minus(f"{int(value):,}")
    size = math.floor(math.log10(abs(value)))
    if not -5 <= size < 15:
        return minus(f"{value:.3e}")
    shown = f"{value:,.{max(0, 3 - size)}f}"
    return minus(shown.rstrip("0").rstrip(".") if "." in shown else shown)


def minus(text: str) -> str:
    """Write a minus sign as wide as digits are."""
    return text.replace("-", "−")


def span(pair: tuple[float, float] | None) -> str:
    """Write an interval."""
    return "no interval" if pair is None else f"{figure(pair[0])} … {figure(pair[1])}"


def svg(marks: Sequence[Markup], height: float, label: str) -> Picture:
    """Put marks on a card that stands alone."""
    return Picture(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" class="sfumato-answer" '
            'viewBox="0 0 {0} {1:.0f}" width="{0}" height="{1:.0f}" '
            'style="max-width:100%;height:auto" role="img"'
            ' aria-label="{2}">{3}<rect class="card" width="{0}" height="{1:.0f}" rx="8"/>{4}</svg>'
        ).format(WIDTH, height, plain(label), STYLE, Markup().join(marks))
    )


def text(
    x: float, y: float, words: str, kind: str = "tick", anchor: str = "start", title: str = ""
) -> Markup:
    """Write a text; ``title`` is shown when the pointer rests on it."""
    told = Markup("<title>{}</title>").format(plain(title)) if title else Markup()
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}{}</text>').format(
        kind, x, y, anchor, told, plain(words)
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    kind: str,
    *,
    title: str = "",
    shade: float | None = None,
) -> Markup:
    """Draw a rectangle; ``shade`` is how strong its colour is, from 0 to 1."""
    told = Markup("<title>{}</title>").format(plain(title)) if title else Markup()
    faint = Markup() if shade is None else Markup(' fill-opacity="{:.3f}"').format(shade)
    return Markup(
        '<rect class="{}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"{}>{}</rect>'
    ).format(kind, x, y, max(width, 0.0), max(height, 0.0), faint, told)


def disc(x: float, y: float, radius: float, title: str) -> Markup:
    """Draw a disc that tells of itself under the pointer."""
    return Markup(
        '<circle class="above" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}</title></circle>'
    ).format(x, y, radius, plain(title))


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Draw a line."""
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        kind, x1, y1, x2, y2
    )


def wrapped(words: str, room: float) -> list[str]:
    """Break a sentence into lines."""
    lines: list[str] = [""]
    for word in plain(words).split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return [fitted(line, room) for line in lines]
