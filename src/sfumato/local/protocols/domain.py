"""The values a person may report, agreed in public before anyone answers.

Contract: a :class:`Domain` is an ordered set of at least two distinct values, numbered from 0.
It comes from a number (the whole numbers below it), a ``range`` (kept as one, so 2⁴⁸ values cost
nothing) or any sequence of hashable labels. ``encode`` turns values into numbers and refuses what
is not in the domain, without quoting it: the domain is public, an answer is not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sfumato.errors import DataError, ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_LISTED = 1 << 24
"""More values than this are not held in memory one by one."""


@dataclass(frozen=True)
class Domain(Shown):
    """Distinct values in a fixed order."""

    values: Sequence[Any]

    def __post_init__(self) -> None:
        if not isinstance(self.values, range):
            object.__setattr__(self, "values", tuple(self.values))
        if len(self.values) < 2:
            raise ParameterError(
                f"A domain has at least two values, and {len(self.values)} was given; with a "
                "single possible answer there is nothing to ask."
            )
        if len(self.values) > 1 << 62:
            raise ParameterError("A domain has at most 2^62 values.")
        if not isinstance(self.values, range) and len(self._numbers) < len(self.values):
            raise ParameterError("The values of a domain are distinct, and one was given twice.")

    @classmethod
    def of(cls, given: DomainLike) -> Domain:
        """Read a domain: the number of values, a range or the values themselves."""
        if isinstance(given, Domain):
            return given
        if isinstance(given, (bool, str, bytes)):
            raise ParameterError(
                f"A domain is a number of values, a range or a list of values, not {given!r}."
            )
        if isinstance(given, (int, np.integer)):
            if given < 2:
                raise ParameterError(f"A domain has at least two values, and {given} was given.")
            return cls(range(int(given)))
        if isinstance(given, range):
            return cls(given)
        if isinstance(given, np.ndarray):
            return cls(given.tolist())
        return cls(tuple(given))

    def __len__(self) -> int:
        return len(self.values)

    def __contains__(self, value: object) -> bool:
        return value in (self.values if isinstance(self.values, range) else self._numbers)

    def number(self, value: Hashable) -> int:
        """Give the number of one value."""
        return int(self.encode([value])[0])

    def encode(self, values: Any) -> npt.NDArray[np.int64]:
        """Give the number of every value of a sequence or array."""
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise DataError("Values are given as a list or an array, one per person.")
        if isinstance(self.values, range):
            return self._encode_whole_numbers(self.values, values)
        plain = values.tolist() if hasattr(values, "tolist") else list(values)
        numbers = self._numbers
        try:
            codes = np.array([numbers.get(value, -1) for value in plain], dtype=np.int64)
        except TypeError:
            raise DataError("Values are single labels; a list or table was found inside.") from None
        _refuse_strangers(codes < 0)
        return codes

    def _encode_whole_numbers(self, span: range, values: Any) -> npt.NDArray[np.int64]:
        array = np.asarray(values)
        if not array.size:
            return np.zeros(0, dtype=np.int64)
        if array.ndim != 1 or array.dtype.kind not in "iub":
            raise DataError(
                "This domain holds whole numbers: give one whole number per person, in a list or "
                f"an array of one dimension (these are of type {array.dtype.name})."
            )
        if array.dtype.kind == "u" and array.dtype.itemsize == 8:
            _refuse_strangers(array > np.uint64((1 << 63) - 1))
        codes = array.astype(np.int64)
        least, most = min(span[0], span[-1]), max(span[0], span[-1])
        if int(codes.min()) < least or int(codes.max()) > most:
            _refuse_strangers((codes < least) | (codes > most))
        if (span.start, span.step) == (0, 1):
            return codes
        steps, rest = np.divmod(codes - span.start, span.step)
        _refuse_strangers(rest != 0)
        return np.asarray(steps, dtype=np.int64)

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        try:
            return {value: number for number, value in enumerate(self.values)}
        except TypeError:
            raise ParameterError(
                "The values of a domain are single labels such as text or numbers."
            ) from None

    def __repr__(self) -> str:
        return f"Domain of {len(self):,} values"


DomainLike: TypeAlias = Domain | Iterable[Any] | int
"""What a domain can be read from."""


def encoded(text: str) -> bytes:
    """Give the UTF-8 bytes of a text; one that has none is refused without being quoted."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        pass  # raised outside, so that no traceback carries the text
    raise DataError("A text has half of a surrogate pair, which is no character; repair it first.")


def _refuse_strangers(strange: npt.NDArray[np.bool_]) -> None:
    count = int(strange.sum())
    if count:
        raise DataError(
            f"{count} of {strange.size} values are not in the declared domain; declare every "
            "possible answer beforehand (for example with a value 'other'), or map them first."
        )
