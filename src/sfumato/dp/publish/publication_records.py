"""What was published, as text and back: so that a ledger can give it again for nothing.

Contract: everything in the text has been released; labels and rows are not in it. ``load`` gives a
value that does all the original does: further ranges, quantiles, pictures, a release.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.guarantee_json import guarantee_from_json, guarantee_to_json
from sfumato.dp.publish.kmeans.clusters import Clusters
from sfumato.dp.publish.kmeans.estimator import KMeans
from sfumato.dp.publish.kmeans.rows import box_of
from sfumato.dp.publish.purse import PurseEntry
from sfumato.dp.publish.ranges.ordered import OrderedHistogram
from sfumato.dp.publish.ranges.spatial import SpatialHistogram
from sfumato.dp.publish.topk.choice_of_way import TopKPlan
from sfumato.dp.publish.topk.release import TopK
from sfumato.dp.publish.topk.union import SetUnion
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def dump(found: Any) -> str:
    """Write what was released."""
    for kind, (type_, write, _) in _KINDS.items():
        if isinstance(found, type_):
            return json.dumps({"kind": kind, **write(found)}, ensure_ascii=False)
    raise ParameterError(f"{type(found).__name__} cannot be stored.")


def load(text: str) -> Any:
    """Read what :func:`dump` wrote."""
    whole = json.loads(text)
    return _KINDS[whole["kind"]][2](whole)


def _entries(entries: Sequence[PurseEntry]) -> list[list[Any]]:
    return [[entry.what, str(entry.cost), entry.numbers] for entry in entries]


def _read_entries(listed: Sequence[Sequence[Any]]) -> tuple[PurseEntry, ...]:
    return tuple(PurseEntry(what, Fraction(cost), numbers) for what, cost, numbers in listed)


def _write_clusters(model: KMeans) -> dict[str, Any]:
    found = model.released
    low, high = model.box.low.tolist(), model.box.high.tolist()
    return {
        "guarantee": guarantee_to_json(model.guarantee),
        "names": list(model.columns_),
        "bounds": list(zip(low, high, strict=True)),
        "algorithm": model.algorithm,
        "rounds": model.rounds,
        "centres": found.centres.tolist(),
        "sizes": found.sizes.tolist(),
        "size_deviation": found.size_deviation.tolist(),
        "centre_deviation": found.centre_deviation.tolist(),
        "entries": _entries(model.entries_),
    }


def _read_clusters(whole: Mapping[str, Any]) -> KMeans:
    promised = guarantee_from_json(whole["guarantee"])
    pairs = [tuple(ends) for ends in whole["bounds"]]
    bounds = dict(zip(whole["names"], pairs, strict=True)) if whole["names"] else pairs
    model = KMeans(
        len(whole["sizes"]),
        bounds=bounds,
        algorithm=whole["algorithm"],
        rounds=whole["rounds"],
        neighbours=promised.neighbours,
        **{name: getattr(promised, name, None) for name in ("epsilon", "delta", "rho")},
    )
    arrays = (
        np.array(whole[name]) for name in ("centres", "sizes", "size_deviation", "centre_deviation")
    )
    model.keep(Clusters(*arrays), box_of(None, bounds), _read_entries(whole["entries"]))
    return model


def _write_winners(found: TopK) -> dict[str, Any]:
    plan = found.plan
    return {
        "guarantee": guarantee_to_json(found.guarantee),
        "items": [list(item) if isinstance(item, tuple) else item for item in found.items],
        "counts": None if found.counts is None else found.counts.tolist(),
        "deviation": found.deviation,
        "plan": [plan.algorithm, plan.reason, plan.resolution, plan.k, plan.items],
        "entries": _entries(found.entries),
        "notes": list(found.notes),
    }


def _read_winners(whole: Mapping[str, Any]) -> TopK:
    return TopK(
        tuple(tuple(item) if isinstance(item, list) else item for item in whole["items"]),
        None if whole["counts"] is None else np.array(whole["counts"]),
        whole["deviation"],
        TopKPlan(*whole["plan"]),
        guarantee_from_json(whole["guarantee"]),
        _read_entries(whole["entries"]),
        tuple(whole["notes"]),
    )


def _write_ordered(found: OrderedHistogram) -> dict[str, Any]:
    return {
        "guarantee": guarantee_to_json(found.guarantee),
        "edges": found.edges.tolist(),
        "counts": found.counts.tolist(),
        "settled": found.settled.tolist(),
        "deviation": found.deviation,
        "branching": found.branching,
        "entries": _entries(found.entries),
    }


def _read_ordered(whole: Mapping[str, Any]) -> OrderedHistogram:
    return OrderedHistogram(
        np.array(whole["edges"], dtype=np.float64),
        np.array(whole["counts"], dtype=np.float64),
        np.array(whole["settled"], dtype=np.float64),
        whole["deviation"],
        whole["branching"],
        guarantee_from_json(whole["guarantee"]),
        _read_entries(whole["entries"]),
    )


def _write_map(found: SpatialHistogram) -> dict[str, Any]:
    box = found.box
    return {
        "guarantee": guarantee_to_json(found.guarantee),
        "names": list(box.names),
        "bounds": list(zip(box.low.tolist(), box.high.tolist(), strict=True)),
        "counts": found.counts.tolist(),
        "settled": found.settled.tolist(),
        "parts": found.parts.tolist(),
        "deviation": found.deviation,
        "entries": _entries(found.entries),
    }


def _read_map(whole: Mapping[str, Any]) -> SpatialHistogram:
    pairs = [tuple(ends) for ends in whole["bounds"]]
    bounds = dict(zip(whole["names"], pairs, strict=True)) if whole["names"] else pairs
    return SpatialHistogram(
        box_of(None, bounds),
        np.array(whole["counts"], dtype=np.float64),
        np.array(whole["settled"], dtype=np.float64),
        np.array(whole["parts"], dtype=np.int64),
        whole["deviation"],
        guarantee_from_json(whole["guarantee"]),
        _read_entries(whole["entries"]),
    )


def _write_union(found: SetUnion) -> dict[str, Any]:
    return {
        "guarantee": guarantee_to_json(found.guarantee),
        "items": list(found.items),
        "deviation": found.deviation,
        "threshold": found.threshold,
    }


def _read_union(whole: Mapping[str, Any]) -> SetUnion:
    promised = guarantee_from_json(whole["guarantee"])
    return SetUnion(tuple(whole["items"]), promised, whole["deviation"], whole["threshold"])


_KINDS: dict[str, tuple[Any, Any, Any]] = {
    "clusters": (KMeans, _write_clusters, _read_clusters),
    "top-k": (TopK, _write_winners, _read_winners),
    "ordered": (OrderedHistogram, _write_ordered, _read_ordered),
    "map": (SpatialHistogram, _write_map, _read_map),
    "union": (SetUnion, _write_union, _read_union),
}
