"""An answer: noisy numbers with their guarantee, their intervals and what they cost.

Contract: everything in an answer is noisy or public, so an answer can be kept, printed and given
to anyone who may ask. ``interval(confidence)`` says how far the noise may have moved each cell:
with at least that probability, the number of the *kept and clamped* rows lies inside. What bounding
and clamping left out is not in it; ``notes`` say what was done.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.answers.note import Note
from sfumato.errors import ParameterError
from sfumato.message import Message
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sfumato.ask.answers.intervals import DerivedColumn
    from sfumato.ask.answers.noisy_column import NoisyColumn
    from sfumato.ask.answers.stacked_column import StackedColumn
    from sfumato.ask.price.measures import Interval
    from sfumato.dp.accounting.costs import Cost
    from sfumato.dp.guarantees import Guarantee
    from sfumato.govern.standing import Standing
    from sfumato.release import Release


def check_confidence(confidence: object) -> None:
    """Refuse what is no probability strictly between 0 and 1."""
    if not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise ParameterError(
            f"A confidence lies between 0 and 1, such as 0.95, and {confidence!r} was given."
        )


@dataclass(frozen=True)
class Answer(Shown):
    """The answer to a question.

    ``rows`` are the cells under ``columns``; ``measures`` holds what intervals need, by column,
    ``derived`` the same for columns computed from several numbers, and ``ranges`` the bounds of
    quantiles. ``stored`` says that it was given before, for free; ``tree`` is the question as
    :mod:`sfumato.ask.language.question_tree` writes it.
    """

    question: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    guarantee: Guarantee
    cost: Cost
    standing: Standing | None = field(default=None, repr=False)
    notes: tuple[Note, ...] = ()
    measures: Mapping[str, NoisyColumn | StackedColumn[NoisyColumn]] = field(
        default_factory=dict, repr=False
    )
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    derived: Mapping[str, DerivedColumn | StackedColumn[DerivedColumn]] = field(
        default_factory=dict, repr=False
    )
    places: tuple[int, ...] = field(default=(), repr=False)  # row of the noisy columns, per row
    keys: tuple[str, ...] = ()
    stored: bool = False
    kind: str = field(default="columns", repr=False)
    tree: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        told = tuple(note if isinstance(note, Note) else Note(note) for note in self.notes)
        object.__setattr__(self, "notes", told)
        if not self.places:
            object.__setattr__(self, "places", tuple(range(len(self.rows))))

    @property
    def table(self) -> Any:
        """The answer as a table of the kind the data came in; a mapping of columns otherwise."""
        from sfumato.ask.answers.frames import frame  # noqa: PLC0415 - frames load when used

        return frame(self.columns, self.rows, self.kind)

    @property
    def value(self) -> Any:
        """The only cell of an answer of one number."""
        shown = [name for name in self.columns if name not in self.keys]
        if len(self.rows) != 1 or len(shown) != 1:
            raise ParameterError(
                f"The answer has {len(self.rows)} rows and {len(shown)} numbers in each; .value is "
                "for a single number, .table for all."
            )
        return self.rows[0][self.columns.index(shown[0])]

    def release(self, name: str = "answer", *, confidence: float = 0.95) -> Release:
        """Hand the answer over as a release, with an interval beside every number."""
        from sfumato.dp.publish.numbers import (  # noqa: PLC0415 - releases load when used
            NumberTable,
            release_numbers,
        )

        bounds = self.intervals(confidence)
        ends = [(f"{column} {end}", i, bounds[column]) for column in bounds
                for i, end in enumerate(("low", "high"))]  # fmt: skip
        rows = [
            (*row, *(None if (pair := found[place]) is None else pair[i] for _, i, found in ends))
            for place, row in enumerate(self.rows)
        ]
        columns = (*self.columns, *(title for title, _, _ in ends))
        facts = {"confidence": confidence, "notes": list(self.notes)}
        table = NumberTable(columns, rows, self, facts)
        return release_numbers(table, self.guarantee, name=name, mechanism="session")

    def column(self, name: str) -> list[Any]:
        """Give one column of the answer."""
        if name not in self.columns:
            raise ParameterError(
                f"The answer has no column {name!r}; its columns are {', '.join(self.columns)}."
            )
        return [row[self.columns.index(name)] for row in self.rows]

    def intervals(self, confidence: float = 0.95) -> dict[str, list[Interval | None]]:
        """Give the interval of every number, by column; None where nothing is known.

        That of a column computed from several numbers holds when all of them lie in their own
        intervals at once; there is none where a divisor may be 0. The interval of a quantile is
        the range in which it was looked for: its error is one of ranks, which the notes state, and
        says nothing about values without the data.
        """
        check_confidence(confidence)
        found: dict[str, list[Interval | None]] = {}
        for name in self.columns:
            if name in self.measures:
                measure = self.measures[name]
                found[name] = [measure.interval(place, confidence) for place in self.places]
            elif name in self.ranges:
                found[name] = [self.ranges[name]] * len(self.rows)
            elif name in self.derived:
                column = self.derived[name]
                found[name] = [column.interval(place, confidence) for place in self.places]
            elif name not in self.keys:
                found[name] = [None] * len(self.rows)
        return found

    def interval(self, confidence: float = 0.95) -> Any:
        """Give the interval (low, high) of a single number, or of every cell as a table.

        The table has the keys, and for each number a column ``…_low`` and ``…_high``.
        """
        found = self.intervals(confidence)
        if not self.keys and len(self.rows) == 1 and len(found) == 1:
            return next(iter(found.values()))[0]
        from sfumato.ask.answers.frames import frame  # noqa: PLC0415 - frames load when used

        columns = [*self.keys]
        cells: list[list[Any]] = [self.column(key) for key in self.keys]
        for name, pairs in found.items():
            columns += [f"{name}_low", f"{name}_high"]
            cells.append([None if pair is None else pair[0] for pair in pairs])
            cells.append([None if pair is None else pair[1] for pair in pairs])
        return frame(tuple(columns), tuple(zip(*cells, strict=True)), self.kind)

    @property
    def epsilon(self) -> float | None:
        """The ε of this answer alone, where its guarantee states one."""
        return getattr(self.guarantee, "epsilon", None)

    @property
    def spent(self) -> Guarantee:
        """What had been spent of the tightest limit when the answer was given."""
        return self._stood().spent

    @property
    def remaining(self) -> Guarantee:
        """What was left of the tightest limit when the answer was given."""
        return self._stood().remaining

    def _stood(self) -> Standing:
        if self.standing is None:
            raise ParameterError(
                "This answer was read from a file: it belongs to no session and has no budget."
            )
        return self.standing

    def renamed(self, columns: tuple[str, ...]) -> Answer:
        """Give the same answer with other names of its columns, in their order."""
        if columns == self.columns or len(columns) != len(self.columns):
            return self
        new = dict(zip(self.columns, columns, strict=True))
        return replace(
            self,
            columns=columns,
            notes=tuple(note.renamed(new) for note in self.notes),
            keys=tuple(new[key] for key in self.keys),
            measures={new[name]: measure for name, measure in self.measures.items()},
            ranges={new[name]: ends for name, ends in self.ranges.items()},
            derived={new[name]: formula for name, formula in self.derived.items()},
        )

    def save(self, path: str | Path) -> Path:
        """Write the answer as a file, to be reused for ever without a session."""
        from sfumato.ask.answers.artefact import save  # noqa: PLC0415 - loaded when used

        return save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Answer:
        """Read an answer that was saved."""
        from sfumato.ask.answers.artefact import load  # noqa: PLC0415 - loaded when used

        return cls.again(load(path), kind="columns")

    @classmethod
    def again(
        cls, fields: Mapping[str, Any], *, kind: str, standing: Standing | None = None
    ) -> Answer:
        """Give an answer again that was stored; `stored.load_fields` reads what it is made of."""
        return cls(**fields, standing=standing, kind=kind, stored=True)

    def total(
        self, measure: str, *, confidence: float = 0.95, **where: Any
    ) -> tuple[float, Interval]:
        """Add a count or sum up over rows, as in ``answer.total("n", ward=["a", "b"])``.

        This reads the answer and nothing else, so it costs nothing. The interval counts the
        noise of every cell that is added.
        """
        from sfumato.ask.answers.artefact import total  # noqa: PLC0415 - loaded when used

        return total(self, measure, where, confidence)

    def __str__(self) -> str:
        from sfumato.ask.answers.text import as_text  # noqa: PLC0415 - loaded when shown

        return as_text(self)

    def _repr_html_(self) -> str:
        from sfumato.ask.pictures.picture import notebook  # noqa: PLC0415 - loaded when shown

        return notebook(self)

    def picture(self, confidence: float = 0.95) -> str:
        """Draw the answer as an SVG: bars with intervals, or a heat grid for two keys."""
        from sfumato.ask.pictures.picture import picture  # noqa: PLC0415 - loaded when shown

        return picture(self, confidence)


@dataclass(frozen=True)
class AnswerForecast(Shown):
    """What a question would cost and how far off it would be; nothing was spent.

    ``errors`` is the half-width of the interval of each measure, where that does not depend on
    the data; ``notes`` say what it depends on otherwise.
    """

    cost: Cost
    guarantee: Guarantee
    remaining: Guarantee
    fits: bool
    errors: Mapping[str, float]
    confidence: float
    mechanism: str
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Tell it line by line; a note that speaks of arguments keeps them apart."""
        lines = [f"{self.mechanism} noise: {self.guarantee}"]
        lines += [
            f"  {name}: ± {error:.6g} with {self.confidence:.0%} confidence"
            for name, error in self.errors.items()
        ]
        lines += [Message("  {}", note) for note in self.notes]
        lines.append(
            "It fits the budget." if self.fits else "It does not fit what is left of the budget."
        )
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())
