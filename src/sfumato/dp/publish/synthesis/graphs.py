"""Synthetic graphs: ``sf.dp.synthesize_graph(edges, vertices=…, epsilon=…)``.

Promise: ε-differential privacy for one edge added or removed; the vertices are public. Proof.
*Degrees* (0.7 ε): an edge changes two degrees by 1, and sorting moves no two sequences apart in
L1, so the sorted degrees have Δ₁ = 2; discrete Laplace noise of scale 2/(0.7·ε). *Triangles* (0.3
ε): the ladder mechanism (:mod:`.ladder`). All else is post-processing: the noisy sequence is made
monotone (Hay, Li, Miklau and Jensen 2009), its plateaus are joined by lines through their centres
and rounded with dither; the graph is made as BTER makes it (Seshadhri, Kolda and Pinar 2012):
vertices of like degree are joined in blocks with one probability, found by bisection so that the
share of closed triples is as the noisy numbers say, and what is left of each degree is matched at
random.

What is kept: degrees and clustering. Communities, paths and who is near whom are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data.cells import Listed, cells_of, items_of
from sfumato.dp.guarantees import PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import Edge, Neighbours
from sfumato.dp.noise import discrete_laplace, permutation, stream
from sfumato.dp.publish.synthesis.artefacts import Synthetic
from sfumato.dp.publish.synthesis.curator import BookLine
from sfumato.dp.publish.synthesis.particles import uniforms
from sfumato.dp.rounding import stated_up
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

DEGREES = Fraction(7, 10)
_BISECTIONS = 9
_MATCHINGS = 30


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SyntheticGraph(Synthetic):
    """A synthetic graph: pairs of vertices, and the noisy numbers it follows."""

    edges: tuple[tuple[Hashable, Hashable], ...]
    degrees: NDArray[np.int64]
    triangles: int

    unit: ClassVar[str] = "edge"

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def data(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The synthetic edges."""
        return self.edges

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.edges`: two vertices per line."""
        if file_format not in {None, "edges"}:
            raise DataError(f"A synthetic graph is written as 'edges', not '{file_format}'.")
        path = folder / "release.edges"
        path.write_text("".join(f"{u} {v}\n" for u, v in self.edges), encoding="utf-8")
        return path

    def manifest(self) -> dict[str, Any]:
        """Return what a receiver may know."""
        return {**super().manifest(), "noisy_triangles": self.triangles}


def synthesize_graph(
    edges: Iterable[tuple[Hashable, Hashable]],
    *,
    vertices: Sequence[Hashable] | int,
    epsilon: Stated,
    neighbours: Neighbours | PrivacyUnit | str = "edge",
    name: str = "graph",
) -> Release:
    """Make a synthetic graph that may be given away.

    ``vertices`` are public: their names, or how many there are, numbered from 0. Pairs that are no
    two of them are left out. One edge added or removed is hidden; a vertex with all its edges is
    not, as no graph of use is known that hides it.
    """
    check_edges(neighbours)
    spent = parameters.budget(epsilon)
    listed = range(vertices) if isinstance(vertices, int) else list(dict.fromkeys(vertices))
    names = list(Listed(listed, "vertices=").values)
    if len(names) < 2:
        raise ParameterError("A graph has at least two vertices.")
    degrees, triangles = measure(edges, names, spent)
    found = build(degrees, triangles)
    relation = Neighbours("unbounded", Edge(vertices=len(names)))
    artefact = SyntheticGraph(
        name=name, guarantee=PureDP(stated_up(spent), neighbours=relation), measurements=(),
        book=(BookLine("sorted degrees", spent * DEGREES), BookLine("triangles", spent * (1 -
        DEGREES))), currency="ε", estimated=float(degrees.sum()) / 2, degrees=degrees,
        triangles=triangles, notes=_doubts(float(_scale(spent)), degrees),
        edges=tuple((names[u], names[v]) for u, v in found.tolist()),
    )  # fmt: skip
    return artefact.release("blocks of like degree and a random matching (BTER)")


def measure(
    edges: Iterable[tuple[Hashable, Hashable]], names: list[Any], spent: Fraction
) -> tuple[NDArray[np.int64], int]:
    """Give the noisy degrees and triangles, all that is ever taken from the edges."""
    from sfumato.dp.publish.synthesis.ladder import noisy_triangles  # noqa: PLC0415 - compiled

    starts, ends = neighbours_of(_read(edges, names), len(names))
    exact = np.sort(np.diff(starts))
    degrees = smooth_degrees(exact + discrete_laplace(_scale(spent), len(names)))
    return degrees, noisy_triangles(starts, ends, spent * (1 - DEGREES))


def _scale(spent: Fraction) -> Fraction:
    """Give the noise of a degree: one edge changes two of the sorted ones by 1 each."""
    return 2 / (spent * DEGREES)


def _doubts(scale: float, degrees: NDArray[np.int64]) -> tuple[str, ...]:
    """Say so where the noise of a degree is as large as degrees can be, or far above them."""
    if scale < min(degrees.size - 1, 5 * max(float(degrees.mean()), 1.0)):
        return ()
    return ("At this budget noise hides the degrees; the graph tells little but its vertices.",)


def check_edges(neighbours: Neighbours | PrivacyUnit | str) -> Neighbours:
    """Refuse neighbours that a synthetic graph cannot hide."""
    asked = Neighbours.of(neighbours)
    if not isinstance(asked.unit, Edge) or asked.bounded:
        raise ParameterError(
            f"A synthetic graph hides one edge added or removed, and {asked} was asked for; "
            "release counts of a graph for other units."
        )
    return asked


def _read(edges: Iterable[tuple[Hashable, Hashable]], names: list[Any]) -> NDArray[np.int64]:
    """Give the places of both ends of each edge; what is no edge between two vertices is none."""
    whole = isinstance(edges, np.ndarray) and edges.ndim == 2
    listed = [items_of(edge) for edge in (edges if whole else cells_of(edges))]
    ends = [end for edge in listed if len(edge) == 2 for end in edge]
    found = Listed(names).places(ends).reshape(-1, 2)
    kept = (found >= 0).all(axis=1) & (found[:, 0] != found[:, 1])
    return np.ascontiguousarray(found[kept])


def neighbours_of(edges: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the sorted neighbours of all vertices, one after the other, and where each begins."""
    both = np.concatenate([edges[:, 0] * n + edges[:, 1], edges[:, 1] * n + edges[:, 0]])
    keys = np.sort(both)
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys
    starts = np.searchsorted(keys // n, np.arange(n + 1)).astype(np.int64)
    return starts, keys % n


# -- post-processing ----------------------------------------------------------------------


def smooth_degrees(noisy: NDArray[Any]) -> NDArray[np.int64]:
    """Make a noisy sorted sequence monotone, join its plateaus and round it with dither."""
    values = noisy.astype(np.float64)
    sums: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():  # pool adjacent violators
        total, size = value, 1
        while sums and sums[-1] / sizes[-1] >= total / size:
            total, size = total + sums.pop(), size + sizes.pop()
        sums.append(total)
        sizes.append(size)
    means = np.array(sums) / sizes
    ends = np.cumsum(sizes)
    centres = ends - np.array(sizes) / 2 - 0.5
    line = np.interp(np.arange(values.size), centres, means)
    dithered = np.floor(line + uniforms(stream(), line.size)).astype(np.int64)
    return np.clip(dithered, 0, values.size - 1)


def build(degrees: NDArray[np.int64], triangles: int) -> NDArray[np.int64]:
    """Make a graph of about these degrees whose share of closed triples is about as wanted."""
    from sfumato.dp.publish.synthesis.ladder import count_triangles  # noqa: PLC0415 - compiled

    wanted = min(1.0, 3 * max(triangles, 0) / max(1.0, float((degrees * (degrees - 1) / 2).sum())))
    low, high = 0.0, 1.0
    found = np.zeros((0, 2), dtype=np.int64)
    for _ in range(_BISECTIONS):
        chance = (low + high) / 2
        found = _joined(degrees, chance)
        starts, ends = neighbours_of(found, degrees.size)
        own = np.diff(starts)
        triples = max(1.0, float((own * (own - 1) / 2).sum()))
        if 3 * int(count_triangles(starts, ends)) / triples < wanted:
            low = chance
        else:
            high = chance
    return found


def _joined(degrees: NDArray[np.int64], chance: float) -> NDArray[np.int64]:
    """Join vertices in blocks with one probability, then match what is left of their degrees."""
    n = degrees.size
    inside = _blocks(np.sort(degrees), chance)  # vertices are numbered by rising degree
    left = np.sort(degrees) - np.bincount(inside.ravel(), minlength=n)
    keys = np.sort(inside[:, 0] * n + inside[:, 1])
    stubs = np.repeat(np.arange(n), np.maximum(left, 0))
    for _ in range(_MATCHINGS):
        if stubs.size < 2:
            break
        mixed = stubs[permutation(stubs.size)]
        half = mixed.size // 2
        low = np.minimum(mixed[:half], mixed[half : 2 * half])
        high = np.maximum(mixed[:half], mixed[half : 2 * half])
        key = low * n + high
        order = np.argsort(key, kind="stable")
        twice = np.zeros(half, dtype=np.bool_)
        twice[order[1:]] = key[order[1:]] == key[order[:-1]]
        place = np.minimum(np.searchsorted(keys, key), max(keys.size - 1, 0))
        there = keys[place] == key if keys.size else twice
        good = (low != high) & ~twice & ~there
        keys = np.sort(np.concatenate([keys, key[good]]))
        stubs = np.concatenate([low[~good], high[~good], mixed[2 * half :]])
    return np.stack([keys // n, keys % n], axis=1)


def _blocks(rising: NDArray[np.int64], chance: float) -> NDArray[np.int64]:
    """Join each two of a block of d + 1 vertices, d the least degree in it, with one chance."""
    parts = []
    at = int(np.searchsorted(rising, 2))
    while at < rising.size:
        size = min(int(rising[at]) + 1, rising.size - at)
        u, v = np.triu_indices(size, 1)
        parts.append(np.stack([u + at, v + at], axis=1))
        at += size
    if not parts:
        return np.zeros((0, 2), dtype=np.int64)
    pairs = np.concatenate(parts).astype(np.int64)
    chosen: NDArray[np.int64] = pairs[uniforms(stream(), len(pairs)) < chance]
    return chosen
