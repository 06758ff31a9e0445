"""Rules between the cells of a row, written in SQL: knowledge that synthetic rows never break.

Contract: a rule is a condition on one row, such as ``age >= 16 or marital = 'single'``. It holds
as a CHECK constraint does: where it is unknown because of a missing cell, it is kept. Rules must
be knowledge about the world; a rule that was read off the data would tell of them.

The condition becomes a mask over atoms (what no value inside the atoms could satisfy is forbidden,
judged by cells that stand for their codes), and the decoded rows are judged again by the rule
itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import sqlglot
from sqlglot import exp

from sfumato.data.engines.duckdb import DuckDB
from sfumato.data.wording import did_you_mean, listed
from sfumato.dp.publish.synthesis.rules import MOST_CELLS, Mask
from sfumato.dp.publish.synthesis.table_codec import SyntheticRows
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.dp.publish.synthesis.coarsening import Smooth
    from sfumato.dp.publish.synthesis.columns import Coder, Values

_MOST_SAMPLES = 4_000_000


@dataclass(frozen=True)
class RowRule:
    """A condition, and the columns it is about."""

    text: str
    columns: tuple[str, ...]


def read_rules(texts: Sequence[str] | str, coders: Mapping[str, Coder]) -> tuple[RowRule, ...]:
    """Read rules and check that they can be judged."""
    rules = []
    for text in [texts] if isinstance(texts, str) else texts:
        try:
            tree = sqlglot.parse_one(text, dialect="duckdb")
        except sqlglot.errors.SqlglotError:
            tree = None
        if tree is None or tree.find(exp.Select, exp.Subquery, exp.Command):
            raise ParameterError(f"The rule {text!r} is not a condition on the cells of one row.")
        rules.append(RowRule(text, _columns(text, tree, coders)))
    rows = SyntheticRows({name: coder.samples()[1].take(np.arange(1)) for name, coder in coders.items()})  # fmt: skip  # noqa: E501
    for rule in rules:
        try:
            judge([rule], rows)
        except duckdb.Error:
            raise ParameterError(
                f"The rule {rule.text!r} cannot be judged on a row; it compares columns, numbers, "
                "texts and dates, as in \"age >= 16 or marital = 'single'\"."
            ) from None
    return tuple(rules)


def _columns(text: str, tree: exp.Expr, coders: Mapping[str, Coder]) -> tuple[str, ...]:
    known = {name.lower(): name for name in coders}
    found = dict.fromkeys(column.name for column in tree.find_all(exp.Column))
    for name in found:
        if name.lower() not in known:
            raise ParameterError(
                f"The rule {text!r} names '{name}', which is not among the columns "
                f"{listed(coders)}.{did_you_mean(name, coders)}"
            )
    if not found:
        raise ParameterError(f"The rule {text!r} names no column.")
    return tuple(known[name.lower()] for name in found)


def judge(
    rules: Sequence[RowRule], rows: SyntheticRows, *, unknown: bool = True
) -> NDArray[np.bool_]:
    """Tell which rows keep all rules; ``unknown`` is the verdict where a cell is missing."""
    else_ = "true" if unknown else "false"
    engine = DuckDB()
    try:
        engine.run("SET preserve_insertion_order = true")
        kept = " AND ".join(f"coalesce(CAST(({rule.text}) AS BOOLEAN), {else_})" for rule in rules)
        query = f"SELECT {kept} AS kept FROM ({rows.query(engine)})"  # noqa: S608 - the owner's rules
        found: NDArray[np.bool_] = np.asarray(engine.connection.execute(query).fetchnumpy()["kept"])
        return found.astype(np.bool_)
    finally:
        engine.close()


def refuse_contradictions(rules: Sequence[RowRule], coders: Mapping[str, Coder]) -> None:
    """Refuse rules that no row can keep together, where all rows can be tried; no cell is read."""
    names = list(dict.fromkeys(name for rule in rules for name in rule.columns))
    samples = {name: coders[name].samples()[1] for name in names}
    sizes = [cells.numbers.size for cells in samples.values()]
    if not names or math.prod(sizes) > _MOST_SAMPLES:
        return
    grid = np.indices(sizes).reshape(len(sizes), -1)
    tried = {
        n: cells.take(chosen) for (n, cells), chosen in zip(samples.items(), grid, strict=True)
    }
    if not judge(rules, SyntheticRows(tried), unknown=False).any():
        raise Unsatisfiable("The rules contradict each other: no row can keep them all.")


def _possible(coder: Coder, column: Smooth) -> tuple[NDArray[np.int64], Values]:
    """Give the cells that stand for codes which the copy may hold."""
    codes, cells = coder.samples()
    shut = [code for code in coder.coded.doubtful if column.masses[code] == 0]
    held = np.flatnonzero(~np.isin(codes, shut))
    return codes[held], cells.take(held)


def masks_of(
    rules: Sequence[RowRule], coders: Mapping[str, Coder], columns: Sequence[Smooth]
) -> list[Mask]:
    """Turn rules into masks over atoms."""
    names = list(coders)
    masks = []
    for rule in rules:
        places = tuple(names.index(name) for name in rule.columns)
        sizes = tuple(columns[place].size for place in places)
        samples = [
            _possible(coders[name], columns[place])
            for name, place in zip(rule.columns, places, strict=True)
        ]
        count = math.prod(codes.size for codes, _ in samples)
        if count > _MOST_SAMPLES or math.prod(sizes) > MOST_CELLS:
            continue  # rows are repaired one by one instead
        grid = np.indices(tuple(codes.size for codes, _ in samples)).reshape(len(samples), -1)
        rows = SyntheticRows(
            {
                name: cells.take(chosen)
                for name, (_, cells), chosen in zip(rule.columns, samples, grid, strict=True)
            }
        )
        kept = judge([rule], rows)
        atoms = tuple(
            columns[place].atoms[codes[chosen]]
            for place, (codes, _), chosen in zip(places, samples, grid, strict=True)
        )
        allowed = np.zeros(sizes, dtype=np.bool_)
        allowed[tuple(part[kept] for part in atoms)] = True
        masks.append(Mask(places, allowed))
    return masks
