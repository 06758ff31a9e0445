"""The dial of a stream as a picture: delay across, relative area upwards, a line per k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT, LEFT, LOW = 520.0, 300.0, 46.0, 34.0
TONES = ("#1b6ca8", "#c8553d", "#588b4a", "#8a5a9e", "#a07d1c", "#3d3d3d")


def draw_dial(settings: Sequence[Any]) -> Markup:
    """Return what waiting buys as an inline SVG; every dot says its setting."""
    across = max((s.mean_delay for s in settings), default=1.0) or 1.0
    up = max((s.relative_area for s in settings), default=1.0) or 1.0

    def place(setting: Any) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - 70) * setting.mean_delay / across
        y = HEIGHT - LOW - (HEIGHT - LOW - 16) * setting.relative_area / up
        return x, y

    lines = []
    for number, k in enumerate(dict.fromkeys(s.k for s in settings)):
        tone = TONES[number % len(TONES)]
        mine = sorted((s for s in settings if s.k == k), key=lambda s: s.mean_delay)
        path = "M" + "L".join("{:.1f} {:.1f}".format(*place(s)) for s in mine)
        dots = Markup().join(
            Markup(
                '<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"><title>{}</title></circle>'
            ).format(*place(s), tone, str(s))
            for s in mine
        )
        x, y = place(mine[-1])
        lines.append(
            Markup(
                '<path d="{}" style="fill:none;stroke:{};stroke-width:1.5"/>{}'
                '<text x="{:.1f}" y="{:.1f}" font-size="12" fill="{}">k = {}</text>'
            ).format(path, tone, dots, x + 7, y + 4, tone, k)
        )
    return Markup(
        '<svg class="chart" viewBox="0 0 {w:.0f} {h:.0f}" width="100%" role="img" '
        'aria-label="Relative area of boxes by mean delay, for several k">{frame}{lines}</svg>'
    ).format(w=WIDTH, h=HEIGHT, frame=_frame(across, up), lines=Markup().join(lines))


def _frame(across: float, up: float) -> Markup:
    marks = []
    for part in range(5):
        x = LEFT + (WIDTH - LEFT - 70) * part / 4
        y = HEIGHT - LOW - (HEIGHT - LOW - 16) * part / 4
        marks.append(
            Markup(
                '<path d="M{l} {y:.1f}H{r}" stroke="currentColor" stroke-opacity="0.15"/>'
                '<text x="{lx}" y="{ty:.1f}" font-size="11" text-anchor="end" '
                'fill="currentColor">{area:.2g}</text>'
                '<text x="{x:.1f}" y="{b}" font-size="11" text-anchor="middle" '
                'fill="currentColor">{delay:.0f} s</text>'
            ).format(
                l=LEFT, r=WIDTH - 70, y=y, lx=LEFT - 6, ty=y + 4, area=up * part / 4, x=x,
                b=HEIGHT - LOW + 16, delay=across * part / 4,
            )
        )  # fmt: skip
    return Markup().join(marks)
