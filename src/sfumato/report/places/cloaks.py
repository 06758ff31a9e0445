"""The page about cloaked places: what is promised, that it holds, maps, sizes, attacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.places.cloaks import CENTRE
from sfumato.pictures.maps import Canvas, region_around
from sfumato.report.places.page import Chapter, Grid, Picture, PlacesPage
from sfumato.report.section import Fact
from sfumato.report.svg import Series, histogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.places.promise import CloakPromise
    from sfumato.anonymize.places.snapshot import Cloaks
    from sfumato.anonymize.places.stream_result import StreamResult
    from sfumato.attack.places.cloaks import Guess
    from sfumato.audit.verification.cloaks import CloaksVerification

DOTS, BOXES = 1500, 600
"""Places and boxes on a map, at most."""
SIDES = (25, 50, 100, 200, 500, 1000, 2000)
"""Edges of the bars of box sizes, in metres."""
WAITS = 6
"""Bars of waiting times."""
TELLING = "The method is not reciprocal: whoever knows it learns who can have asked."


def snapshot_page(
    name: str,
    made: Cloaks,
    promise: CloakPromise,
    checked: CloaksVerification,
    attacks: Sequence[Guess],
) -> PlacesPage:
    """Return the page about everybody's boxes at one moment."""
    facts = [
        Fact("users", f"{len(made):,}"),
        Fact("boxes", f"{checked.boxes:,}", f"of at least {checked.smallest:,} users"),
        Fact("mean area", _area(made.mean_area)),
        Fact("method", made.method, "reciprocal" if made.reciprocal else "NOT reciprocal"),
    ]
    drawn = np.unique(made.boxes, axis=0)
    return PlacesPage(
        f"Boxes for the users of {name}", _verdict(promise, checked), checked.holds,
        promise.in_words(), () if made.reciprocal else (TELLING,), facts,
        (
            Chapter("Where", pictures=[_maps(made.points.places, drawn)]),
            Chapter("How large", pictures=[_sizes(made.boxes)], grids=_by_k(made.k, made.areas)),
            _evidence(checked),
            _attacks(attacks, "Everybody's place is known to the attacker, and the method."),
        ),
    )  # fmt: skip


def stream_page(
    name: str,
    places: NDArray[np.float64],
    result: StreamResult,
    promise: CloakPromise,
    checked: CloaksVerification,
    attacks: Sequence[Guess],
    *,
    outside: int = 0,
) -> PlacesPage:
    """Return the page about requests that left in boxes as they came."""
    dropped = int((~result.released).sum())
    facts = [
        Fact("requests", f"{len(result.released):,}", f"{outside:,} outside the bounds left out"),
        Fact("left in a box", f"{100 * result.success:.1f} %", f"{checked.users:,} requests"),
        Fact("dropped", f"{dropped:,}", "never sent without a box"),
        Fact("mean delay", f"{result.mean_delay:.1f} s"),
        Fact("relative area", f"{result.relative_area:.3f}", "1 is all that is tolerated"),
    ]
    boxes = result.boxes[result.together[result.released]][:, :4]
    return PlacesPage(
        f"Boxes for the requests of {name}", _verdict(promise, checked), checked.holds,
        promise.in_words(), (), facts,
        (
            Chapter("Where", pictures=[_maps(places, np.unique(boxes, axis=0))]),
            Chapter("How large", pictures=[_sizes(boxes)]),
            Chapter("How long", pictures=[_delays(result)], grids=[_served(result)]),
            _evidence(checked),
            _attacks(attacks, "Requests of a user are linked, and their boxes intersected."),
        ),
    )  # fmt: skip


def _area(square_metres: float) -> str:
    if square_metres >= 1e6:
        return f"{square_metres / 1e6:,.2f} km²"
    return f"{square_metres:,.0f} m²"


def _verdict(promise: CloakPromise, checked: CloaksVerification) -> str:
    told = str(promise)
    return f"{told[0].upper()}{told[1:]} {'holds' if checked.holds else 'does not hold'}"


def _maps(places: NDArray[np.float64], boxes: NDArray[np.float64]) -> Picture:
    few = _some(len(places), DOTS)
    canvas = Canvas(region_around(places))
    shown = boxes[_some(len(boxes), BOXES)]
    return Picture(
        [
            canvas.draw("Where users were", canvas.dots(places[few], "before", radius=1.2)),
            canvas.draw("The boxes instead", canvas.boxes(shown, "after", opacity=0.15)),
        ],
        f"{len(few):,} of {len(places):,} places as they came (left), and {len(shown):,} of "
        f"{len(boxes):,} boxes (right). North is up.",
    )


def _some(count: int, most: int) -> NDArray[np.int64]:
    return np.linspace(0, count - 1, min(most, count)).astype(np.int64)


def _sizes(boxes: NDArray[np.float64]) -> Picture:
    """Draw the sides of squares as large as the boxes."""
    sides = np.sqrt((boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2]))
    counts = np.bincount(np.searchsorted(SIDES, sides), minlength=len(SIDES) + 1)
    names = [*(f"≤ {side:,}" for side in SIDES), "larger"]
    return Picture(
        [_columns(counts, names, "Users by the side of a square as large as the box, m")],
        "Users in per cent, by the side of a square of the area of their box, in metres.",
    )


def _delays(result: StreamResult) -> Picture:
    waited = result.delay[result.released]
    longest = max(float(result.wait.max(initial=1.0)), 1e-9)
    edges = longest * np.arange(1, WAITS) / WAITS
    counts = np.bincount(np.searchsorted(edges, waited), minlength=WAITS)
    names = [f"≤ {edge:.0f} s" for edge in (*edges, longest)]
    return Picture(
        [_columns(counts, names, "Requests by the time they waited, s")],
        "Requests that left, in per cent, by the seconds they had waited.",
    )


def _columns(counts: NDArray[np.int64], names: Sequence[str], label: str) -> Any:
    shares = tuple(float(100 * count / max(counts.sum(), 1)) for count in counts)
    texts = tuple(f"{share:.0f}" if share >= 0.5 else "" for share in shares)
    return histogram(names, [Series("boxes", "after", shares, texts)], label=label)


def _by_k(k: NDArray[np.int64], areas: NDArray[np.float64]) -> list[Grid]:
    """Say what each k costs, where users ask for different ones."""
    kinds = np.unique(k)
    if len(kinds) == 1:
        return []
    rows = [
        (f"k = {kind:,}", f"{int((k == kind).sum()):,}", _area(float(areas[k == kind].mean())))
        for kind in kinds.tolist()
    ]
    return [Grid("By what users asked for", ("", "users", "mean area"), rows)]


def _served(result: StreamResult) -> Grid:
    rows = []
    for kind in np.unique(result.k).tolist():
        mine = result.k == kind
        left = mine & result.released
        delay = f"{result.delay[left].mean():.1f} s" if left.any() else "–"
        rows.append((
            f"k = {kind:,}", f"{int(mine.sum()):,}", f"{100 * left.sum() / mine.sum():.1f} %", delay
        ))  # fmt: skip
    return Grid("By what users asked for", ("", "requests", "left in a box", "mean delay"), rows)


def _evidence(checked: CloaksVerification) -> Chapter:
    rows = [(f"Users or requests {what}", f"{count:,}") for what, count in checked.faults.items()]
    return Chapter(
        "Evidence",
        f"{checked.users:,} places in {checked.boxes:,} boxes were looked at, one by one; the "
        f"smallest box has {checked.smallest:,} users.",
        grids=[Grid("Faults", ("", "found"), rows)],
    )


def _attacks(attacks: Sequence[Guess], known: str) -> Chapter:
    rows = [
        (found.attack, f"{found.people:,}", f"{100 * found.success:.1f} %",
         "–" if found.attack == CENTRE else f"{100 * found.worst:.1f} %",
         f"{100 * found.bound:.1f} %", "succeeds" if found.succeeds else "fails")
        for found in attacks
    ]  # fmt: skip
    header = ("attack", "tried on", "right", "at worst", "1/k", "verdict")
    return Chapter("Attacks", known, grids=[Grid("Who asked?", header, rows)])
