"""Many outputs of any kind, as columns that events can be told from.

Contract: ``Outputs`` holds n outputs. ``shapes`` gives each a code for its structure and types
(a float, a list of three floats, "raises KeyError"), so that a different type of output or an
exception is something an event can see. ``numbers`` are the numbers in it from left to right,
``words`` codes of its texts; an output with fewer of them has NaN or 0 there. ``whole`` codes the
output completely: outputs with the same code are the same, but for collisions of 64 bits, which
can only hide a difference, never make one. What is read from an output depends on that output
alone, never on the others in its batch; a bound on an event's probability needs that.

An array of n numbers, or n rows of them, is taken as it is; NaN in it marks what is missing.
Everything else is read object by object: numbers, texts, tuples, lists, sets, mappings, arrays,
dataclasses and plain objects by their parts, exceptions by type and message, the rest by its
``repr`` without memory addresses.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.compiled import kernel
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

WIDEST = 64
"""More numbers or texts than these are summed up: by sum, least, largest and a code of all."""

_DIGITS = 46
"""Binary digits of a number that count when it stands for a real one."""

_FINE = 2.0**-33
"""The finest difference between real numbers, beside how far they are spread."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_RAISES = re.compile(r"raises (\w+)")
_DEEPEST = 6
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SCRAMBLE = np.uint64(0xBF58476D1CE4E5B9)
_PLACES = np.array([1 << i for i in range(WIDEST)], dtype=np.uint64)
"""A binary digit for every column, so that a number stands for a set of columns."""


@dataclass(frozen=True)
class Raised:
    """An exception as an output: an observer sees its type and its message."""

    kind: str
    message: str

    def __str__(self) -> str:
        return f"raises {self.kind}({self.message!r})"


@dataclass(frozen=True, eq=False)
class Outputs:
    """n outputs in columns."""

    shapes: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.float64]
    words: npt.NDArray[np.int64]
    names: Mapping[int, str]
    """What a code of a shape or a text stands for."""
    floats: bool
    """Whether some numbers came as floating-point numbers, and so have low bits."""

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def scalar(self) -> bool:
        """Whether every output is one number of one type, so that it has an order."""
        one_shape = len(self.shapes) > 0 and bool((self.shapes == self.shapes[0]).all())
        return one_shape and self.numbers.shape[1] == 1 and self.words.shape[1] == 0

    def all_raised(self) -> bool:
        """Tell whether every output is an exception."""
        return all("raises " in self.names[int(code)] for code in np.unique(self.shapes))

    def exceptions(self) -> set[str]:
        """Name the exceptions among the outputs."""
        shapes = [self.names[int(code)] for code in np.unique(self.shapes)]
        return {kind for shape in shapes for kind in _RAISES.findall(shape)}

    def whole(self) -> npt.NDArray[np.int64]:
        """Give each output a code that differs when the outputs do."""
        numbers = np.ascontiguousarray(self.numbers)
        code = _mix_in(self.shapes.view(np.uint64) * _MIX, numbers, numbers.view(np.uint64))
        for column in range(self.words.shape[1]):
            words = np.ascontiguousarray(self.words[:, column]).view(np.uint64)
            code = np.where(words == 0, code, (code ^ words) * _MIX)
        return code.view(np.int64)

    def rounded(self, unit: float) -> Outputs:
        """Read floating-point numbers as the real numbers they stand for, to ten or more digits."""
        if not self.floats or unit <= 0:
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            near = self.numbers * (1 / unit)  # the unit is a power of two
            np.rint(near, out=near)
            near *= unit
            if not _small(near, unit * 2.0**_DIGITS):
                near = np.where(np.isfinite(self.numbers), near, np.nan)
                mantissas, exponents = np.frexp(near)
                near = np.ldexp(np.rint(np.ldexp(mantissas, _DIGITS)), exponents - _DIGITS)
                near = np.where(np.isfinite(near), near, self.numbers)
        return dataclasses.replace(self, numbers=near + 0.0)  # no negative zero

    def part(self, rows: slice) -> Outputs:
        """Give a run of the outputs."""
        return dataclasses.replace(
            self, shapes=self.shapes[rows], numbers=self.numbers[rows], words=self.words[rows]
        )


def _small(numbers: npt.NDArray[np.float64], most: float) -> bool:
    """Tell whether all numbers are that small, so that none has more digits than count."""
    if numbers.size == 0:
        return True
    low, high = np.fmin.reduce(numbers, axis=None), np.fmax.reduce(numbers, axis=None)
    return bool(-most < low and high < most) or bool(np.isnan(numbers).all())


def read(outputs: Any, count: int) -> Outputs | None:
    """Read a batch of ``count`` outputs; None if there are not so many of them."""
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf":
        return _read_array(outputs) if outputs.ndim and len(outputs) == count else None
    if not hasattr(outputs, "__len__") or not hasattr(outputs, "__iter__"):
        return None
    items = list(outputs)
    return read_objects(items) if len(items) == count else None


def _read_array(array: npt.NDArray[Any]) -> Outputs:
    rows = len(array)
    kind = f"array of {array.dtype}{list(array.shape[1:])}" if array.ndim > 1 else f"{array.dtype}"
    numbers = array.reshape(rows, -1).astype(np.float64, copy=False)
    if numbers.shape[1] > WIDEST:
        numbers = _summed_up(numbers)
    shapes, names = _shapes_of(numbers, kind)
    words = np.empty((rows, 0), dtype=np.int64)
    return Outputs(shapes, numbers, words, names, array.dtype.kind == "f")


def _shapes_of(
    numbers: npt.NDArray[np.float64], kind: str
) -> tuple[npt.NDArray[np.int64], dict[int, str]]:
    """Give all rows one shape, but for where NaN stands in for a missing number."""
    code = code_of(kind)
    shapes = np.full(len(numbers), code, dtype=np.int64)
    missing = np.isnan(numbers)
    if not missing.any():
        return shapes, {code: kind}
    patterns = missing @ _PLACES[: numbers.shape[1]]
    _, rows, which = np.unique(patterns, return_index=True, return_inverse=True)
    names = [_with_gaps(kind, missing[row]) for row in rows]
    codes = np.array([code_of(name) for name in names], dtype=np.int64)
    return codes[which.reshape(-1)], dict(zip(codes.tolist(), names, strict=True))


def _with_gaps(kind: str, missing: npt.NDArray[np.bool_]) -> str:
    places = np.flatnonzero(missing).tolist()
    return f"{kind} with NaN at {places}" if places else kind


def read_objects(items: Sequence[Any]) -> Outputs:
    """Read outputs one by one."""
    leaves = [_leaves(item) for item in items]
    width = max((len(numbers) for _, numbers, _ in leaves), default=0)
    texts = max((len(words) for _, _, words in leaves), default=0)
    wide = np.full((len(items), width), np.nan)
    codes = np.zeros((len(items), texts), dtype=np.int64)
    names: dict[int, str] = {}
    shapes = np.empty(len(items), dtype=np.int64)
    for i, (shape, numbers, words) in enumerate(leaves):
        shapes[i] = code = code_of(shape)
        names[code] = shape
        if numbers:
            wide[i, : len(numbers)] = numbers
        for j, word in enumerate(words):
            codes[i, j] = code = code_of(word)
            names[code] = word
    return Outputs(shapes, wide, codes, names, any("float" in name for name in names.values()))


def _summed_up(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Keep the first numbers, and the sum, the least and the largest of all."""
    known = np.where(np.isnan(numbers), 0.0, numbers)
    total = np.stack([known.sum(axis=1), known.min(axis=1), known.max(axis=1)], axis=1)
    wide: npt.NDArray[np.float64] = np.concatenate([numbers[:, : WIDEST - 3], total], axis=1)
    return wide


def _leaves(item: Any) -> tuple[str, list[float], list[str]]:
    kind = type(item)
    if kind is float or kind is int or kind is bool or kind is np.float64:
        number = _number(item)
        if number is not None and number == number:  # noqa: PLR0124 - not NaN
            return kind.__name__, [number], []
    numbers: list[float] = []
    words: list[str] = []
    shape = _walk(item, numbers, words, 0)
    # Summed up here, for each output alone, so that its columns never depend on its company.
    if len(numbers) > WIDEST:
        numbers = _summed_up(np.array([numbers]))[0].tolist()
    if len(words) > WIDEST:
        words = [*words[: WIDEST - 1], "\0".join(words[WIDEST - 1 :])]
    return shape, numbers, words


def _walk(item: Any, numbers: list[float], words: list[str], depth: int) -> str:
    """Append the parts of an output and give its shape."""
    name = type(item).__name__
    if isinstance(item, (bool, int, float, np.number, np.bool_)) and not isinstance(item, Enum):
        return _walk_number(item, numbers, words)
    if item is None:
        return "None"
    if isinstance(item, Raised):
        words.append(item.message)
        return f"raises {item.kind}"
    if isinstance(item, np.ndarray) and item.dtype.kind in "biuf":
        flat = item.reshape(-1).astype(np.float64)
        numbers.extend(flat.tolist())
        return _with_gaps(f"array of {item.dtype}{list(item.shape)}", np.isnan(flat))
    if depth < _DEEPEST:
        parts = _parts(item)
        if parts is not None:
            inner = ", ".join(_walk(part, numbers, words, depth + 1) for part in parts)
            return f"{name}({inner})"
    words.append(item if isinstance(item, str) else _ADDRESS.sub("", repr(item)))
    return name


def _walk_number(item: Any, numbers: list[float], words: list[str]) -> str:
    number = _number(item)
    if number is None or isinstance(item, np.complexfloating):
        words.append(repr(item))
    elif number != number:  # noqa: PLR0124 - NaN, which the shape has to tell
        return f"{type(item).__name__} NaN"
    else:
        numbers.append(number)
    return type(item).__name__


def _number(item: Any) -> float | None:
    """Give a number as a float, or None where a float cannot hold it."""
    try:
        number = float(item)
    except (OverflowError, TypeError, ValueError):
        return None
    return None if isinstance(item, int) and int(number) != item else number


def _parts(item: Any) -> list[Any] | None:
    if isinstance(item, (str, bytes, type, Enum)):
        return None
    if isinstance(item, (tuple, list)):
        return list(item)
    if isinstance(item, np.ndarray):
        return list(item) if item.ndim else None
    if isinstance(item, (set, frozenset)):
        return sorted(item, key=repr)
    if isinstance(item, Mapping):
        return [part for key in sorted(item, key=repr) for part in (key, item[key])]
    if dataclasses.is_dataclass(item):
        return [getattr(item, field.name) for field in dataclasses.fields(item)]
    shortened = isinstance(item, Shown)  # its text leaves most of it out
    plain = shortened or getattr(type(item), "__repr__", None) is object.__repr__
    if plain and hasattr(item, "__dict__"):
        return [part for key in sorted(vars(item)) for part in (key, vars(item)[key])]
    return None


@lru_cache(maxsize=65536)
def code_of(text: str) -> int:
    """Give a text a code of 64 bits, the same in every process; never 0, which means absent."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1


def _plain_mix_in(
    code: npt.NDArray[np.uint64], numbers: npt.NDArray[np.float64], bits: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    for column in range(numbers.shape[1]):
        own = bits[:, column]
        scrambled = (own ^ (own >> np.uint64(29))) * _SCRAMBLE
        scrambled ^= scrambled >> np.uint64(32)
        mixed = (code ^ scrambled) * _MIX
        code = np.where(np.isnan(numbers[:, column]), code, mixed)
    return code


@kernel(_plain_mix_in, loss=lambda _code, numbers, _bits: 6e-9 * numbers.size)
def _mix_in(code, numbers, bits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Mix every row's numbers into its code, one after the other, but for those that are absent."""
    mixed = np.empty_like(code)
    for i in range(numbers.shape[0]):
        mixing = code[i]
        for c in range(numbers.shape[1]):
            if not np.isnan(numbers[i, c]):
                own = (bits[i, c] ^ (bits[i, c] >> np.uint64(29))) * _SCRAMBLE
                mixing = (mixing ^ own ^ (own >> np.uint64(32))) * _MIX
        mixed[i] = mixing
    return mixed


def joined(parts: Sequence[Outputs]) -> Outputs:
    """Put several runs of outputs one behind the other."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.numbers.shape[1] for part in parts)
    texts = max(part.words.shape[1] for part in parts)
    names: dict[int, str] = {}
    for part in parts:
        names |= part.names
    return Outputs(
        np.concatenate([part.shapes for part in parts]),
        np.concatenate([_widened(part.numbers, width, np.nan) for part in parts]),
        np.concatenate([_widened(part.words, texts, 0) for part in parts]),
        names,
        any(part.floats for part in parts),
    )


def unit_of(samples: Sequence[Outputs]) -> float:
    """Give a step far finer than any spread of numbers, and far coarser than their rounding."""
    spreads = []
    for outputs in samples:
        for column in outputs.numbers.T:
            known = column[np.isfinite(column)]
            if known.size:
                low, high = np.quantile(known, [0.25, 0.75])
                spreads.append(float(high - low) or float(np.abs(known).max()))
    least = min((spread for spread in spreads if 0 < spread < np.inf), default=1.0)
    return float(max(2.0 ** np.floor(np.log2(least)) * _FINE, 2.0**-1000))


def _widened(columns: npt.NDArray[Any], width: int, fill: float) -> npt.NDArray[Any]:
    if columns.shape[1] == width:
        return columns
    wide = np.full((len(columns), width), fill, dtype=columns.dtype)
    wide[:, : columns.shape[1]] = columns
    return wide
