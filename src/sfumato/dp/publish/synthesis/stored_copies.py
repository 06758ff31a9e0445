"""Synthetic data as text and back, so that a ledger can give a copy again for nothing.

Contract: all of it has been released. ``load`` gives an artefact that is saved, reported and used
as the first one was.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.guarantee_json import guarantee_from_json, guarantee_to_json
from sfumato.dp.publish.synthesis.artefacts import SyntheticTable, packed, unpacked
from sfumato.dp.publish.synthesis.curator import BookLine
from sfumato.dp.publish.synthesis.engine import MeasuredMarginal
from sfumato.dp.publish.synthesis.graphs import SyntheticGraph
from sfumato.dp.publish.synthesis.sets import SyntheticSets
from sfumato.dp.publish.synthesis.trajectories import SyntheticTrajectories

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.dp.publish.synthesis.artefacts import Synthetic


def dump_copy(made: Synthetic) -> str:
    """Write a copy of any shape."""
    if isinstance(made, SyntheticTable):
        return made.dump()
    kept = {
        "shape": made.unit, "name": made.name, "guarantee": guarantee_to_json(made.guarantee),
        "measurements": [[*asdict(m).values()] for m in made.measurements],
        "book": [[charge.what, str(charge.price)] for charge in made.book],
        "currency": made.currency, "estimated": made.estimated, "notes": list(made.notes),
    }  # fmt: skip
    return json.dumps({**kept, **_own(made)}, default=str)


def load_copy(text: str) -> Synthetic:
    """Read what :func:`dump_copy` wrote."""
    kept = json.loads(text)
    if "shape" not in kept:
        return SyntheticTable.load(text)
    common: dict[str, Any] = {
        "name": kept["name"],
        "guarantee": guarantee_from_json(kept["guarantee"]),
        "measurements": tuple(
            MeasuredMarginal(tuple(names), tuple(shape), Fraction(price), *rest)
            for names, shape, price, *rest in kept["measurements"]
        ),
        "book": tuple(BookLine(what, Fraction(price)) for what, price in kept["book"]),
        "currency": kept["currency"], "estimated": kept["estimated"],
        "notes": tuple(kept["notes"]),
    }  # fmt: skip
    return _made(kept, common)


def _own(made: Synthetic) -> dict[str, Any]:
    """Give what a copy of one shape alone has."""
    if isinstance(made, SyntheticSets):
        return {"sets": made.sets, "frequent": made.frequent}
    if isinstance(made, SyntheticTrajectories):
        points = np.concatenate(made.trips) if made.trips else np.zeros((0, 2))
        return {"sizes": [len(trip) for trip in made.trips], "points": packed(points.ravel())}
    assert isinstance(made, SyntheticGraph)
    return {"edges": made.edges, "degrees": packed(made.degrees), "triangles": made.triangles}


def _made(kept: Mapping[str, Any], common: dict[str, Any]) -> Synthetic:
    if kept["shape"] == SyntheticSets.unit:
        sets = tuple(tuple(items) for items in kept["sets"])
        return SyntheticSets(sets=sets, frequent=tuple(kept["frequent"]), **common)
    if kept["shape"] == SyntheticTrajectories.unit:
        points = unpacked(kept["points"]).reshape(-1, 2)
        trips = np.split(points, np.cumsum(kept["sizes"])[:-1]) if kept["sizes"] else []
        return SyntheticTrajectories(trips=tuple(trips), **common)
    edges = tuple((u, v) for u, v in kept["edges"])
    degrees = unpacked(kept["degrees"])
    return SyntheticGraph(edges=edges, degrees=degrees, triangles=kept["triangles"], **common)
