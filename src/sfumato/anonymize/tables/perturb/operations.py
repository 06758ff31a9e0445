"""Operations that hurt truthfulness: noise, swapping, shuffling, PRAM and others.

Generalisation and suppression tell less, but what they tell is true. The operations here tell
something else than the data said, so a table they touched carries their names, and so does
every release made from it (`release.untruthful`, `release.json`, the report).

None of them claims a formal guarantee. They come before `sf.anonymize`, whose promise holds
for the table it is given: five records that look alike are five records, of which some may
then be made up.

An operation is any object with `apply(records, words) -> Records` and a text that says what it
did; `records` holds the columns as arrays, `words` is the only randomness it may use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from sfumato.anonymize.tables.perturb.microaggregation import Microaggregate
from sfumato.anonymize.tables.perturb.noise_addition import AddNoise
from sfumato.anonymize.tables.perturb.post_randomization import PostRandomize
from sfumato.anonymize.tables.perturb.records import Column, Records, records_of
from sfumato.anonymize.tables.perturb.shuffling import Shuffle
from sfumato.anonymize.tables.perturb.swapping import Swap
from sfumato.anonymize.tables.perturb.synthetic_records import AddSynthetic
from sfumato.data.tables.permutation import RandomWords
from sfumato.data.tables.sources import read
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table

__all__ = [
    "AddNoise",
    "AddSynthetic",
    "Column",
    "Microaggregate",
    "Operation",
    "PostRandomize",
    "Records",
    "Shuffle",
    "Swap",
    "perturb",
]


@runtime_checkable
class Operation(Protocol):
    """A change to records after which single ones are no longer facts; `str` says which."""

    def apply(self, records: Records, words: RandomWords) -> Records:
        """Return the changed records."""
        ...


def perturb(
    data: Any,
    *operations: Operation,
    schema: Schema | str | Path | None = None,
    seed: int | None = None,
) -> Table:
    """Return a table on which the operations were done one after the other, marked by them.

    `data` is anything `sf.read` takes; the result goes to `sf.anonymize`, which gives it back in
    kind. The columns that operations ask for are held in memory; where rows live in a database, all
    others stay there. `seed` repeats the random choices, which lets whoever knows it undo them:
    leave it out for anything you publish.
    """
    table = read(data, schema=schema)
    for operation in operations:
        if isinstance(operation, type) or not isinstance(operation, Operation):
            raise ParameterError(
                "perturb takes operations such as sf.AddNoise('salary', scale=100), not "
                f"{operation!r}."
            )
    if not operations:
        raise ParameterError(
            "perturb needs at least one operation, for instance sf.Swap('diagnosis', share=0.1)."
        )
    words = RandomWords(seed)
    records = records_of(table)
    try:
        for operation in operations:
            records = operation.apply(records, words)
        return records.columns.written([str(operation) for operation in operations])
    except BaseException:
        records.columns.copy.drop()
        raise
