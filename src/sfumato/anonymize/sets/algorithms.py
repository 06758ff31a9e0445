"""The algorithms for sets by name, and what each can promise.

All are called alike, `algorithm(data, promise, **options)`, and end in a decision. Those that
generalise meet k-anonymity and k^m-anonymity; what else is promised is met by deletion behind them.
Sets are dealt with in an order from cryptographic randomness: which of several equal candidates is
treated how must not tell where it stood in the file. `seed` repeats it, for tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.definition import Conjunction, Definition
from sfumato.anonymize.definitions.itemsets import (
    Coherence,
    ItemConstraints,
    KmAnonymity,
    secret_items,
)
from sfumato.anonymize.sets.cut import CutSearch
from sfumato.anonymize.sets.descent import Descent
from sfumato.anonymize.sets.disassociation import disassociate
from sfumato.anonymize.sets.merging import Merging, merged_nodes
from sfumato.anonymize.sets.nested_partition import NestedPartition
from sfumato.anonymize.sets.partition import Partition
from sfumato.anonymize.sets.recoding import DELETED, SetRecoding
from sfumato.anonymize.sets.suppression import suppress
from sfumato.data.sets.sources import regroup
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.data.wording import check_options, did_you_mean, listed
from sfumato.decision import Decision, SearchRecord
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.sets.sets import Sets

MEANINGS = ("set", "bag")
LABELS = {
    "local": "each item as fine as its company allows",
    "global": "one cut for all sets; no node of it can be split",
    "partition": "sets in classes that look alike",
    "suppression": "whole items deleted",
    "merging": "groups of items made without a hierarchy",
    "disassociation": "no item changed, links cut",
}
"""What each algorithm gives, for whoever reads a report."""
Step = Callable[["Sets", Definition, RandomWords], "NDArray[np.int32]"]


def check_promise(data: Sets, promise: Definition) -> None:
    """Refuse what cannot be promised about these sets."""
    filled = int((data.sizes > 0).sum())
    for part in promise.parts:
        k = getattr(part, "k", 1)
        if k > filled:
            raise Unsatisfiable(
                f"{part} asks for {k:,} sets that look alike, but there are only {filled:,}"
                f"{' that hold any item' if filled < len(data) else ''}."
            )
        if getattr(part, "on", ()) or getattr(part, "attribute", None):
            raise ParameterError(f"{part} names attributes, but sets have items alone.")
    known = data.tree.codes
    stated = [found for part in promise.parts for found in getattr(part, "itemsets", ())]
    named = [item for found in stated for item in found]
    for item in (*secret_items(promise), *named):
        if item not in known:
            raise ParameterError(
                f"There is no item '{item}', which the promise protects."
                f"{did_you_mean(item, tuple(known))}"
            )


def _decide(
    name: str, data: Sets, promise: Definition, step: Step, *, seed: int | None, bag: bool = False
) -> Decision:
    """Recode in random order, delete what else must go, and say what was decided."""
    words = RandomWords(seed)
    mixed = _mixed(data, words)
    secret = secret_items(promise)
    public = _without(mixed, secret)
    nodes = step(public, promise, words)
    recoding = SetRecoding(mixed, _joined(mixed, public, nodes, secret), bag)
    if secret or not all(isinstance(part, KAnonymity | KmAnonymity) for part in promise.parts):
        recoding = suppress(recoding, promise)
    starts, _ = recoding.released
    gone = int((np.diff(starts) == 0).sum())
    facts = {"items deleted": recoding.deleted, "loss": recoding.ncp}
    return Decision(
        record=SearchRecord(name, label=LABELS[name], facts=facts),
        content=replace(recoding, seed=seed),
        records=len(data),
        suppressed=gone,
        settings={"meaning": "bag" if bag else "set"},
    )


def _mixed(data: Sets, words: RandomWords) -> Sets:
    """Return the sets in random order."""
    order = np.arange(len(data), dtype=np.int64)
    shuffle(order, words)
    sizes = data.sizes[order]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.repeat(data.starts[order] - starts[:-1], sizes) + np.arange(len(data.items))
    return replace(data, starts=starts, items=data.items[places])


def _without(data: Sets, secret: tuple[str, ...]) -> Sets:
    """Return the sets without secret items: those are not generalised."""
    if not secret:
        return data
    kept = ~np.isin(data.items, [data.tree.codes[item] for item in secret])
    counts = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return replace(data, starts=counts[data.starts], items=data.items[kept])


def _joined(
    data: Sets, public: Sets, nodes: NDArray[np.int32], secret: tuple[str, ...]
) -> NDArray[np.int32]:
    """Return the nodes of all items: secret ones as they are."""
    if not secret:
        return nodes
    whole = data.items.astype(np.int32).copy()
    whole[~np.isin(data.items, [data.tree.codes[item] for item in secret])] = nodes
    # a group may not cover a secret item beside it: nobody could tell what it stands for
    tree = data.tree
    for item in secret:
        whole[np.isin(whole, tree.above(tree.codes[item])[1:])] = DELETED
    del public
    return whole


def _needed(promise: Definition, algorithm: str) -> KmAnonymity:
    """Return the k^m that the parts about known items come to; 1 where there are none."""
    k, m = 1, 1
    for part in promise.parts:
        if isinstance(part, KAnonymity):
            raise ParameterError(
                f"The algorithm '{algorithm}' does not make whole sets alike, as {part} asks; use "
                "'partition'."
            )
        if isinstance(part, KmAnonymity):
            k, m = max(k, part.k), max(m, part.m)
        elif isinstance(part, Coherence):
            k, m = max(k, part.k), max(m, part.p)
    return KmAnonymity(k, m)


def _size(promise: Definition) -> int:
    return max([1, *(int(getattr(part, "k", 1)) for part in promise.parts)])


# -- the algorithms ------------------------------------------------------------------------


def recode_locally(
    data: Sets, promise: Definition, *, seed: int | None = None, progress: Any = None
) -> Decision:
    """Show each item as finely as its company in the set allows (`descent`)."""

    def step(sets: Sets, wanted: Definition, words: RandomWords) -> NDArray[np.int32]:
        del words
        need = _needed(wanted, "local")
        search = Descent(sets, need.k, need.m)
        search.run(progress)
        return search.shown

    return _decide("local", data, promise, step, seed=seed)


def recode_globally(
    data: Sets,
    promise: Definition,
    *,
    deletion: bool = True,
    seed: int | None = None,
    progress: Any = None,
) -> Decision:
    """Show an item alike in all sets: one cut, with deletions where sets are too odd for it.

    Without `deletion` no item is deleted (`cut`).
    """

    def step(sets: Sets, wanted: Definition, words: RandomWords) -> NDArray[np.int32]:
        del words
        need = _needed(wanted, "global")
        if deletion:
            search = Descent(sets, need.k, need.m, staying=False)
            search.run(progress)
            return search.shown
        cut = CutSearch(sets, need.k, need.m)
        cut.run()
        return cut.cut[sets.items]

    return _decide("global", data, promise, step, seed=seed)


def partition(
    data: Sets,
    promise: Definition,
    *,
    meaning: str = "set",
    seed: int | None = None,
    progress: Any = None,
) -> Decision:
    """Make whole sets alike, at least k at a time; this keeps k^m for every m as well."""
    del progress
    if meaning not in MEANINGS:
        raise ParameterError(f"meaning is {listed(MEANINGS)}, not {meaning!r}.")

    def step(sets: Sets, wanted: Definition, words: RandomWords) -> NDArray[np.int32]:
        search: Partition | NestedPartition
        if meaning == "bag":
            search = Partition(sets, _size(wanted), words)
        else:
            search = NestedPartition(sets, _size(wanted))
        search.run()
        return search.nodes()

    return _decide("partition", data, promise, step, seed=seed, bag=meaning == "bag")


def take_apart(
    data: Sets,
    promise: Definition,
    *,
    cluster: int | None = None,
    seed: int | None = None,
    progress: Any = None,
) -> Decision:
    """Change no item, and hide which belong together (`disassociation`).

    `cluster` is the most sets of a cluster.
    """
    del progress
    if not all(isinstance(part, KmAnonymity) for part in promise.parts):
        raise ParameterError(
            f"The algorithm 'disassociation' keeps k^m-anonymity, not {promise}; use 'best'."
        )
    need = _needed(promise, "disassociation")
    if cluster is not None and (isinstance(cluster, bool) or cluster < 2 * need.k):
        raise ParameterError(
            f"cluster must be a whole number of at least 2 k = {2 * need.k}, not {cluster!r}."
        )
    found = disassociate(_mixed(data, RandomWords(seed)), need.k, need.m, cluster)
    empty = int((found.cluster_of < 0).sum())
    if len(data) - empty < need.k:
        raise Unsatisfiable(
            f"{promise} asks for {need.k:,} sets, but only {len(data) - empty:,} hold any item."
        )
    return Decision(
        record=SearchRecord(
            "disassociation", label=LABELS["disassociation"], facts={"loss": 1 - found.kept}
        ),
        content=replace(found, seed=seed),
        records=len(data),
        suppressed=empty,
        settings={} if cluster is None else {"cluster": cluster},
    )


def merge_items(
    data: Sets, promise: Definition, *, seed: int | None = None, progress: Any = None
) -> Decision:
    """Merge items into groups of their own, with no hierarchy; alike in all sets (`merging`)."""
    allowed = (KmAnonymity, ItemConstraints)
    if not all(isinstance(part, allowed) for part in promise.parts):
        raise ParameterError(
            "The algorithm 'merging' keeps k^m-anonymity and constraints on itemsets, not "
            f"{promise}; use 'best'."
        )
    search = Merging(data, promise)
    search.run(progress)
    grouped = _mixed(regroup(data, search.tree()), RandomWords(seed))
    recoding = SetRecoding(grouped, merged_nodes(search, grouped), seed=seed)
    starts, _ = recoding.released
    return Decision(
        record=SearchRecord(
            "merging",
            label=LABELS["merging"],
            facts={"groups": len(search.members), "loss": recoding.ncp},
        ),
        content=recoding,
        records=len(data),
        suppressed=int((np.diff(starts) == 0).sum()),
        settings={"meaning": "set"},
    )


def delete_items(
    data: Sets, promise: Definition, *, seed: int | None = None, progress: Any = None
) -> Decision:
    """Delete whole items until everything promised holds; nothing is generalised."""
    del progress

    def step(sets: Sets, wanted: Definition, words: RandomWords) -> NDArray[np.int32]:
        del words
        plain = SetRecoding(sets, sets.items.astype(np.int32))
        parts = tuple(p for p in wanted.parts if isinstance(p, KAnonymity | KmAnonymity))
        return suppress(plain, Conjunction(parts)).nodes if parts else plain.nodes

    return _decide("suppression", data, promise, step, seed=seed)


def choose(data: Sets, promise: Definition, **options: Any) -> Decision:
    """Take the algorithm that loses least for what is promised."""
    parts = promise.parts
    name = "suppression"
    if any(isinstance(part, KAnonymity) or hasattr(part, "l") for part in parts):
        name = "partition"
    elif any(isinstance(part, KmAnonymity) or hasattr(part, "p") for part in parts):
        name = "local"
    check_options(f"Algorithm '{name}'", ALGORITHMS[name], options)
    return ALGORITHMS[name](data, promise, **options)


ALGORITHMS: dict[str, Callable[..., Decision]] = {
    "best": choose,
    "local": recode_locally,
    "global": recode_globally,
    "partition": partition,
    "suppression": delete_items,
    "merging": merge_items,
    "disassociation": take_apart,
}
