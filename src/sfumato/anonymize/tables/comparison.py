"""What would each way cost: algorithms × k × suppression, tried beside each other.

Contract: nothing is released; every line is what `sfumato.anonymize` would decide with the same
settings, under the same objective, so that losses can be compared. A setting that no release can
keep has no loss. Counts of a table are facts about people: a comparison is for its owner.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato.anonymize.definitions.definition import number_between
from sfumato.anonymize.tables.release import ALGORITHMS, algorithm_named
from sfumato.anonymize.tables.sweep import sweep
from sfumato.data.tables.sources import read
from sfumato.data.wording import some
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.data.schema import Schema

KS = (2, 5, 10)
COMPARED = ("optimal", "local", "mondrian")


class Comparand(NamedTuple):
    """One setting and its price; `loss` and `suppressed` are None where no release is possible."""

    algorithm: str
    k: int
    suppression: float
    loss: float | None
    suppressed: int | None
    seconds: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """Settings beside each other, by k, then by loss; `best(k)` is the cheapest that is possible.

    `seconds` of a line is processor time of the search for all k of its algorithm, shared evenly.
    """

    source: str
    records: int
    objective: str
    lines: tuple[Comparand, ...]

    def best(self, k: int) -> Comparand | None:
        """Return the setting that loses least for a k, or None where none is possible."""
        possible = [line for line in self.lines if line.k == k and line.loss is not None]
        return min(possible, key=lambda line: line.loss or 0.0, default=None)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table in words, under `header`."""
        return [
            (
                line.algorithm,
                str(line.k),
                f"{line.suppression:g}",
                "not possible" if line.loss is None else f"{line.loss:.4f}",
                "" if line.suppressed is None else f"{line.suppressed:,}",
                f"{line.seconds:.2f}",
                "least" if line is self.best(line.k) else "",
            )
            for line in self.lines
        ]

    @property
    def header(self) -> tuple[str, ...]:
        """What the columns of the table say."""
        return "algorithm", "k", "suppression", self.objective, "left out", "seconds", ""

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        return {
            "records": self.records,
            "objective": self.objective,
            "lines": [line._asdict() for line in self.lines],
        }

    def __str__(self) -> str:
        table = [self.header, *self.rows()]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        told = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
        return "\n".join([f"{self.source}: {some(self.records, 'record')}", *told])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.picture

    @property
    def picture(self) -> str:
        """The comparison as bars, one SVG that needs nothing else."""
        from sfumato.pictures import marks  # noqa: PLC0415 - only where it is drawn

        drawn, y = [marks.text(16, 26, f"{self.objective} lost, by k", "title")], 44.0
        widest = max((line.loss or 0.0 for line in self.lines), default=0.0) or 1.0
        for place, line in enumerate(self.lines):
            if not place or self.lines[place - 1].k != line.k:
                drawn.append(marks.text(16, y + 14, f"k = {line.k}", "title"))
                y += 24
            name = f"{line.algorithm}, suppression ≤ {line.suppression:g}"
            told = "not possible" if line.loss is None else f"{line.loss:.4f}"
            width = 0.0 if line.loss is None else 380 * line.loss / widest
            kind = "below" if line is self.best(line.k) else "above"
            drawn += [
                marks.text(24, y + 12, name, "label"),
                marks.box(250, y, width, 15, kind, title=f"{name}: {told}"),
                marks.text(258 + width, y + 12, told, "value"),
            ]
            y += 22
        return marks.svg(drawn, y + 12, f"{self.objective} of {some(len(self.lines), 'setting')}")


def compare(
    table: Any,
    promise: Definition,
    *,
    schema: Schema | str | Path | None = None,
    k: Iterable[int] = KS,
    algorithm: Iterable[str] = COMPARED,
    suppression: Iterable[float] = (0.0,),
    objective: str = "LM",
    population: Any = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Comparison:
    """Try algorithms, k and limits of suppression beside each other; nothing is released.

    The promise gets each k in turn, as in `sweep`; its other parts stay. The options are those of
    `anonymize`; `time_limit` is for every search by itself.

    >>> import sfumato as sf
    >>> people = sf.read({"age": [30, 31, 41, 42]}, schema=sf.Schema(quasi=["age"]))
    >>> found = sf.compare(people, sf.KAnonymity(2), k=[2, 5], algorithm=["optimal"])
    >>> [(line.k, line.loss is None) for line in found.lines]
    [(2, False), (5, True)]
    """
    source = read(table, schema=schema)
    names, shares, ks = tuple(algorithm), tuple(suppression), tuple(k)
    _check(names, shares, ks)
    lines: list[Comparand] = []
    for name, share in product(names, shares):
        started = time.process_time()
        found = sweep(
            source, promise, ks, algorithm=name, suppression=share, objective=objective,
            population=population, progress=progress, time_limit=time_limit,
        )  # fmt: skip
        spent = (time.process_time() - started) / len(found)
        lines += [Comparand(name, p.k, share, p.loss, p.suppressed, spent) for p in found]
    lines.sort(key=lambda line: (line.k, line.loss is None, line.loss or 0.0))
    return Comparison(source.name, source.rows, objective, tuple(lines))


def _check(names: tuple[str, ...], shares: tuple[float, ...], ks: tuple[int, ...]) -> None:
    """Refuse what cannot be tried before anything is searched."""
    if not (names and shares and ks):
        raise ParameterError(
            f"A comparison needs at least one algorithm (of {', '.join(ALGORITHMS)}), one k and "
            "one limit of suppression."
        )
    for name in names:
        algorithm_named(name, None, {})
    for share in shares:
        number_between("suppression", share, 0, 1)
