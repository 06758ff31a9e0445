"""The attacker behind a mix zone: whoever is farther away when reports begin again came earlier.

Reports of a batch begin again at one moment, but people left the zone at different times and have
gone on since. The first place shown under each new pseudonym tells how far: the farthest is
matched with the first who entered, and so on. Zones whose reports stay late show every way from the
zone's edge on, so that nothing is left to match by; those whose reports are not late promise
nothing against this attacker, and it says how much that matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.places.mixing import Matching, batches_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def match_reappearances(mixed: Any, traces: Any) -> Matching:
    """Match who appears again with who entered, by distance from the zone, in every batch.

    `mixed` is what left the zones and `traces` what went in, which tells who was right. Those who
    never appear again take no part; `bound` is what guessing among the others would reach.
    """
    zones = len(mixed.zones)
    right, seen, batches = np.zeros(zones), np.zeros(zones), 0
    for members in batches_of(mixed.batch):
        away = np.array([_distance(mixed, traces, int(p)) for p in members])
        shown = ~np.isnan(away)
        if shown.sum() < 2:
            continue
        entered = mixed.seen.entered[members][shown]
        zone = int(mixed.passages.box[members[0]])
        right[zone] += int((_ranks(-away[shown]) == _ranks(entered)).sum())
        seen[zone] += int(shown.sum())
        batches += 1
    shares = np.divide(right, seen, out=np.full(zones, np.nan), where=seen > 0)
    total = max(float(seen.sum()), 1.0)
    return Matching(
        int(seen.sum()), float(right.sum() / total), batches / total, tuple(shares.tolist()),
        tuple(seen.astype(int).tolist()),
    )  # fmt: skip


def _distance(mixed: Any, traces: Any, passage: int) -> float:
    """Return how far from the zone's centre a passage's trace is shown again; NaN where never."""
    trace = traces.trace(int(mixed.passages.trace[passage]))
    after = trace[trace[:, 2] + mixed.late[passage] >= mixed.moment[passage]]
    if not len(after):
        return float("nan")
    west, east, south, north = mixed.zones.boxes[mixed.passages.box[passage]].tolist()
    x, y = after[0, :2].tolist()
    return float(np.hypot(x - (west + east) / 2, y - (south + north) / 2))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")
