"""How much of a secret column comes back, against the noise and the number of queries.

`reconstruction_picture` is markup for a page, whose style sheet colours it;
`write_reconstruction_picture` is a file that stands alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from sfumato.data.atomic import write_text_atomically
from sfumato.errors import ParameterError
from sfumato.pictures.planes import Line, plane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.attack.queries.reconstruction import Curve

TONES = ("here", "there", "curve", "floor")

_STYLE = Markup(
    "<style>text{font:13px system-ui,sans-serif;fill:#5d646d}"
    "polyline{fill:none;stroke-width:2.2}.frame{fill:none;stroke:#dedbd3}.rule{stroke:#dedbd3}"
    "polyline.here{stroke:#b4541a}rect.here{fill:#b4541a}"
    "polyline.there{stroke:#2f6f8f}rect.there{fill:#2f6f8f}"
    "polyline.curve{stroke:#23704a}rect.curve{fill:#23704a}"
    "polyline.floor{stroke:#6b5310}rect.floor{fill:#6b5310}</style>"
    '<rect width="420" height="300" fill="#ffffff"/>'
)


def reconstruction_picture(curves: Sequence[Curve]) -> Markup:
    """Draw the share recovered against the noise, one line per number of queries."""
    if not 1 <= len(curves) <= len(TONES) or any(len(c.noise) < 2 for c in curves):
        raise ParameterError(
            f"The picture takes 1 to {len(TONES)} curves of at least two noise levels each; given "
            f"were {len(curves)}."
        )
    lines = [
        Line(f"{curve.queries:,}", tone, tuple(zip(curve.noise, curve.share, strict=True)))
        for curve, tone in zip(curves, TONES, strict=False)
    ]
    told = "; ".join(
        f"{c.queries} queries: {c.share[0]:.0%} at ±{c.noise[0]:g}, {c.share[-1]:.0%} at "
        f"±{c.noise[-1]:g}"
        for c in curves
    )
    return plane(
        lines,
        label=f"Share of the secret column recovered. {told}.",
        x_name="largest error of an answer",
        y_name="share recovered, by queries",
    )


def write_reconstruction_picture(curves: Sequence[Curve], path: str | Path) -> Path:
    """Write the picture as an SVG file that needs no style sheet."""
    opened, _, rest = str(reconstruction_picture(curves)).partition(">")
    named = opened.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="640" ', 1)
    target = Path(path)
    write_text_atomically(target, f"{named}>{_STYLE}{rest}\n")
    return target
