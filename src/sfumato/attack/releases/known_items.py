"""Attacks of somebody who knows some items of a person's set: a neighbour, a cashier, a friend.

Three of them. *Known items*: whoever knows the best m items of a set is left with the sets that
show them; who is left with too few is found. *Known items and absences*: who also knows what a
person did not buy rules out the sets that show it. *Inference of items*: though many sets are left,
nearly all of them hold the same further item, so that is known, too; k^m-anonymity says nothing
about it.

What is known is taken as the release shows it, which is the most an adversary can use: items of a
person match a released set through its labels, and whatever matches shows at most as many
labels. Terrovitis, Mamoulis, Kalnis, VLDB 2008; Xu, Wang, Fu, Yu, KDD 2008.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.itemsets import KmAnonymity, RhoUncertainty
from sfumato.attack.finding import NEARLY, SHOWN, Finding, Outcome, checked_count, checked_share
from sfumato.attack.releases.known_item_kernels import (
    BUDGET,
    fewest_candidates,
    rule_out,
    surest_items,
)
from sfumato.released.view import see_people

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sfumato.released.sets import SetsView

TARGETS = 500
"""Distinct sets whose owners are attacked by absences, which takes a search for each."""
PARTLY = "the largest sets were attacked by fewer items than allowed, to end in time"


def known_items(release: Any, *, m: int = 2, confidence: float = 0.9, most: int = SHOWN) -> Outcome:
    """Find the people whom their best m items leave with too few sets."""
    checked_count("m", m, low=1)
    view = _see(release)
    left, chosen, whole = fewest_candidates(*_arrays(view), m, BUDGET)
    exposed = _sure(left, checked_share("confidence", confidence))
    stop = KmAnonymity(int(1 / confidence) + 1, m)
    return Outcome(
        attack="known items",
        knows=f"{m} item(s) of a person's set",
        measure="confidence",
        people=view.records,
        exposed=int(view.weights[exposed].sum()),
        prior=1 / max(view.records, 1),
        posterior=1 / max(int(left.min(initial=view.records)), 1),
        threshold=confidence,
        findings=_people_found(view, exposed, left, chosen, most),
        remedy=f"{stop}: no known items leave fewer than {stop.k} sets",
        stopped_by=stop,
        figures={"fewest sets left": float(left.min(initial=view.records))},
        notes=() if whole else (PARTLY,),
    )


def known_absences(
    release: Any,
    *,
    m: int = 2,
    absent: int = 1,
    confidence: float = 0.9,
    most: int = SHOWN,
) -> Outcome:
    """Find the people whom m items they have, and some they have not, leave with too few sets.

    A sample of sets is attacked, those first whom their own items leave with the fewest sets.
    Absences are chosen one after the other, so an adversary may do better than this.
    """
    checked_count("m", m, low=1)
    checked_count("absent", absent, low=1)
    view = _see(release)
    arrays = _arrays(view)
    left, chosen, _ = fewest_candidates(*arrays, m, BUDGET)
    targets = np.argsort(left, kind="stable")[:TARGETS]
    remaining = np.array([rule_out(*arrays, t, chosen[t], absent) for t in targets], dtype=np.int64)
    exposed = _sure(remaining, checked_share("confidence", confidence))
    weights = view.weights[targets]
    after = left.copy()
    after[targets] = remaining
    return Outcome(
        attack="known items and absences",
        knows=f"{m} item(s) of a person's set, and {absent} that are not in it",
        measure="confidence",
        people=int(weights.sum()),
        exposed=int(weights[exposed].sum()),
        prior=1 / max(view.records, 1),
        posterior=1 / max(int(remaining.min(initial=view.records)), 1),
        threshold=confidence,
        findings=_people_found(view, targets[exposed], after, chosen, most, "and absences"),
        remedy="k-anonymity of whole sets: what is absent then is absent from all of a class",
        figures={"sets attacked": float(len(targets))},
        notes=(f"a sample of {len(targets):,} distinct sets was attacked",)
        if len(targets) < len(view.weights)
        else (),
    )


def item_inference(
    release: Any,
    *,
    m: int = 2,
    items: Iterable[str] | None = None,
    confidence: float = 0.9,
    gain: float = 0.25,
    most: int = SHOWN,
) -> Outcome:
    """Find the people of whom m known items tell a further one; `items` are those that matter."""
    checked_count("m", m, low=1)
    view = _see(release)
    secret = _secret(view, None if items is None else set(items))
    share, which, whole = surest_items(*_arrays(view), secret, m, BUDGET)
    prior = _frequency(view)[which] / max(view.records, 1)
    exposed = (which >= 0) & (share >= checked_share("confidence", confidence) - NEARLY)
    exposed &= share - prior >= gain - NEARLY
    worst = int(np.argmax(np.where(which >= 0, share, -1.0))) if len(share) else 0
    return Outcome(
        attack="inference of items",
        knows=f"{m} item(s) of a person's set",
        measure="confidence",
        people=view.records,
        exposed=int(view.weights[exposed].sum()),
        prior=float(prior[worst]) if len(share) else 0.0,
        posterior=float(share.max(initial=0.0)),
        threshold=confidence,
        findings=_items_learnt(view, np.flatnonzero(exposed), share, which, prior, most),
        remedy=f"{confidence:g}-uncertainty or l-diversity of the items that are secret",
        stopped_by=_stop(view, secret, confidence, m),
        figures={"items that matter": float(secret.sum())},
        notes=() if whole else (PARTLY,),
    )


# -- what they share ---------------------------------------------------------------------


def _see(release: Any) -> SetsView:
    seen = see_people(release, shape=None if hasattr(release, "promise") else "sets")
    view: SetsView = seen.rows() if hasattr(seen, "chunked") else seen
    return view


def _arrays(view: SetsView) -> tuple[Any, ...]:
    return view.starts, view.items, view.weights, max(len(view.labels), 1)


def _sure(left: NDArray[np.int64], confidence: float) -> NDArray[np.bool_]:
    sure: NDArray[np.bool_] = 1 / np.maximum(left, 1) >= confidence - NEARLY
    return sure


def _secret(view: SetsView, wanted: set[str] | None) -> NDArray[np.bool_]:
    """Tell which labels are items that matter; a group of items is not one."""
    single = [label not in view.covers and label != view.anything for label in view.labels]
    kept = [
        alone and (wanted is None or label in wanted)
        for alone, label in zip(single, view.labels, strict=True)
    ]
    return np.array(kept or [False], dtype=np.bool_)


def _frequency(view: SetsView) -> NDArray[np.float64]:
    rows = np.repeat(np.arange(len(view.weights)), np.diff(view.starts))
    width = max(len(view.labels), 1)
    counts = np.bincount(view.items, weights=view.weights[rows], minlength=width)
    return counts.astype(np.float64)


def _stop(
    view: SetsView, secret: NDArray[np.bool_], confidence: float, m: int
) -> RhoUncertainty | None:
    names = tuple(view.labels[i] for i in np.flatnonzero(secret)) if view.labels else ()
    return RhoUncertainty(confidence, names, m) if 0 < len(names) <= 5 else None


def _people_found(
    view: SetsView,
    exposed: NDArray[Any],
    left: NDArray[np.int64],
    chosen: NDArray[np.int64],
    most: int,
    how: str = "",
) -> tuple[Finding, ...]:
    targets = np.flatnonzero(exposed) if exposed.dtype == np.bool_ else exposed
    return tuple(
        Finding(
            attack=f"known items {how}".strip(),
            who=f"a person known by {view.shown([a for a in chosen[t] if a >= 0])}",
            people=int(view.weights[t]),
            learnt="which set is theirs, and so everything else in it",
            prior=1 / max(view.records, 1),
            posterior=1 / max(int(left[t]), 1),
            evidence={"items": [view.labels[a] for a in chosen[t] if a >= 0]},
        )
        for t in targets[:most].tolist()
    )


def _items_learnt(
    view: SetsView,
    targets: NDArray[np.int64],
    share: NDArray[np.float64],
    which: NDArray[np.int64],
    prior: NDArray[np.float64],
    most: int,
) -> tuple[Finding, ...]:
    first = targets[np.argsort(prior[targets], kind="stable")][:most]
    return tuple(
        Finding(
            attack="inference of items",
            who="people known by some of their items",
            people=int(view.weights[t]),
            learnt="a further item",
            prior=float(prior[t]),
            posterior=float(share[t]),
            evidence={"sets alike": int(view.weights[t])},
            secret=(view.labels[int(which[t])],),
        )
        for t in first.tolist()
    )
