"""A dataset that grows: blocks of rows, each with a budget of its own.

Contract: the blocks of a dataset hold different rows, and the unit is the row. A question about
several blocks asks each for exact totals and adds them; a row lies in one block, so what it moves
is what it moves there, and the question costs the same in every block it reads: parallel
composition over blocks (McSherry, SIGMOD 2009). With people as the unit this would be false, since
a person may have rows in every block; there all blocks share one budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.ask.language.request import Aggregates, Request, RowBound
from sfumato.ask.session.keys import private_part
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.ledger.registrations import MAIN
from sfumato.message import Argument, Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.engines.base import Engine
    from sfumato.ask.language.language import TableFacts
    from sfumato.govern.ledger.ledger import Ledger


class Blocks:
    """Several engines that hold blocks of one table, asked as one."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        self.engines = dict(engines)
        first, *others = self.engines.values()
        self.dialect = first.dialect
        for other in others:
            if other.tables() != first.tables():
                raise ParameterError(
                    "Every block of a dataset has the same columns, kinds and public facts; one of "
                    "the blocks given differs from the first."
                )

    def tables(self) -> tuple[TableFacts, ...]:
        """Give the public facts of the tables, which all blocks share."""
        return next(iter(self.engines.values())).tables()

    def aggregate(self, request: Request) -> Aggregates:
        """Add the exact totals of all blocks."""
        return self.aggregate_of(tuple(self.engines), request)

    def aggregate_of(self, labels: Sequence[str], request: Request) -> Aggregates:
        """Add the exact totals of some blocks."""
        if not isinstance(request.bound, RowBound):
            raise ParameterError(
                Message(
                    "Blocks with budgets of their own are for {}: a person may have rows in "
                    "several blocks.",
                    Argument("unit", "row"),
                )
            )
        return _added([self.engines[label].aggregate(request) for label in labels])

    def fingerprint(self) -> str:
        """Give a text that changes when a row of any block changes."""
        return "+".join(engine.fingerprint() for engine in self.engines.values())

    def close(self) -> None:
        """Close the engines of all blocks."""
        for engine in self.engines.values():
            getattr(engine, "close", _nothing)()


class SomeBlocks:
    """An engine that reads some blocks of a dataset only."""

    def __init__(self, whole: Blocks, labels: Sequence[str]) -> None:
        self.dialect = whole.dialect
        self._whole, self._labels = whole, tuple(labels)

    def tables(self) -> tuple[TableFacts, ...]:
        """Give the public facts of the tables."""
        return self._whole.tables()

    def aggregate(self, request: Request) -> Aggregates:
        """Add the exact totals of these blocks."""
        return self._whole.aggregate_of(self._labels, request)

    def fingerprint(self) -> str:
        """Give a text that changes when a row of these blocks changes."""
        return "+".join(self._whole.engines[label].fingerprint() for label in self._labels)


def _nothing() -> None:
    """Close nothing: not every engine holds something."""


def add_blocks(ledger: Ledger, dataset: str, labels: Mapping[str, str]) -> None:
    """Register the blocks of a dataset, each under the label it had before.

    ``labels`` maps fingerprints of private rows to labels. A label is the place in the list, so
    a table that changes its place, or is given alone, would get the budget of another and its
    own rows a fresh one; that is refused. Rows are known from when their block was registered and
    from every charge, which has the fingerprint of each block it read.
    """
    several = len(set(labels.values())) > 1
    if several or ledger.blocks(dataset) != {MAIN}:
        for entry in ledger.entries(dataset):
            parts = (entry.fingerprint or "").split("+")
            for block, part in zip(entry.blocks, parts, strict=False):
                label = labels.get(private_part(part))
                if label not in {None, block}:
                    raise GovernanceError(
                        f"What is given as the block {label!r} is known as {block!r}; list the "
                        "blocks in the order in which they were added."
                    )
    for fingerprint, label in labels.items():
        if label != MAIN:
            ledger.add_block(dataset, label, fingerprint=fingerprint)


def _added(parts: Sequence[Aggregates]) -> Aggregates:
    groups: dict[tuple[Any, ...], list[int]] = {}
    width = 1 + len(parts[0].totals)
    spread = len(parts[0].spread)
    for part in parts:
        for i, key in enumerate(part.keys):
            place = (*key, *(int(column[i]) for column in part.spread))
            sums = groups.setdefault(place, [0] * width)
            sums[0] += int(part.people[i])
            for j, total in enumerate(part.totals):
                sums[j + 1] += int(total[i])
    columns = list(zip(*groups.values(), strict=True)) or [()] * width
    places = list(groups)
    return Aggregates(
        tuple(place[: len(place) - spread] if spread else place for place in places),
        np.array(columns[0], dtype=np.int64),
        tuple(np.array(column, dtype=object) for column in columns[1:]),
        tuple(
            np.array([place[len(place) - spread + s] for place in places], dtype=np.int64)
            for s in range(spread)
        ),
    )
