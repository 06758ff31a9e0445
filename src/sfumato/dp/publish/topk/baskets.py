"""Baskets: one set of items per unit, as whole numbers.

Contract: items are known by the names of a *domain*. If the domain is public, an item outside it is
left out, basket by basket; if it is not, ``names`` are those of the data and must not be shown
unless a mechanism says so: labels, spelt from the item alone and in an order of their own
(:mod:`sfumato.data.cells`). A basket is a set: an item in it counts once. With ``people``, all
baskets of a person are put together to one; those of a missing person are left out. Nothing here
raises because of one basket.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.cells import Listed, as_labels, cells_of, items_of, label_order
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Baskets:
    """Items of basket i are ``items[starts[i]:starts[i + 1]]``: places in ``names``, rising."""

    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    names: Sequence[Any]
    public: bool

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many items each basket has."""
        return np.diff(self.starts)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The basket of each item."""
        return np.repeat(np.arange(self.starts.size - 1), self.sizes)

    def supports(self) -> NDArray[np.int64]:
        """Count the baskets that hold each item of the domain."""
        return np.bincount(self.items, minlength=len(self.names)).astype(np.int64)

    def kept(self, chosen: NDArray[np.bool_]) -> Baskets:
        """Keep some of the items of the baskets."""
        sizes = np.bincount(self.owners[chosen], minlength=self.starts.size - 1)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Baskets(starts, self.items[chosen], self.names, self.public)


def baskets_of(source: Any, *, domain: Any = None, people: Any = None) -> Baskets:
    """Read baskets: a list of lists of items, or of single items; {person: items}; or sets.

    ``domain`` is the public list of items, or a number n for the items 0 … n−1.
    """
    if isinstance(source, Baskets):
        return source
    if getattr(source, "shape", None) == "sets":
        source = source.lists()
    owners, items, count = _flat(source)
    if people is not None:
        owners = _together(owners, people, count)
    if domain is None:
        names, places = _own_names(items)
    else:
        public = _domain(domain)
        names, places = public.values, _places(items, public)
    kept = (places >= 0) & (owners >= 0)
    return _built(owners[kept], places[kept], names, public=domain is not None)


def _flat(source: Any) -> tuple[NDArray[np.int64], list[Any] | NDArray[Any], int]:
    """Give basket and item of every entry, and how many baskets there are.

    What is no list is a basket of one item, and what is missing is a basket of none.
    """
    if isinstance(source, np.ndarray) and source.dtype.kind in "iu" and source.ndim == 1:
        return np.arange(source.size), source, source.size
    listed = [items_of(basket) for basket in _each(source)]
    sizes = np.fromiter(map(len, listed), dtype=np.int64, count=len(listed))
    owners = np.repeat(np.arange(sizes.size), sizes)
    return owners, list(chain.from_iterable(listed)), len(listed)


def _each(source: Any) -> Iterable[Any]:
    if isinstance(source, Mapping):
        return source.values()
    if isinstance(source, (str, bytes)) or not isinstance(source, Iterable):
        raise DataError("Baskets are a list of lists of items, or a mapping of person to items.")
    if isinstance(source, np.ndarray) and source.ndim > 1:
        return source
    return cells_of(source)


def _together(owners: NDArray[np.int64], people: Any, count: int) -> NDArray[np.int64]:
    """Give the person of every entry, −1 where a basket is nobody's."""
    labels = as_labels(cells_of(people))
    if len(labels) != count:
        raise DataError("people= has one name for each basket.")
    number: dict[Any, int] = {None: -1}
    codes = [number.setdefault(person, len(number) - 1) for person in labels]
    return np.array(codes, dtype=np.int64)[owners] if codes else owners


def _domain(domain: Any) -> Listed:
    if isinstance(domain, (int, np.integer)) and not isinstance(domain, bool):
        if domain < 1:
            raise ParameterError("A domain has at least one item.")
        return Listed(range(int(domain)))
    if isinstance(domain, (str, bytes)) or not isinstance(domain, Iterable):
        raise ParameterError("items= is the public list of items, or how many numbers there are.")
    listed = domain if isinstance(domain, range) else tuple(domain)
    if not listed:
        raise ParameterError("A public list of items has at least one, and names each once.")
    return Listed(listed, "The public list of items")


def _places(items: Any, domain: Listed) -> NDArray[np.int64]:
    numbers, known = _whole_numbers(items), _whole_numbers(list(domain.values))
    if numbers is None or known is None:
        return domain.places(items)
    order = np.argsort(known)
    spots = np.minimum(np.searchsorted(known[order], numbers), known.size - 1)
    return np.where(known[order][spots] == numbers, order[spots], -1)


def _own_names(items: Any) -> tuple[Sequence[Any], NDArray[np.int64]]:
    """Give the labels of items in their own order, and the place of each; −1 for what has none."""
    numbers = _whole_numbers(items)
    if numbers is not None:
        names, places = np.unique(numbers, return_inverse=True)
        return names.tolist(), places.astype(np.int64)
    labels = as_labels(items)
    named = sorted(set(labels) - {None}, key=label_order)
    place: dict[Any, int] = {name: k for k, name in enumerate(named)}
    return named, np.array([place.get(label, -1) for label in labels], dtype=np.int64)


def _whole_numbers(items: Any) -> NDArray[np.int64] | None:
    if isinstance(items, np.ndarray):
        return items.astype(np.int64) if items.dtype.kind in "iu" else None
    if set(map(type, items)) != {int}:
        return None
    try:
        return np.array(items, dtype=np.int64)
    except OverflowError:
        return None


def _built(
    owners: NDArray[np.int64], places: NDArray[np.int64], names: Sequence[Any], *, public: bool
) -> Baskets:
    """Sort entries by basket and item, and keep each pair once."""
    width = max(len(names), 1)
    pairs = np.sort(owners.astype(np.int64) * width + places)
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    baskets, items = np.divmod(pairs, width)
    ends = np.flatnonzero(np.diff(baskets, append=-1))
    starts = np.concatenate([[0], ends + 1]).astype(np.int64) if items.size else np.zeros(1, int)
    return Baskets(starts, items, names, public)
