"""From hybrid records and a joint promise to a decision.

(k, k^m)-anonymity is one promise, stronger than its parts: records alike in their quasi-identifiers
are at least k, and *within each such group* whoever knows m items as well is left with k. Other
definitions about tables are judged on the same groups, and hold by merging.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
from sfumato.anonymize.definitions.definition import Conjunction, as_read
from sfumato.anonymize.definitions.itemsets import KmAnonymity
from sfumato.anonymize.hybrid.clusters import Columns, gather
from sfumato.anonymize.hybrid.merging import STRATEGIES, Cluster, MergedClusters
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.data.wording import listed
from sfumato.decision import Decision, SearchRecord
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.hybrid.records import HybridRecords

ROW_BOUND = 0.35
"""What rows may lose unless somebody says otherwise."""


@dataclass(frozen=True, eq=False, repr=False)
class HybridRecoding:
    """What was decided: the clusters, what they show, and the trade-off on the way there."""

    data: HybridRecords
    columns: Columns
    clusters: tuple[Cluster, ...]
    nodes: NDArray[np.int64]
    steps: tuple[tuple[float, float], ...]
    seed: int | None = field(default=None)


def check_promise(data: HybridRecords, promise: Definition) -> None:
    """Refuse what cannot be promised about these records."""
    wanted = sets_promised(promise)
    for name, part in wanted.items():
        if name not in data.sets:
            raise ParameterError(
                f"{part} is about '{name}', which is no attribute of sets; there are "
                f"{listed(tuple(data.sets))}."
            )
        _enough(part.k, part, len(data))
    for name in data.sets:
        if data.schema.attribute(name).role == "quasi" and name not in wanted:
            raise ParameterError(
                f"Others may know the set '{name}', but nothing is promised about it; join "
                f"KmAnonymity(k, m, attribute='{name}'), or give it another role."
            )
    whole = [other for other in promise.parts if isinstance(other, KAnonymity) and not other.on]
    if not whole:
        raise ParameterError(
            "Hybrid records need k-anonymity of their rows as well, such as KAnonymity(5) & "
            f"{next(iter(wanted.values()), 'KmAnonymity(5, 2)')}."
        )
    _enough(max(rows.k for rows in whole), whole[0], len(data))
    for other in promise.parts:
        if not isinstance(other, KmAnonymity):
            other.check_schema(data.schema)
            if not other.per_class:
                raise ParameterError(f"{other} is not judged by group, as hybrid records need it.")


def _enough(k: int, part: Definition, records: int) -> None:
    if k > records:
        raise Unsatisfiable(
            f"{part} asks for {k:,} records that look alike, but there are only {records:,}."
        )


def sets_promised(promise: Definition) -> dict[str, KmAnonymity]:
    """Return what is promised about attributes of sets, by their name."""
    found: dict[str, KmAnonymity] = {}
    for part in promise.parts:
        if isinstance(part, KmAnonymity):
            if part.attribute is None:
                raise ParameterError(f"{part} must say of which attribute, with attribute=….")
            earlier = found.get(part.attribute, part)
            found[part.attribute] = KmAnonymity(
                max(part.k, earlier.k), max(part.m, earlier.m), part.attribute
            )
    return found


def merge_clusters(
    data: HybridRecords,
    promise: Definition,
    *,
    strategy: str = "both",
    row_bound: float | None = None,
    set_bound: float = 0.0,
    seed: int | None = None,
    progress: Any = None,
) -> Decision:
    """Gather like rows, make their sets anonymous, and merge while the bounds allow it."""
    if strategy not in STRATEGIES:
        raise ParameterError(f"strategy is {listed(STRATEGIES)}, not {strategy!r}.")
    bound = 1.0 if row_bound is None and set_bound > 0 else row_bound
    bound = ROW_BOUND if bound is None else bound
    for name, value in (("row_bound", bound), ("set_bound", set_bound)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ParameterError(f"{name} must be a number from 0 to 1, not {value!r}.")
    columns, wanted = Columns.of(data), sets_promised(promise)
    search = MergedClusters(columns, data.sets, wanted, strategy, bound, set_bound)
    k = max([p.k for p in promise.parts if isinstance(p, KAnonymity)])
    search.start(_groups(columns, data, k, seed))
    judge = _judge(data, promise)
    search.join(judge)
    search.run(progress)
    if not all(judge(members) for members in _alike(search, columns)):
        raise Unsatisfiable(
            f"No release of {data.name} was found that keeps {promise}: it does not hold for all "
            "records taken together, or for those that rows and sets let be merged. Ask for less."
        )
    facts = {"row loss": search.row_loss, "set loss": search.set_loss}
    return Decision(
        record=SearchRecord("merge", label=f"clusters merged by {strategy}", facts=facts),
        content=HybridRecoding(
            data, columns, tuple(search.clusters), search.nodes, tuple(search.steps), seed
        ),
        records=len(data),
        settings={"strategy": strategy, "row_bound": bound, "set_bound": set_bound},
    )


def _alike(search: MergedClusters, columns: Columns) -> list[NDArray[np.int64]]:
    """Return the records that look alike, in whatever clusters of the same labels they are."""
    groups: dict[tuple[str, ...], list[NDArray[np.int64]]] = {}
    for c, cluster in enumerate(search.clusters):
        nodes = search.nodes[:, c].tolist()
        shown = tuple(tree.labels[v] for tree, v in zip(columns.trees, nodes, strict=True))
        groups.setdefault(shown, []).append(cluster.members)
    return [np.concatenate(members) for members in groups.values()]


def _groups(
    columns: Columns, data: HybridRecords, k: int, seed: int | None
) -> list[NDArray[np.int64]]:
    """Gather clusters among records in random order, so that their order decides nothing."""
    order = np.arange(len(data), dtype=np.int64)
    shuffle(order, RandomWords(seed))
    mixed = Columns(columns.trees, columns.codes[:, order], columns.weights)
    return [order[members] for members in gather(mixed, len(data), k)]


def _judge(data: HybridRecords, promise: Definition) -> Callable[[NDArray[np.int64]], bool]:
    """Return a test of all parts about rows for a group of records."""
    parts = [p for p in promise.parts if not isinstance(p, KmAnonymity)]
    coded = {}
    for name in {name for part in parts for name in part.sensitive}:
        texts = ["" if cell is None else cell for cell in data.others[name]]
        values = data.schema.order_of(name, texts)
        place = {value: i for i, value in enumerate(values)}
        codes = np.array([place[text] for text in texts], dtype=np.int64)
        coded[name] = (codes, values, data.schema.sensitive_hierarchy(name, values))
    rows = as_read(Conjunction(tuple(parts)), {name: coded[name][1] for name in coded})

    def judge(members: NDArray[np.int64]) -> bool:
        spread = {
            name: SensitiveHistogram(
                np.bincount(codes[members], minlength=len(values))[None, :].astype(np.int64),
                np.bincount(codes, minlength=len(values)).astype(np.int64),
                values,
                hierarchy,
            )
            for name, (codes, values, hierarchy) in coded.items()
        }
        classes = Classes(np.array([len(members)], dtype=np.int64), spread)
        return bool(rows.judge(classes).all())

    return judge
