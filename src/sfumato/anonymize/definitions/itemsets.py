"""Promises about sets: what somebody may learn who knows some items of a person's set.

The groups that these definitions judge are the sets that hold a given itemset: whoever knows the
itemset of a person is left with them. Supports count released sets that show the itemset
literally. That is at least as strong as counting those that match it through a hierarchy: where
one released set matches what is known, the labels by which it matches are an itemset of at
most the same size, and every set that shows those labels matches, too.

Terrovitis, Mamoulis, Kalnis: Privacy-preserving anonymization of set-valued data, VLDB 2008 (k^m);
Xu, Wang, Fu, Yu: Anonymizing transaction databases for publication, KDD 2008 (coherence); Cao,
Karras, Raïssi, Tan: ρ-uncertainty, VLDB 2010; Loukides, Gkoulalas-Divanis, Malin: COAT, KAIS 2011
(constraints).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.anonymize.definitions.definition import (
    TOLERANCE,
    Definition,
    number_between,
    positive_integer,
)
from sfumato.anonymize.definitions.option import Option, number, whole_number
from sfumato.errors import ParameterError
from sfumato.lazy import later

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes
else:
    np = later("numpy")  # a definition is also read for its option alone

ITEMS = "items"
"""What the histogram of sensitive items is called among those of a group."""


def _cut(flag: str, text: str, numbers: int, example: str) -> tuple[list[str], tuple[str, ...]]:
    """Cut `0.5:beer,wine` into as many numbers as wanted and the items behind them."""
    *heads, items = text.split(":", numbers)
    if len(heads) != numbers or not items:
        raise ParameterError(f"{flag} wants for instance {flag} {example}, not '{text}'.")
    return heads, tuple(item.strip() for item in items.split(","))


def _read_km(text: str) -> Definition:
    k, _, rest = text.partition(":")
    m, _, attribute = rest.partition(":")
    return KmAnonymity(
        whole_number("--km", k), whole_number("--km", m) if m else 2, attribute or None
    )


def _read_rho(text: str) -> Definition:
    (rho,), items = _cut("--rho", text, 1, "0.5:HIV test,pregnancy test")
    return RhoUncertainty(number("--rho", rho), items)


def _read_coherence(text: str) -> Definition:
    (h, k, p), items = _cut("--coherence", text, 3, "0.5:5:2:HIV test")
    return Coherence(
        number("--coherence", h), whole_number("--coherence", k), whole_number("--coherence", p),
        items,
    )  # fmt: skip


def _read_itemset(text: str) -> Definition:
    (k,), items = _cut("--itemset", text, 1, "5:beer,diapers")
    return ItemConstraints(whole_number("--itemset", k), (items,))


def _read_diversity(text: str) -> Definition:
    (l,), items = _cut("--item-diversity", text, 1, "3:HIV test")  # noqa: E741 - its letter
    return ItemDiversity(whole_number("--item-diversity", l), items)


class ItemsetDefinition(Definition):
    """A promise about every group of sets that hold some known items."""

    shapes: ClassVar[frozenset[str] | None] = frozenset({"sets"})

    @property
    def known(self) -> int | None:
        """How many items an adversary may know; None for any number."""
        return None

    @property
    def secret(self) -> tuple[str, ...]:
        """Items that nobody knows beforehand, and nobody may learn."""
        return ()

    def shares(self, classes: Classes) -> NDArray[np.float64]:
        """Return the share of each group that holds the most frequent sensitive item."""
        counts = classes.sensitive[ITEMS].counts
        top = counts.max(axis=1, initial=0)
        return np.asarray(top / np.maximum(classes.sizes, 1), dtype=np.float64)


@dataclass(frozen=True)
class KmAnonymity(ItemsetDefinition):
    """Whoever knows up to m items of a person's set is left with at least k sets, or none.

    `attribute` names the attribute of sets in a table of hybrid records; joined with k-anonymity
    there, the two together are (k, k^m)-anonymity: k sets within the group of like rows.

    >>> import sfumato as sf
    >>> str(sf.KmAnonymity(5, m=2))
    '5^2-anonymity'
    """

    k: int
    m: int = 2
    attribute: str | None = None
    shapes: ClassVar[frozenset[str] | None] = frozenset({"sets", "trajectories", "hybrid"})
    option: ClassVar[Option | None] = Option(
        "km",
        ("--km",),
        "K:M",
        "k^m-anonymity of sets: any M known items are in at least K sets, or in none. Give "
        "'5:2:films' for an attribute of sets in a table.",
        _read_km,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_integer("k", self.k))
        object.__setattr__(self, "m", positive_integer("m", self.m))
        if self.attribute is not None and (
            not isinstance(self.attribute, str) or not self.attribute
        ):
            raise ParameterError(f"attribute must be a name, not {self.attribute!r}.")

    @property
    def known(self) -> int | None:
        """Return m."""
        return self.m

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where at least k sets show the itemset."""
        return classes.sizes >= self.k

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - items are what is known
        """Say how many sets are left."""
        if self.attribute:
            return (
                f"Whoever knows a person's row and up to {self.m} items of her {self.attribute} is "
                f"left with at least {self.k} records."
            )
        return f"Whoever knows up to {self.m} items of a set is left with at least {self.k} sets."

    def __str__(self) -> str:
        of = f" of {self.attribute}" if self.attribute else ""
        return f"{self.k}^{self.m}-anonymity{of}"


@dataclass(frozen=True)
class RhoUncertainty(ItemsetDefinition):
    """Whatever items somebody knows of a set, no sensitive item follows with more than ρ.

    For every itemset q and every sensitive item a outside it, at most the share `rho` of the sets
    that hold q hold a as well. `m` bounds the size of q; without it q may be anything.
    """

    rho: float
    sensitive_items: tuple[str, ...]
    m: int | None = None
    option: ClassVar[Option | None] = Option(
        "rho",
        ("--rho",),
        "ρ:ITEM,…",
        "ρ-uncertainty: no known items tell one of these items with more than ρ.",
        _read_rho,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", number_between("rho", self.rho, 0, 1, open_low=True))
        object.__setattr__(self, "sensitive_items", item_names(self.sensitive_items))
        if self.m is not None:
            object.__setattr__(self, "m", positive_integer("m", self.m))

    @property
    def known(self) -> int | None:
        """Return m."""
        return self.m

    @property
    def secret(self) -> tuple[str, ...]:
        """Return the sensitive items."""
        return self.sensitive_items

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where no sensitive item is in more than the share ρ of the group."""
        return self.shares(classes) <= self.rho + TOLERANCE

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - items are what is known
        """Say how sure one may become."""
        known = "whatever" if self.m is None else f"up to {self.m}"
        return f"From {known} known items, no sensitive item follows with more than {self.rho:g}."

    def __str__(self) -> str:
        bound = "" if self.m is None else f" against {self.m} known items"
        return f"{self.rho:g}-uncertainty of {_some(self.sensitive_items)}{bound}"


@dataclass(frozen=True)
class Coherence(ItemsetDefinition):
    """(h, k, p)-coherence: up to p known public items leave k sets, and no secret above h.

    Every itemset of at most p public items that occurs is in at least k sets, of which at most the
    share `h` hold the same private item.
    """

    h: float
    k: int
    p: int
    private: tuple[str, ...]
    option: ClassVar[Option | None] = Option(
        "coherence",
        ("--coherence",),
        "H:K:P:ITEM,…",
        "(h, k, p)-coherence: P known items leave K sets, and tell none of these with more than H.",
        _read_coherence,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", number_between("h", self.h, 0, 1, open_low=True))
        object.__setattr__(self, "k", positive_integer("k", self.k))
        object.__setattr__(self, "p", positive_integer("p", self.p))
        object.__setattr__(self, "private", item_names(self.private))

    @property
    def known(self) -> int | None:
        """Return p."""
        return self.p

    @property
    def secret(self) -> tuple[str, ...]:
        """Return the private items."""
        return self.private

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where k sets are left and no private item is in too many of them."""
        enough: NDArray[np.bool_] = classes.sizes >= self.k
        return enough & (self.shares(classes) <= self.h + TOLERANCE)

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - items are what is known
        """Say who is left, and how sure one may become."""
        return (
            f"Up to {self.p} known public items leave at least {self.k} sets, of which at most the "
            f"share {self.h:g} hold the same private item."
        )

    def __str__(self) -> str:
        return f"({self.h:g}, {self.k}, {self.p})-coherence of {_some(self.private)}"


@dataclass(frozen=True)
class ItemConstraints(ItemsetDefinition):
    """Each of the named itemsets is in no released set, or in at least k.

    An item is there where the release shows it or a group that it belongs to. `groups`, where they
    are given, say which items may be merged: a released group lies within one of them.
    """

    k: int
    itemsets: tuple[tuple[str, ...], ...]
    groups: tuple[tuple[str, ...], ...] = ()
    option: ClassVar[Option | None] = Option(
        "itemset",
        ("--itemset",),
        "K:ITEM,…",
        "These items together are in at least K sets, or in none; may be repeated.",
        _read_itemset,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_integer("k", self.k))
        given: Any = self.itemsets
        if isinstance(given, str) or not isinstance(given, Iterable) or not (found := tuple(given)):
            raise ParameterError("itemsets must be a list of lists of items.")
        object.__setattr__(self, "itemsets", tuple(item_names(items) for items in found))
        groups = tuple(item_names(items) for items in self.groups)
        if len({item for group in groups for item in group}) < sum(map(len, groups)):
            raise ParameterError("An item can be in one utility group only.")
        object.__setattr__(self, "groups", groups)

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where nobody or at least k sets match."""
        verdict: NDArray[np.bool_] = (classes.sizes == 0) | (classes.sizes >= self.k)
        return verdict

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - items are what is known
        """Say how often they are there."""
        return f"Each of the named itemsets is in at least {self.k} released sets, or in none."

    def __str__(self) -> str:
        count = "1 itemset" if len(self.itemsets) == 1 else f"{len(self.itemsets)} itemsets"
        return f"{count} with support 0 or at least {self.k}"


@dataclass(frozen=True)
class ItemDiversity(ItemsetDefinition):
    """Among sets alike in their other items, no sensitive item is in more than one of l.

    The groups are the sets that show the same items beside the sensitive ones.
    """

    l: int  # noqa: E741 - the letter of the definition
    sensitive_items: tuple[str, ...]
    option: ClassVar[Option | None] = Option(
        "item_diversity",
        ("--item-diversity",),
        "L:ITEM,…",
        "Among sets that look alike, at most one of L holds each of these items.",
        _read_diversity,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", positive_integer("l", self.l))
        object.__setattr__(self, "sensitive_items", item_names(self.sensitive_items))

    @property
    def secret(self) -> tuple[str, ...]:
        """Return the sensitive items."""
        return self.sensitive_items

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where the most frequent sensitive item is in at most one of l sets."""
        return self.shares(classes) * self.l <= 1 + TOLERANCE

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - items are what is known
        """Say how they are spread."""
        return (
            f"Among sets alike in their other items, at most one of {self.l} holds the same "
            "sensitive item."
        )

    def __str__(self) -> str:
        return f"{self.l}-diversity of {_some(self.sensitive_items)}"


def secret_items(promise: Definition) -> tuple[str, ...]:
    """Return the items that some part of a promise protects, each once."""
    found = [item for part in promise.parts for item in getattr(part, "secret", ())]
    return tuple(dict.fromkeys(found))


def item_names(value: Any) -> tuple[str, ...]:
    """Return a tuple of item names, or say what is wrong."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ParameterError(f"Items must be given as a list of names, not {value!r}.")
    names = tuple(str(item) for item in value)
    if not names or len(set(names)) != len(names):
        raise ParameterError("A list of items needs at least one name, and each only once.")
    return names


def _some(items: tuple[str, ...]) -> str:
    return items[0] if len(items) == 1 else f"{len(items)} sensitive items"
