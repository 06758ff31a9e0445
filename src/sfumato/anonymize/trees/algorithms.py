"""The algorithms for trees by name: classes of isomorphic trees, or trees cut apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.branches import KmnAnonymity
from sfumato.anonymize.trees.clusters import Clustering
from sfumato.anonymize.trees.diversity import SensitiveValues
from sfumato.anonymize.trees.plan import ClassPlan, CutPlan
from sfumato.anonymize.trees.tree_arrays import make_forest
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.data.wording import check_options
from sfumato.decision import Decision, SearchRecord
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.trees.trees import Trees


def check_promise(data: Trees, promise: Definition) -> None:
    """Refuse a promise that cannot be made about these trees."""
    if data.schema is None:
        raise SchemaError(
            f"The labels of {data.name} have no roles; give a schema, which `sfumato inspect "
            "--shape trees` or sf.data.trees.suggestions suggests."
        )
    promise.check_schema(data.schema)
    for part in promise.parts:
        k = getattr(part, "k", 1)
        if k > len(data):
            raise Unsatisfiable(
                f"{part} asks for {k:,} trees that look alike, but there are only {len(data):,}."
            )
        if getattr(part, "on", ()):
            raise ParameterError(f"{part} is about some labels, but trees are compared whole.")
    if bool(data.detached.any()):
        raise ParameterError(
            f"{data.name} has vertices that were cut off from their parents, as a release by "
            "disassociation has; begin with the trees as they came."
        )


def automatic(data: Trees, promise: Definition, **options: Any) -> Decision:
    """Cut trees apart where that is all the promise asks for, else form classes."""
    only_known = all(isinstance(part, KmnAnonymity) for part in promise.parts)
    chosen = disassociate if only_known else cluster
    check_options(f"Algorithm '{chosen.__name__}'", chosen, options)
    return chosen(data, promise, **options)


def cluster(
    data: Trees, promise: Definition, *, progress: Any = None, seed: int | None = None
) -> Decision:
    """Form classes of at least k trees, each shown by one tree to which all are isomorphic.

    Whoever knows any facts about a tree is left with whole classes, so k^(m,n)-anonymity follows.
    """
    forest = make_forest(data)
    values = SensitiveValues(data, promise)
    order = np.arange(len(data))
    shuffle(order, RandomWords(seed))
    k = max([part.minimum_size for part in promise.parts] + _sizes(promise))
    classes = Clustering(forest, min(k, len(data)), values, order).run(progress)
    withheld = tuple(values.withheld(group) for group in classes)
    plan = ClassPlan(data, forest, tuple(classes), withheld, seed)
    facts = {"classes": len(classes), "largest class": max(map(len, classes))}
    return Decision(record=SearchRecord("cluster", facts=facts), content=plan)


def disassociate(
    data: Trees,
    promise: Definition,
    *,
    progress: Any = None,
    seed: int | None = None,
    cut: bool = True,
) -> Decision:
    """Generalise labels for all trees alike, and cut vertices off whose place tells too much.

    `cut=False` keeps all edges.
    """
    from sfumato.anonymize.trees.cut_search import CutSearch  # noqa: PLC0415 - loaded when used

    for part in promise.parts:
        if not isinstance(part, KmnAnonymity):
            raise ParameterError(
                f"Cutting trees apart keeps k^(m,n)-anonymity, but not {part}; use "
                "algorithm='cluster'."
            )
    forest = make_forest(data)
    known = [part for part in promise.parts if isinstance(part, KmnAnonymity)]
    search = CutSearch(forest, known, cut=cut)
    state = search.run(progress)
    plan = CutPlan(data, forest, state.shown, state.attached, state.dropped, state.gone, seed)
    facts = {"label steps": search.steps, "types cut off": int(state.cut_off.sum())}
    settings = {"cut": cut}
    return Decision(
        record=SearchRecord("disassociate", facts=facts), content=plan, settings=settings
    )


def _sizes(promise: Definition) -> list[int]:
    return [part.k for part in promise.parts if isinstance(part, KAnonymity | KmnAnonymity)]


ALGORITHMS: Mapping[str, Callable[..., Decision]] = {
    "automatic": automatic,
    "cluster": cluster,
    "disassociate": disassociate,
}
