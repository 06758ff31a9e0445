"""What `sf.read` may be told for each shape, as a type checker and an editor know it.

Contract: each type names the options of one shape's reader, for slips that are found before a
program runs; `check_reading` finds the others. What an option means, its reader says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class ReaderOptions(TypedDict, total=False):
    """What every reader may be told: what to call the data."""

    name: str | None


class TableReading(ReaderOptions, total=False):
    """How a CSV file, a frame or a mapping of columns becomes a table."""

    delimiter: str | None
    encoding: str | None
    types: Mapping[str, str] | None


class HybridReading(TableReading, total=False):
    """How rows with sets and places are read."""

    bounds: Mapping[str, tuple[float, float, float, float]] | None


class SetsReading(TableReading, total=False):
    """How sets of items are read."""

    hierarchy: Any
    form: Literal["lines", "long", "list"]
    person: str
    items: str
    separator: str


class TreesReading(ReaderOptions, total=False):
    """How records that branch are read."""


class GraphReading(ReaderOptions, total=False):
    """How edges are read, where something in them would be refused."""

    nodes: Any
    loops: Literal["drop"] | None
    duplicates: Literal["merge"] | None
    direction: Literal["ignore"] | None


class TracesReading(TableReading, total=False):
    """How points of people become traces."""

    unit: Literal["trip", "person"] | None
    gap: float | None
    degrees: bool | None
    bounds: Sequence[float] | str | None
    person: str | None
    x: str | None
    y: str | None
    time: str | None
    trip: str | None


def check_reading(kind: type, options: Iterable[str]) -> None:
    """Refuse what the reader of a shape cannot be told, with the name that was probably meant."""
    known = sorted(kind.__optional_keys__)  # type: ignore[attr-defined]
    for option in options:
        if option not in known:
            raise ParameterError(
                f"sf.read has no option '{option}' for these data; it has schema, shape, "
                f"{listed(known)}.{did_you_mean(option, ['schema', 'shape', *known])}"
            )
