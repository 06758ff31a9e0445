"""Synthetic tables: what ``sf.dp.synthesize(people, epsilon=…, delta=…)`` does with rows.

Promise: (ε, δ)-differential privacy, ρ-zCDP or pure ε, for the neighbours that are named. Proof:
domains are declared, or found for a price (:mod:`.searching`); coding keeps at most m rows of each
unit and codes each by itself (:mod:`.table_codec`); exact tables of codes are read by the curator
alone, whose book adds up to the budget (:mod:`.curator`); all else is post-processing.

Nothing that compares synthetic with real rows is part of the result: such a number would be a
release of its own. ``measurements`` compare with the noisy tables, which are released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.cells import cells_of
from sfumato.data.tables.sources import read
from sfumato.data.wording import did_you_mean, listed
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import UNBOUNDED, Neighbours, Row, Unit
from sfumato.dp.noise import stream
from sfumato.dp.noise.uniform import below
from sfumato.dp.publish.synthesis.artefacts import SyntheticTable
from sfumato.dp.publish.synthesis.budget import read_budget
from sfumato.dp.publish.synthesis.column_domains import check_search, find_domains, refuse_unknown
from sfumato.dp.publish.synthesis.columns import Column, coder_of, column_of
from sfumato.dp.publish.synthesis.curator import Curator
from sfumato.dp.publish.synthesis.currencies import Contribution
from sfumato.dp.publish.synthesis.domain import Domain
from sfumato.dp.publish.synthesis.engine import SynthesisSettings, fit
from sfumato.dp.publish.synthesis.held_rows import DatabaseRows
from sfumato.dp.publish.synthesis.row_rules import (
    judge,
    masks_of,
    read_rules,
    refuse_contradictions,
)
from sfumato.dp.publish.synthesis.table_codec import SyntheticRows, TableRows
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.data.schema import Schema
    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.dp.publish.synthesis.budget import Budget
    from sfumato.dp.publish.synthesis.columns import Coder
    from sfumato.dp.publish.synthesis.engine import Fit
    from sfumato.dp.publish.synthesis.row_rules import RowRule
    from sfumato.dp.publish.synthesis.table_codec import RowSource
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

_TRIES = 12
ALGORITHM = "particles raked to adaptively chosen noisy tables"


def synthesize_table(
    people: Any,
    *,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    target: str | None = None,
    constraints: Sequence[str] | str = (),
    columns: Mapping[str, Any] | None = None,
    schema: Schema | None = None,
    neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED,
    search: Stated | None = None,
    size: int | None = None,
    settings: SynthesisSettings | None = None,
) -> Release:
    """Make a synthetic copy of a table; parameters as `sf.dp.synthesize` tells them."""
    return prepare(
        people, epsilon=epsilon, delta=delta, rho=rho, target=target, constraints=constraints,
        columns=columns, schema=schema, neighbours=neighbours, search=search, size=size,
        settings=settings,
    ).run()  # fmt: skip


@dataclass(frozen=True, eq=False)
class Preparation:
    """A synthesis that is checked and priced, and has read no cell yet."""

    table: RowSource
    declared: Mapping[str, Coder | None]
    columns: Mapping[str, Column]
    budget: Budget
    unit: str | None
    target: str | None
    constraints: tuple[str, ...]
    search: Stated | None
    size: int | None
    settings: SynthesisSettings

    def run(self) -> Release:
        """Read the data, and spend the budget."""
        budget, table = self.budget, self.table
        coders, paid, doubts = find_domains(
            table, self.declared, self.columns, budget, self.search, self.unit
        )
        rules = read_rules(self.constraints, coders)
        domain = Domain(tuple(coder.coded for coder in coders.values()))
        records = table.code_rows(coders, self.unit, budget.currency.unit.rows)
        left = budget.amount - sum((charge.price for charge in paid), Fraction(0))
        curator = Curator(records, domain, budget.currency, left)
        place = None if self.target is None else list(coders).index(self.target)
        try:
            made = fit(
                curator, domain, settings=self.settings, target=place,
                masks=lambda smooth: masks_of(rules, coders, smooth),
            )  # fmt: skip
        finally:
            records.drop()
        artefact = SyntheticTable(
            name=table.name, guarantee=budget.guarantee, measurements=made.measured,
            book=(*paid, *curator.book), currency=budget.currency.name, estimated=made.total,
            notes=(*budget.notes, *_left_out(table, coders, self.unit), *doubts, *made.doubts),
            kind=table.kind, coders=coders,
            rows=decode(made, coders, rules, self.size), rules=self.constraints,
        )  # fmt: skip
        return artefact.release(
            ALGORITHM, target=self.target, constraints=list(self.constraints) or None
        )


def prepare(
    people: Any,
    *,
    epsilon: Stated | None,
    delta: Stated | None,
    rho: Stated | None,
    target: str | None = None,
    constraints: Sequence[str] | str = (),
    columns: Mapping[str, Any] | None = None,
    schema: Schema | None = None,
    neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED,
    search: Stated | None = None,
    size: int | None = None,
    settings: SynthesisSettings | None = None,
) -> Preparation:
    """Check and price a synthesis without reading a cell."""
    table = rows_of(people, schema)
    relation = Neighbours.of(neighbours)
    given = {name: column_of(name, declared) for name, declared in (columns or {}).items()}
    names, unit = _names(table, relation, given)
    declared = _declared(table, names, given)
    unknown = [name for name, coder in declared.items() if coder is None]
    if unknown and search is None:
        refuse_unknown(unknown)
    contribution = Contribution(parameters.rows_per_unit(relation), relation.bounded)
    budget = read_budget(epsilon, delta, rho, relation, contribution, unknown_texts=bool(unknown))
    if search is not None and unknown:
        check_search(table, unknown, given, budget, search)
    _check_target(target, declared)
    rules = (constraints,) if isinstance(constraints, str) else tuple(constraints)
    if not unknown:
        known = {name: coder for name, coder in declared.items() if coder is not None}
        refuse_contradictions(read_rules(rules, known), known)
    parameters.count(size, "size")
    return Preparation(
        table, declared, given, budget, unit, target, rules, search, size,
        _settings(settings, budget),
    )  # fmt: skip


def rows_of(people: Any, schema: Schema | None = None) -> RowSource:
    """Give rows that can be counted where they are: those of an engine, or of a table."""
    if hasattr(people, "code_rows"):
        source: RowSource = people
        return source
    table = read(as_given(people), schema=schema)
    return TableRows(table) if table.engine.dialect == "duckdb" else DatabaseRows(table)


def as_given(people: Any) -> Any:
    """Give columns of arrays of texts as the cells that NumPy may have made texts of."""
    if not isinstance(people, Mapping):
        return people
    return {
        name: cells_of(column) if isinstance(column, np.ndarray) and column.dtype.kind == "U" else
        column for name, column in people.items()
    }  # fmt: skip


def _names(
    table: RowSource, relation: Neighbours, columns: Mapping[str, Column]
) -> tuple[list[str], str | None]:
    """Give the columns to be synthesised, and the column that names the unit."""
    for name in columns:
        if name not in table.types:
            raise ParameterError(
                f"columns= names '{name}', which {table.source} does not have."
                f"{did_you_mean(name, table.types)}"
            )
    known = table.known_schema
    innermost = relation.unit
    unit = innermost.name if isinstance(innermost, Unit) else None
    if unit is None and not isinstance(innermost, Row):
        raise ParameterError(f"A table is protected by rows or by Unit('column', rows=…), not by {innermost}.")  # fmt: skip  # noqa: E501
    if unit is None and known is not None and known.unit != "row":
        raise ParameterError(
            f"The schema says that '{known.unit}' is the privacy unit, which may own several rows; "
            f"say how many with neighbours=Unit('{known.unit}', rows=…)."
        )
    if unit is not None and unit not in table.types:
        raise ParameterError(f"The unit's column '{unit}' is not in {table.source}.")
    if known is None:
        names = list(columns) or list(table.types)
    else:
        hidden = set(known.identifier_names)
        names = [n for n in table.types if (n in known.attributes or n in columns) and n not in hidden]  # fmt: skip  # noqa: E501
    return [name for name in names if name != unit], unit


def _declared(
    table: RowSource, names: Sequence[str], columns: Mapping[str, Column]
) -> dict[str, Coder | None]:
    known = table.known_schema
    if known is not None:
        known.check_public(
            [name for name, stated in columns.items() if stated.kind or stated.values]
        )
    attributes = known.attributes if known is not None else {}
    return {name: coder_of(name, columns.get(name), attributes.get(name)) for name in names}


def _check_target(target: str | None, columns: Mapping[str, Any]) -> None:
    if target is not None and target not in columns:
        raise ParameterError(
            f"The target '{target}' is not among the columns {listed(columns)}."
            f"{did_you_mean(target, columns)}"
        )


def _settings(settings: SynthesisSettings | None, budget: Budget) -> SynthesisSettings:
    """Pure prices add up, so fewer and dearer rounds are better."""
    return settings or (
        SynthesisSettings(rounds_per_column=2) if budget.pure else SynthesisSettings()
    )


def _left_out(table: RowSource, coders: Mapping[str, Coder], unit: str | None) -> tuple[str, ...]:
    """Name the columns that the copy does not have, as nothing was declared of them."""
    known = table.known_schema
    own = {unit} if known is None else {unit, *known.identifier_names}
    others = [name for name in table.types if name not in coders and name not in own]
    if not others:
        return ()
    return (f"Left out, because nothing is declared of them: {listed(others)}.",)


def decode(
    made: Fit, coders: Mapping[str, Coder], rules: Sequence[RowRule], size: int | None
) -> SyntheticRows:
    """Draw rows; redraw those that break a rule inside their atoms, and replace the stubborn."""
    source = stream()
    atoms = made.draw(size)
    rows = _cells(made.refine(atoms), coders)
    if not rules:
        return rows
    bad = np.flatnonzero(~judge(rules, rows))
    for _ in range(_TRIES):
        if not bad.size:
            return rows
        again = _cells(made.refine(np.ascontiguousarray(atoms[:, bad])), coders)
        for name, cells in rows.cells.items():
            cells.put(bad, again.cells[name])
        bad = bad[~judge(rules, again)]
    good = np.setdiff1d(np.arange(atoms.shape[1]), bad)
    if not good.size:
        raise Unsatisfiable(
            "The rules contradict each other, or what is possible is too rare to be found; no "
            "synthetic row keeps them all."
        )
    chosen = good[below(good.size, bad.size, source=source)] if bad.size else good[:0]
    for cells in rows.cells.values():
        cells.put(bad, cells.take(chosen))
    return rows


def _cells(codes: Any, coders: Mapping[str, Coder]) -> SyntheticRows:
    source = stream()
    return SyntheticRows(
        {name: coder.decode(codes[i], source) for i, (name, coder) in enumerate(coders.items())}
    )
