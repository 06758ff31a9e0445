"""What two releases of overlapping data reveal together that neither reveals alone.

Each release may keep its promise, and yet a person who is in both can be narrowed down:
that person's record is in a class of the first and in a class of the second release, and
the sensitive value is one that both classes have. (Ganta, Kasiviswanathan, Smith:
Composition Attacks and Auxiliary Information in Data Privacy, KDD 2008.)

`overlap` looks at every pair of classes whose generalised tuples can stand for
the same person, and reports the pairs where both classes offer several values but only one
in common, or where fewer than k people can be in both (for each value, no more than the
smaller of its two counts). Without keys nobody can tell whether such a person exists, so
a report is a warning, and silence is no proof for people known to be in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.definition import positive_integer
from sfumato.audit.verification.checks import bottleneck
from sfumato.data.schema import Schema
from sfumato.errors import SchemaError
from sfumato.released.compatibility import compatible
from sfumato.released.view import see_people
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.audit.verification.rows import Bottleneck
    from sfumato.released.evidence import Evidence, Spread


@dataclass(frozen=True)
class OverlapPair:
    """Two classes that give more away together: how many values and people they can share.

    `number` is the number of each class in its release; a pair is listed once per sensitive
    attribute that it gives away.
    """

    first: Bottleneck
    second: Bottleneck
    attribute: str
    common_values: int
    people: int
    number: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        return (
            f"[{self.first}] with [{self.second}]: {self.common_values} common value(s) of "
            f"{self.attribute}, at most {self.people} people in both"
        )


@dataclass(frozen=True)
class Overlap(Shown):
    """What comparing two releases showed."""

    pairs: tuple[OverlapPair, ...]
    compared: int
    k: int

    @property
    def holds(self) -> bool:
        """Whether no pair of classes gives more away together than each does alone."""
        return not self.pairs

    @property
    def table(self) -> list[tuple[str, str]]:
        """Name and figure of what was found, to be printed."""
        single = _class_pairs(p for p in self.pairs if p.common_values == 1)
        few = _class_pairs(p for p in self.pairs if p.people < self.k)
        return [
            ("pairs of classes one person can be in", f"{self.compared}"),
            ("pairs with a single sensitive value in common", f"{single}"),
            (f"pairs with fewer than {self.k} people in common", f"{few}"),
        ]

    @property
    def warning(self) -> str:
        """What to tell whoever wants to publish the second release; empty if nothing."""
        if self.holds:
            return ""
        return (
            f"{_class_pairs(self.pairs)} of {self.compared} pairs of classes reveal more together "
            f"than each alone, for instance {self.pairs[0]}."
        )

    def __str__(self) -> str:
        alright = f"{self.compared} pairs of classes compared, none reveals more together"
        return self.warning or alright


def _class_pairs(pairs: Iterable[OverlapPair]) -> int:
    """Count pairs of classes, whatever the number of attributes they give away."""
    return len({pair.number for pair in pairs})


def overlap(
    first: Any,
    second: Any,
    schema: str | Path | Schema,
    *,
    k: int = 2,
    second_schema: str | Path | Schema | None = None,
) -> Overlap:
    """Compare two releases, files or frames, class by class.

    `k` is the fewest people that two classes may have in common. `second_schema` is for a
    second release with attributes of its own; only what both have is compared.
    """
    positive_integer("k", k)
    rules = _schema(schema)
    others = rules if second_schema is None else _schema(second_schema)
    first_seen, second_seen = _seen(first, rules), _seen(second, others)
    quasi = [name for name in first_seen.quasi if name in second_seen.quasi]
    sensitive = [name for name in first_seen.sensitive if name in second_seen.sensitive]
    if not quasi or not sensitive:
        raise SchemaError(
            "The two releases have no quasi-identifier or no sensitive attribute in common, so "
            "there is nothing to compare."
        )
    meetings = [_Meeting.between(first_seen, second_seen, name, rules) for name in quasi]
    links = {
        name: _Links.between(first_seen.sensitive[name], second_seen.sensitive[name])
        for name in sensitive
    }
    return _compared(first_seen, second_seen, meetings, links, k)


def _seen(release: Any, rules: Schema) -> Evidence:
    """Look at a release, people counted where somebody has several records."""
    evidence: Evidence = see_people(release, rules, shape="table").evidence
    return evidence


def _schema(schema: str | Path | Schema) -> Schema:
    return schema if isinstance(schema, Schema) else Schema.read(schema)


def _compared(
    first: Evidence,
    second: Evidence,
    meetings: list[_Meeting],
    links: dict[str, _Links],
    k: int,
) -> Overlap:
    pairs: list[OverlapPair] = []
    compared = 0
    for c in range(first.classes):
        meeting = np.logical_and.reduce([each.of(c) for each in meetings])
        compared += int(meeting.sum())
        for name, link in links.items():
            common, people = link.of(c)
            alone = (common == 1) & (link.offered[c] > 1) & (link.also_offered > 1)
            few = (people > 0) & (people < k) & (first.sizes[c] >= k) & (second.sizes >= k)
            pairs += [
                OverlapPair(
                    bottleneck(first, c),
                    bottleneck(second, int(d)),
                    name,
                    int(common[d]),
                    int(people[d]),
                    (c, int(d)),
                )
                for d in np.flatnonzero(meeting & (alone | few))
            ]
    return Overlap(tuple(pairs), compared, k)


@dataclass(frozen=True, eq=False)
class _Meeting:
    """Which labels of one attribute can stand for the same value in both releases."""

    labels: NDArray[np.bool_]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @classmethod
    def between(cls, first: Evidence, second: Evidence, name: str, schema: Schema) -> _Meeting:
        a, b = first.quasi.index(name), second.quasi.index(name)
        labels = compatible(first.labels[a], second.labels[b], schema.attribute(name).hierarchy)
        return cls(labels, first.codes[:, a], second.codes[:, b])

    def of(self, c: int) -> NDArray[np.bool_]:
        """Return for each second class whether one person can be in it and in class `c`."""
        row: NDArray[np.bool_] = self.labels[self.first[c]]
        return row[self.second]


@dataclass(frozen=True, eq=False)
class _Links:
    """The classes of two releases joined by the values of one sensitive attribute."""

    first: Spread
    starts: NDArray[np.int64]
    class_: NDArray[np.int64]
    count: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    offered: NDArray[np.int64]
    also_offered: NDArray[np.int64]

    @classmethod
    def between(cls, first: Spread, second: Spread) -> _Links:
        order = np.argsort(second.value, kind="stable")
        place = {text: i for i, text in enumerate(second.values)}
        code = np.array([place.get(text, -1) for text in first.values], dtype=np.int64)
        value = second.value[order]
        begin = np.searchsorted(value, code, side="left")
        end = np.where(code < 0, begin, np.searchsorted(value, code, side="right"))
        return cls(
            first,
            np.searchsorted(first.class_, np.arange(len(first.sizes) + 1)),
            second.class_[order],
            second.count[order],
            begin,
            end,
            np.bincount(first.class_, minlength=len(first.sizes)).astype(np.int64),
            np.bincount(second.class_, minlength=len(second.sizes)).astype(np.int64),
        )

    def of(self, c: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each second class the values it shares with class `c`, and the people."""
        common = np.zeros(len(self.also_offered), dtype=np.int64)
        people = np.zeros(len(self.also_offered), dtype=np.int64)
        for entry in range(self.starts[c], self.starts[c + 1]):
            value = self.first.value[entry]
            found = slice(self.begin[value], self.end[value])
            common[self.class_[found]] += 1
            people[self.class_[found]] += np.minimum(self.count[found], self.first.count[entry])
        return common, people
