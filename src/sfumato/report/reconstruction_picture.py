"""How much of a secret column comes back, against the noise and the number of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import ParameterError
from sfumato.report.planes import Line, plane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from sfumato.attack.dinur_nissim import Curve

TONES = ("here", "there", "curve", "floor")


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
