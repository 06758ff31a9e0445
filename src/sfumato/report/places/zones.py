"""The page about mix zones: where they are, what happened there, what the attacker makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sfumato.attack.places.mixing import try_zones
from sfumato.attack.places.reappearance import match_reappearances
from sfumato.audit.verification.mixing import verify_mixing
from sfumato.pictures.maps import Canvas, region_around
from sfumato.report.places.page import Chapter, Grid, Picture, PlacesPage
from sfumato.report.section import Fact

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.anonymize.places.mix_zones import Mixed, MixZones
    from sfumato.attack.places.mixing import Matching
    from sfumato.audit.verification.mixing import MixingVerification
    from sfumato.data.trajectories.trajectories import Trajectories

DRAWN = 250
"""Traces on the map."""
SLACK = 0.05
"""A zone is valid where the attack comes within this share of 1/k."""
FEWEST = 400
"""Exits that a zone needs for its own share to be told: a standard error of two in a hundred."""
ATTACKS = {
    "within": "turns, and that all had left by the moment",
    "last": "turns, and as if the moment were the last exit",
    "both": "turns and travel times",
}


def draw_zones(zones: Any, traces: Trajectories) -> Markup:
    """Return the zones as an inline SVG over some of the traces, numbered from 1."""
    few = np.linspace(0, len(traces) - 1, min(DRAWN, len(traces))).astype(int)
    corners = np.concatenate([zones.boxes[:, [0, 2]], zones.boxes[:, [1, 3]]])
    canvas = Canvas(_around(region_around(traces.places), corners))
    lines = canvas.lines((traces.trace(i)[:, :2] for i in few), opacity=0.2)
    boxes = canvas.boxes(zones.boxes, "after", opacity=0.5)
    return canvas.draw(f"{len(zones)} mix zones", lines, boxes, _numbers(canvas, zones.boxes))


def _around(
    region: tuple[float, float, float, float], corners: Any
) -> tuple[float, float, float, float]:
    """Widen a region until it holds all zones."""
    low, high = corners.min(axis=0) - 50, corners.max(axis=0) + 50
    return (
        min(region[0], float(low[0])), max(region[1], float(high[0])),
        min(region[2], float(low[1])), max(region[3], float(high[1])),
    )  # fmt: skip


def _numbers(canvas: Canvas, boxes: Any) -> Markup:
    """Write the number of every zone into its middle, with an edge that sets it off."""
    middles = canvas.at((boxes[:, [0, 2]] + boxes[:, [1, 3]]) / 2)
    return Markup().join(
        Markup(
            '<text x="{:.1f}" y="{:.1f}" font-size="9" font-weight="bold" text-anchor="middle" '
            'dominant-baseline="central" style="fill:currentColor;stroke:var(--paper,#fff);'
            'stroke-width:2;paint-order:stroke">{}</text>'
        ).format(x, y, number)
        for number, (x, y) in enumerate(middles, start=1)
    )


def write_zone_report(
    path: str | Path,
    mixed: Mixed,
    traces: Trajectories,
    *,
    past: Trajectories,
    name: str = "mix zones",
) -> Path:
    """Write a page about `traces` that were `mixed`, with maps, evidence and attacks.

    The attacker learns habits from `past`, which should be other traces than those of the page.
    """
    return zone_page(mixed, traces, past=past, name=name).write(path)


def zone_page(
    mixed: Mixed, traces: Trajectories, *, past: Trajectories, name: str = "mix zones"
) -> PlacesPage:
    """Return the page about traces that were mixed."""
    zones = mixed.zones
    checked = verify_mixing(mixed, traces, k=zones.k)
    tried = {by: try_zones(zones, past, traces, by=by) for by in ATTACKS}
    behind = match_reappearances(mixed, traces)
    facts = [
        Fact("zones", f"{len(zones):,}", f"k = {zones.k:,}"),
        Fact("exchanged", f"{mixed.exchanged:,}", "passages under a new pseudonym"),
        Fact("held back", f"{mixed.held_back:,}", "passages, with what follows"),
        Fact("points not shown", f"{mixed.suppressed:,}"),
        Fact("mean delay", f"{mixed.mean_delay:.0f} s"),
    ]
    return PlacesPage(
        f"Mix zones: {name}",
        f"Exchange among {zones.k:,} people "
        + ("holds" if checked.holds else "does not hold"),
        checked.holds, _sentences(zones), _warnings(zones), facts,
        (
            Chapter("Where", pictures=[_map(zones, traces)], grids=[_by_zone(mixed, tried)]),
            _evidence(checked),
            _attacks(tried, behind),
        ),
    )  # fmt: skip


def _sentences(zones: MixZones) -> list[str]:
    kept = "dealt by chance; there is no exception in which somebody keeps one."
    together = f"{zones.k:,} different people who came in through one side, one after the other,"
    told = [f"Nobody reports inside a zone. {together} leave it under new pseudonyms, {kept}"]
    if zones.waits:
        told.append(
            "Their reports begin again at one moment, which entries alone decide, so travel times "
            "tell nothing of who is who."
        )
    if zones.late:
        told.append(
            "What follows is shown later by the time each waited, so that all ways begin at the "
            "zone's edge at that moment."
        )
    return told


def _warnings(zones: MixZones) -> list[str]:
    if not zones.waits:
        return ["Without delay: whoever knows how long people take can match them."]
    if not zones.late:
        return ["Not late: whoever left earlier has gone farther at the moment, and is matched so."]
    return []


def _map(zones: MixZones, traces: Trajectories) -> Picture:
    return Picture(
        [draw_zones(zones, traces)],
        f"The zones over {min(DRAWN, len(traces)):,} of {len(traces):,} traces. Numbers are those "
        "of the table. North is up.",
    )


def _by_zone(mixed: Mixed, tried: dict[str, Matching]) -> Grid:
    zones, matched = mixed.zones, tried["within"]
    rows = []
    for zone in range(len(zones)):
        here = mixed.passages.box == zone
        exits, share = matched.exits[zone], matched.by_zone[zone]
        x0, x1, y0, y1 = zones.boxes[zone]
        rows.append((
            f"{zone + 1}", f"{x1 - x0:,.0f} × {y1 - y0:,.0f} m", f"{int(here.sum()):,}",
            f"{exits:,}", f"{zones.settles[zone]:.0f} s",
            "–" if not exits else f"{100 * share:.1f} %", _judged(exits, share, zones.k),
        ))  # fmt: skip
    header = ("zone", "size", "passages", "exchanged", "settles in", "matched", "within 5 % of 1/k")
    return Grid("Zone by zone", header, rows)


def _judged(exits: int, share: float, k: int) -> str:
    if exits < FEWEST:
        return "too few to say"
    return "yes" if share <= (1 + SLACK) / k else "no"


def _evidence(checked: MixingVerification) -> Chapter:
    rows = [
        ("Batches with too few people", f"{checked.too_small:,}"),
        ("Batches from several sides", f"{checked.uneven:,}"),
        ("Reports before all had left", f"{checked.early:,}"),
        ("Points in silence, or pseudonyms on both sides of a zone", f"{checked.linked:,}"),
    ]
    return Chapter(
        "Evidence",
        f"{checked.batches:,} batches were looked at, of at least {checked.smallest:,} people.",
        grids=[Grid("Faults", ("", "found"), rows)],
    )


def _attacks(tried: dict[str, Matching], behind: Matching) -> Chapter:
    named = {ATTACKS[by]: found for by, found in tried.items()}
    named["by distance when reports begin again"] = behind
    rows = [
        (what, f"{found.people:,}", f"{100 * found.success:.1f} %", f"{100 * found.bound:.1f} %",
         "succeeds" if found.succeeds else "fails")
        for what, found in named.items()
    ]  # fmt: skip
    return Chapter(
        "Attacks",
        "The attacker sees all entries and exits, knows habits from other traces, and takes the "
        "most likely matching of each batch. A share over few exits says little: zones are to be "
        "chosen on other traces than these.",
        grids=[Grid("Whose exit is it?", ("knows", "exits", "right", "1/k", "verdict"), rows)],
    )
