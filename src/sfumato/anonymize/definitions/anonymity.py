"""k-anonymity: every record looks like at least k − 1 others on what people may know of it.

Samarati, Sweeney: Protecting Privacy when Disclosing Information, 1998. It is monotone: records
that join a class only make it larger.

`KAnonymity(3, on=("age", "zip"))` is about a combination of quasi-identifiers: the records that
agree on those alone must be three or more. Such groups span equivalence classes. A class of k
records lies within a group of at least k, so whoever judges classes one by one keeps the
promise too, if at a higher price.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

from sfumato.anonymize.definitions.definition import Definition, positive_integer
from sfumato.anonymize.definitions.option import Option, whole_number
from sfumato.data.wording import enumerated, some
from sfumato.errors import ParameterError
from sfumato.lazy import later

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes
else:
    np = later("numpy")  # a definition is also read for its option alone


def _read(text: str) -> Definition:
    names, mark, number = text.rpartition(":")
    on = tuple(name.strip() for name in names.split(",")) if mark else ()
    return KAnonymity(whole_number("-k", number), on)


@dataclass(frozen=True)
class KAnonymity(Definition):
    """Every record looks like at least k − 1 others on the quasi-identifiers.

    `on` restricts the promise to some of the quasi-identifiers, so that several key
    combinations can each have a k of their own.

    >>> import sfumato as sf
    >>> str(sf.KAnonymity(5))
    '5-anonymity'
    """

    k: int
    on: tuple[str, ...] = ()
    monotone: ClassVar[bool] = True
    union_closed: ClassVar[bool] = True
    shapes: ClassVar[frozenset[str] | None] = None
    option: ClassVar[Option | None] = Option(
        "k",
        ("-k", "--k"),
        "K",
        "k-anonymity: every record looks like at least k − 1 others. Give 'age,zip:5' for a "
        "combination of quasi-identifiers with a k of its own; may be repeated.",
        _read,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_integer("k", self.k))
        names: Any = self.on
        if isinstance(names, str):
            raise ParameterError(f"on must be a list of attributes; write on=['{names}'].")
        object.__setattr__(self, "on", tuple(names))

    @property
    def combination(self) -> tuple[str, ...]:
        """The quasi-identifiers it is restricted to, if any."""
        return self.on

    @property
    def minimum_size(self) -> int:
        """Return k, or 1 when only some attributes are meant: then smaller classes may hold."""
        return 1 if self.on else self.k

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where the class has at least k records."""
        return classes.sizes >= self.k

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Missing records, as a share of k."""
        return np.maximum(self.k - classes.sizes, 0) / self.k

    def to_json(self) -> dict[str, Any]:
        """Leave `on` out where all quasi-identifiers are meant."""
        entry = super().to_json()
        return entry if self.on else {name: entry[name] for name in entry if name != "on"}

    def in_words(self, names: Sequence[str] = ()) -> str:
        """Say how many others look the same, and on what."""
        others = some(self.k - 1, "other")
        known = enumerated(self.on or names) or "what others may know"
        return f"Every released record looks like at least {others} on {known}."

    def __str__(self) -> str:
        on = f" on {', '.join(self.on)}" if self.on else ""
        return f"{self.k}-anonymity{on}"


def k_of(promise: Definition) -> int | None:
    """Return the k that a promise states for all quasi-identifiers together; None if none."""
    return next((part.k for part in promise.parts if _is_whole(part)), None)


def with_k(promise: Definition, k: int) -> Definition:
    """Return the promise with another k; k-anonymity of key combinations stays as it is."""
    parts = [KAnonymity(k) if _is_whole(part) else part for part in promise.parts]
    if not any(_is_whole(part) for part in parts):
        parts.insert(0, KAnonymity(k))
    return reduce(and_, parts)


def _is_whole(part: Definition) -> TypeGuard[KAnonymity]:
    return isinstance(part, KAnonymity) and not part.on
