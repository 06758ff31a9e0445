"""The trade-off curve of a report: loss against k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.anonymize.definitions.anonymity import k_of
from sfumato.data.wording import some
from sfumato.errors import ParameterError
from sfumato.report.figures import EN_DASH, count, decimal
from sfumato.report.svg import Point, curve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markupsafe import Markup

    from sfumato.release import Release


@dataclass(frozen=True)
class TradeOffRow:
    """One k of the sweep, as it is printed."""

    k: str
    loss: str
    suppressed: str
    chosen: bool


@dataclass(frozen=True)
class TradeOff:
    """The curve, its table, the measure it shows, and the k that no release can keep."""

    picture: Markup
    rows: tuple[TradeOffRow, ...]
    measure: str
    impossible: tuple[int, ...]


def trade_off(points: Iterable[tuple[int, float | None, int | None]], release: Release) -> TradeOff:
    """Draw the points of a sweep; the release's own k is marked."""
    known = sorted(points, key=lambda point: point[0])
    if not known:
        raise ParameterError("The sweep has no points; give at least one (k, loss, suppressed).")
    own = k_of(release.promise)
    measure = release.decision.problem.objective
    drawn = [_point(k, loss, suppressed, measure, own) for k, loss, suppressed in known
             if loss is not None]  # fmt: skip
    told = "; ".join(f"k = {p.x_text}: {p.y_text}" for p in drawn)
    picture = curve(drawn, label=f"{measure} against k. {told}.", x_name="k (logarithmic)")
    rows = tuple(
        TradeOffRow(
            count(k),
            "no release possible" if loss is None else decimal(loss),
            EN_DASH if suppressed is None else count(suppressed),
            k == own,
        )
        for k, loss, suppressed in known
    )
    return TradeOff(picture, rows, measure, tuple(k for k, loss, _ in known if loss is None))


def _point(k: int, loss: float, suppressed: int | None, measure: str, own: int | None) -> Point:
    title = f"k = {k}: {measure} {decimal(loss)}, {some(suppressed or 0, 'record')} suppressed"
    return Point(k, loss, count(k), f"{loss:.3f}", title, marked=k == own)
