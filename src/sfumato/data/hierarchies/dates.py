"""Hierarchies over dates: day → month → quarter → year → decade → *.

Contract: cells are dates as ISO 8601 writes them (`2024-03-15`, with or without a time of
day), or as `format` says in the codes of `strptime`. Leaves stand in order of time; the
span of a node is its number of days, where the leaves are days.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sfumato.data.hierarchies.levels import Level, Rule, build, level_of, present_values
from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sfumato.data.hierarchies.hierarchy import Hierarchy

Unit = Literal["day", "month", "quarter", "year", "decade"]
UNITS: tuple[Unit, ...] = ("day", "month", "quarter", "year", "decade")
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.,]+([zZ]|[+-][0-9:]+)?)?")


def day_of(text: str, pattern: str | None = None) -> datetime | None:
    """Return the moment a cell names, without its zone; None if it names none."""
    try:
        if pattern is not None:
            return datetime.strptime(text, pattern).replace(tzinfo=None)  # noqa: DTZ007 - calendar
        if _ISO.fullmatch(text):
            return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None
    return None


class Dates(Rule):
    """Calendar units above each day; `levels` names those wanted, the finest first."""

    name: ClassVar[str] = "dates"

    levels: tuple[Unit, ...] = Field(default=("month", "quarter", "year", "decade"), min_length=1)
    format: str | None = None

    @model_validator(mode="after")
    def _rising(self) -> Self:
        ranks = [UNITS.index(unit) for unit in self.levels]
        if ranks != sorted(set(ranks)):
            raise ValueError(
                f"'levels' must rise in the order {', '.join(UNITS)}, each at most once."
            )
        return self

    def over(
        self,
        values: Iterable[str],
        attribute: str,
        counts: Mapping[str, int] | None = None,  # noqa: ARG002 - the calendar ignores frequencies
    ) -> Hierarchy:
        """Return the calendar over the distinct `values`."""
        present, missing = present_values(values, attribute)
        read = [(day_of(text, self.format), text) for text in present]
        moments = sorted((moment, text) for moment, text in read if moment is not None)
        if len(moments) < len(read):
            raise HierarchyError(
                f"Attribute '{attribute}' has {len(read) - len(moments)} distinct value(s) that "
                f"are not dates as {self.format or 'YYYY-MM-DD'} says; give the format, for "
                "instance '%d.%m.%Y', or mend the data."
            )
        days = [moment.date() for moment, _ in moments]
        whole = all(
            moment == datetime.combine(moment, datetime.min.time()) for moment, _ in moments
        )
        units = self.levels
        if not whole and units[0] != "day":
            units = ("day", *units)
        levels = [_level(days, unit, spans=whole) for unit in units]
        leaves = [text for _, text in moments]
        return build(leaves, levels, missing=missing, source=self.name, ordered=True)


def _level(days: Sequence[date], unit: Unit, *, spans: bool) -> Level:
    level = level_of([_label(day, unit) for day in days])
    if not spans:
        return level
    starts = {_label(day, unit): _start(day, unit) for day in days}
    lengths = [float((_end(starts[label], unit) - starts[label]).days) for label in level.labels]
    return Level(level.nodes, level.labels, lengths)


def _label(day: date, unit: Unit) -> str:
    match unit:
        case "day":
            return day.isoformat()
        case "month":
            return f"{day.year:04}-{day.month:02}"
        case "quarter":
            return f"{day.year:04}-Q{(day.month + 2) // 3}"
        case "year":
            return f"{day.year:04}"
        case "decade":
            return f"{day.year // 10 * 10:04}s"


def _start(day: date, unit: Unit) -> date:
    match unit:
        case "day":
            return day
        case "month":
            return day.replace(day=1)
        case "quarter":
            return date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
        case "year":
            return date(day.year, 1, 1)
        case "decade":
            return date(max(day.year // 10 * 10, 1), 1, 1)


def _end(start: date, unit: Unit) -> date:
    """Return the first day after the unit that begins at `start`."""
    if unit == "day":
        return start + timedelta(days=1)
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    count = start.year * 12 + start.month - 1 + months
    return date(min(count // 12, date.max.year), count % 12 + 1, 1)
