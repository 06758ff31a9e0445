"""Baskets: one set of items per unit, as whole numbers.

Contract: items are known by the names of a *domain*. If the domain is public, an item outside it is
left out, basket by basket; if it is not, ``names`` are those of the data and must not be shown
unless a mechanism says so. A basket is a set: an item in it counts once. With ``people``, all
baskets of a person are put together to one. Nothing here raises because of one basket.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

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
    owners, items = _flat(source)
    if people is not None:
        owners = _together(owners, people, _length(source))
    if domain is None:
        names, places = _own_names(items)
        return _built(owners, places, names, public=False)
    public = _domain(domain)
    places = _places(items, public)
    kept = places >= 0
    return _built(owners[kept], places[kept], public, public=True)


def _flat(source: Any) -> tuple[NDArray[np.int64], list[Any] | NDArray[Any]]:
    """Give basket and item of every entry; what is no list is a basket of one item."""
    baskets = list(source.values()) if isinstance(source, Mapping) else source
    if isinstance(baskets, (str, bytes)) or not isinstance(baskets, Iterable):
        raise DataError("Baskets are a list of lists of items, or a mapping of person to items.")
    if isinstance(baskets, np.ndarray) and baskets.dtype != object and baskets.ndim == 1:
        return np.arange(baskets.size), baskets
    listed = [_members(basket) for basket in baskets]
    sizes = np.fromiter(map(len, listed), dtype=np.int64, count=len(listed))
    owners = np.repeat(np.arange(sizes.size), sizes)
    items = list(chain.from_iterable(listed))
    if type(None) in set(map(type, items)):
        kept = [i for i, item in enumerate(items) if item is not None]
        return owners[kept], [items[i] for i in kept]
    return owners, items


def _members(basket: Any) -> Collection[Any]:
    if isinstance(basket, (list, tuple, set, frozenset)):
        return basket
    if basket is None:
        return ()
    if isinstance(basket, (str, bytes)) or not isinstance(basket, Iterable):
        return (basket,)
    return list(basket)


def _length(source: Any) -> int:
    return len(source)


def _together(owners: NDArray[np.int64], people: Any, count: int) -> NDArray[np.int64]:
    listed = people.tolist() if hasattr(people, "tolist") else list(people)
    if len(listed) != count:
        raise DataError("people= has one name for each basket.")
    number: dict[Any, int] = {}
    codes = np.array([number.setdefault(person, len(number)) for person in listed], dtype=np.int64)
    return codes[owners] if codes.size else owners


def _domain(domain: Any) -> Sequence[Any]:
    if isinstance(domain, (int, np.integer)) and not isinstance(domain, bool):
        if domain < 1:
            raise ParameterError("A domain has at least one item.")
        return range(int(domain))
    if isinstance(domain, (str, bytes)) or not isinstance(domain, Iterable):
        raise ParameterError("items= is the public list of items, or how many numbers there are.")
    listed = domain if isinstance(domain, range) else tuple(domain)
    if not listed or (not isinstance(listed, range) and len(set(listed)) < len(listed)):
        raise ParameterError("A public list of items has at least one, and names each once.")
    return listed


def _places(items: Any, domain: Sequence[Any]) -> NDArray[np.int64]:
    numbers, known = _whole_numbers(items), _whole_numbers(list(domain))
    if numbers is not None and known is not None:
        order = np.argsort(known)
        spots = np.minimum(np.searchsorted(known[order], numbers), known.size - 1)
        return np.where(known[order][spots] == numbers, order[spots], -1)
    place = {item: i for i, item in enumerate(domain)}
    listed = items.tolist() if isinstance(items, np.ndarray) else items
    return np.array([_looked_up(place, item) for item in listed], dtype=np.int64)


def _looked_up(place: Mapping[Any, int], item: Any) -> int:
    try:
        return place.get(item, -1)
    except TypeError:  # an item that cannot be one of a domain
        return -1


def _own_names(items: Any) -> tuple[Sequence[Any], NDArray[np.int64]]:
    numbers = _whole_numbers(items)
    if numbers is not None:
        names, places = np.unique(numbers, return_inverse=True)
        return names.tolist(), places.astype(np.int64)
    found: dict[Any, int] = {}
    listed = items.tolist() if isinstance(items, np.ndarray) else items
    texts = [item if isinstance(item, (str, int, float)) else str(item) for item in listed]
    places = np.array([found.setdefault(item, len(found)) for item in texts], dtype=np.int64)
    return list(found), places


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
