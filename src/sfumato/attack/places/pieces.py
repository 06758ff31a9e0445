"""Put the pieces of cut traces together again: where one ends, the nearest that begins goes on.

Cuts give a person a new pseudonym, and all people at once. Whoever wants whole traces back looks
where pieces end and where others begin behind the cut, and takes the matching of the least total
distance. Nothing is promised against that; this tells how often it is right.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.places.mixing import Matching
from sfumato.errors import MissingExtra, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def rejoin_pieces(release: Any) -> Matching:
    """Match the pieces before every cut of a release with those behind it.

    `release` is what `sf.anonymize(…, algorithm="split")` returned: it knows who was right.
    Those who go on behind a cut take part; `bound` is what guessing would reach.
    """
    plan: Any = getattr(getattr(release, "decision", None), "content", None)
    if getattr(plan, "whole", None) is None:
        raise ParameterError("Only traces that were cut have pieces; use algorithm='split'.")
    shown = np.flatnonzero(np.diff(plan.starts))
    windows = np.unique(plan.group[shown])
    right, seen, joints, shares, counts = 0, 0, 0, [], []
    for before, after in pairwise(windows.tolist()):
        first, second = (shown[plan.group[shown] == number] for number in (before, after))
        ends = dict(zip(plan.whole[first].tolist(), first.tolist(), strict=True))
        starts = dict(zip(plan.whole[second].tolist(), second.tolist(), strict=True))
        who = sorted(ends.keys() & starts.keys())
        if len(who) < 2:
            continue
        good = _matched(
            _middles(plan, [plan.starts[ends[w] + 1] - 1 for w in who]),
            _middles(plan, [plan.starts[starts[w]] for w in who]),
        )
        right, seen, joints = right + good, seen + len(who), joints + 1
        shares.append(good / len(who))
        counts.append(len(who))
    return Matching(seen, right / max(seen, 1), joints / max(seen, 1), tuple(shares), tuple(counts))


def _middles(plan: Any, rows: list[int]) -> NDArray[np.float64]:
    boxes = plan.boxes[rows]
    return np.asarray((boxes[:, [0, 2]] + boxes[:, [1, 3]]) / 2, np.float64)


def _matched(ends: NDArray[np.float64], starts: NDArray[np.float64]) -> int:
    """Count who is matched with herself where the total distance is least; ties are broken anew."""
    try:
        from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("scipy", "places", "Putting pieces together") from None
    order = np.random.default_rng(0).permutation(len(ends))  # the attacker sees no order of ours
    away = np.hypot(*(ends[:, None] - starts[order][None]).transpose(2, 0, 1))
    rows, chosen = linear_sum_assignment(away)
    return int((order[chosen] == rows).sum())
