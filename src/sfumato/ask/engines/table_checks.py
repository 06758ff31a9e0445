"""Two questions an engine asks about its own tables: what they hold, and what names a row.

Contract: :func:`fingerprint_plan` gives one row of whole numbers that depends on the rows of a
table and not on their order; :func:`repeated_plan` tells how many rows agree on some columns at
most, comparing as joins do. The first is never shown; the second is about public tables.

The fingerprint adds up, over all rows, the four quarters of md5 of the row's cells as text, each in
a wide integer. It notices change; it does not have to resist an adversary, since nobody chooses
both tables and seeks two with the same sum.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.ask.language.language import Column
from sfumato.ask.plan.choice import MISSING, SEPARATOR
from sfumato.ask.plan.dialects import Bytewise, DateText, HexInteger, StoredTable, Wide
from sfumato.ask.plan.expressions import Names
from sfumato.ask.plan.forms import (
    SQL,
    aliased,
    all_of,
    case,
    cast,
    column,
    derived,
    is_null,
    negated,
    select,
    text,
    whole,
)
from sfumato.ask.plan.relations import Relations

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sfumato.ask.language.language import TableFacts

_PLAIN = 2**53  # up to here a double is one whole number and no other
_ROUNDED = 50_000_000  # nanoseconds within which two changes may have the same time
_MOST_PAIRED = 8  # columns of a public table of which pairs are tried


def fingerprint_plan(facts: TableFacts) -> exp.Select:
    """Give the SELECT of a table's count and sums of hashes."""
    texts: SQL = text("")
    for stored in fingerprinted(facts):
        missing = exp.Chr(expressions=[whole(ord(MISSING))])
        cell = exp.Coalesce(this=_text(stored), expressions=[missing])
        texts = exp.DPipe(this=texts, expression=cell)
        separator = exp.Chr(expressions=[whole(ord(SEPARATOR))])
        texts = exp.DPipe(this=texts, expression=separator)
    digests = select([aliased(exp.MD5(this=texts), "digest")], StoredTable(this=facts.name))
    quarters = [
        exp.Substring(this=column("digest"), start=whole(8 * i + 1), length=whole(8))
        for i in range(4)
    ]
    sums = [
        aliased(exp.Sum(this=Wide(this=HexInteger(this=quarter))), f"sum_{i}")
        for i, quarter in enumerate(quarters)
    ]
    count = aliased(exp.Count(this=exp.Star()), "count_rows")
    return select([count, *sums], derived(digests, "digests"))


def fingerprinted(facts: TableFacts) -> tuple[Column, ...]:
    """Give all columns of a table by name, those of no known kind as the texts an engine holds."""
    untyped = [Column(name, "text") for name in facts.untyped]
    return tuple(sorted((*facts.columns, *untyped), key=lambda column: column.name))


def _text(stored: Column) -> SQL:
    """Give the text of a cell, which for a number does not depend on the kind it is read as."""
    cell = column(stored.name)
    if stored.kind == "real":
        digits = cast(cast(cell.copy(), exp.DType.BIGINT), exp.DType.TEXT)
        size = exp.LTE(this=exp.Abs(this=cell.copy()), expression=whole(_PLAIN))
        is_whole = exp.EQ(this=exp.Floor(this=cell.copy()), expression=cell.copy())
        return case([(all_of([size, is_whole]), digits)], cast(cell, exp.DType.TEXT))
    if stored.kind == "text":
        return Bytewise(this=cell)
    if stored.kind == "date":
        return DateText(this=cell)
    if stored.kind == "boolean":
        return case([(cell, text("true")), (negated(cell.copy()), text("false"))])
    return cast(cell, exp.DType.TEXT)


def unknown_state() -> str:
    """Give a text for rows that nobody can tell from changed ones: it never comes again."""
    return f"unknown {secrets.token_hex(16)}"


def file_state(path: Path) -> tuple[int, ...] | None:
    """Tell a file from a changed one; None if it was written a moment ago.

    File systems round the time of a change, so that another one might have the same.
    """
    told = path.stat()
    if time.time_ns() - max(told.st_mtime_ns, told.st_ctime_ns) < _ROUNDED:
        return None
    return told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns


def fingerprint_of(tables: Sequence[tuple[TableFacts, Sequence[Any]]]) -> str:
    """Join the counts and sums of several tables to one text.

    Private tables make its first part, joined by hyphens; every public table, which an answer
    depends on as well, has a part of its own after a full stop. A table has the same part whatever
    it is called and whoever it is about.
    """
    private = [_digest(*table) for table in tables if table[0].private]
    public = [_digest(*table) for table in tables if not table[0].private]
    return ".".join(["-".join(private), *public])


def _digest(facts: TableFacts, row: Sequence[Any]) -> str:
    names = [stored.name for stored in fingerprinted(facts)]
    numbers = [0 if cell is None else int(cell) for cell in row]
    return hashlib.sha256(repr((names, numbers)).encode()).hexdigest()


def repeated_plan(facts: TableFacts, names: Sequence[str]) -> exp.Select:
    """Count the rows of a public table that agree on some columns, and give the largest count."""
    relations = Relations({facts.name: facts}, Names(), by_person=False)
    scope = relations.scope(relations.public(facts))
    kinds = {stored.name: stored for stored in facts.columns}
    keys = [scope.keep(("key", name), scope.identity(kinds[name]), name) for name in names]
    present = all_of([negated(is_null(key.copy())) for key in keys])
    found = scope.select([aliased(exp.Count(this=exp.Star()), "count_rows")], present)
    found = found.group_by(*keys, copy=False)
    most = exp.Coalesce(this=exp.Max(this=column("count_rows")), expressions=[whole(0)])
    return select([aliased(most, "most")], derived(found, "found"))


def with_repetitions(facts: TableFacts, most: Callable[[exp.Select], int]) -> TableFacts:
    """State which columns of a public table name a row, and how many rows agree on others.

    Columns are tried one by one, and the pairs of those that name no row.
    """
    counts: dict[tuple[str, ...], int] = {
        (stored.name,): most(repeated_plan(facts, (stored.name,))) for stored in facts.columns
    }
    others = [names[0] for names, count in counts.items() if count > 1]
    if len(others) <= _MOST_PAIRED:
        counts |= {pair: most(repeated_plan(facts, pair)) for pair in combinations(others, 2)}
    return replace(
        facts,
        unique=tuple(names for names, count in counts.items() if count <= 1),
        repeated=tuple((names, count) for names, count in counts.items() if count > 1),
    )
