"""The domains of all columns: declared, or found for a share of the budget.

Contract: a column without a declared domain is refused unless ``search`` names the share of the
budget that finding may take; the share is divided evenly among such columns, and every price is in
the book.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from sfumato.data.wording import listed
from sfumato.dp.mechanisms import parameters
from sfumato.dp.publish.synthesis.curator import BookLine, Curator
from sfumato.dp.publish.synthesis.domain import Domain
from sfumato.dp.publish.synthesis.domain_search import (
    NO_TEXTS,
    bounds_from,
    is_found,
    search_coder,
    show_texts,
    texts_from,
)
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.dp.publish.synthesis.budget import Budget
    from sfumato.dp.publish.synthesis.columns import Coder, Column, Kind, Texts
    from sfumato.dp.publish.synthesis.table_codec import RowSource
    from sfumato.dp.rounding import Stated


def refuse_unknown(unknown: Sequence[str]) -> NoReturn:
    """Say for which columns a domain is missing."""
    raise ParameterError(
        f"No domain is declared for {listed(unknown)}: name it in the schema or with columns=, "
        "from knowledge and never from the data; or let it be found with search=0.1, a share of "
        "the budget."
    )


def check_search(
    table: RowSource,
    unknown: Sequence[str],
    columns: Mapping[str, Column],
    budget: Budget,
    search: Stated,
) -> None:
    """Refuse a search that cannot be done, before anything is read."""
    parameters.share(search, "search")
    for name in unknown:
        _kind(table, name, columns.get(name))
    texts = [name for name in unknown if _kind(table, name, columns.get(name)) == "text"]
    if texts and not budget.failures:
        raise ParameterError(
            f"The texts of {listed(texts)} can be found only with epsilon= and delta=: whatever is "
            "shown because it occurs cannot be hidden by a finite ε or ρ alone."
        )


def find_domains(
    table: RowSource,
    declared: Mapping[str, Coder | None],
    columns: Mapping[str, Column],
    budget: Budget,
    search: Stated | None,
    unit: str | None,
) -> tuple[dict[str, Coder], list[BookLine], tuple[str, ...]]:
    """Give the coder of every column, what finding some of them cost, and what to doubt."""
    unknown = [name for name, coder in declared.items() if coder is None]
    share = parameters.share(search, "search") if search is not None and unknown else Fraction(0)
    book: list[BookLine] = []
    coders: dict[str, Coder] = {}
    guessed: list[str] = []
    for name, coder in declared.items():
        if coder is not None:
            coders[name] = coder
            continue
        price = budget.amount * share / len(unknown)
        made, sure = _found(table, name, columns.get(name), budget, price, unit, len(unknown))
        coders[name] = made
        book.append(BookLine(f"the domain of {name}", price))
        guessed += [] if sure else [name]
    note = (
        f"The domain of {listed(guessed)} could not be told from noise at this price, and is "
        "little more than a guess; declare it."
    )
    return coders, book, (note,) if guessed else ()


def _found(
    table: RowSource,
    name: str,
    column: Column | None,
    budget: Budget,
    price: Fraction,
    unit: str | None,
    searched: int,
) -> tuple[Coder, bool]:
    """Find a domain, and tell whether it stood out of the noise."""
    kind = _kind(table, name, column)
    if kind == "text":
        texts = _found_texts(table, name, budget, price, unit, searched)
        return texts, bool(texts.values != NO_TEXTS)
    coder = search_coder(name, kind)
    records = table.code_rows({name: coder}, unit, budget.currency.unit.rows)
    try:
        curator = Curator(records, Domain((coder.coded,)), budget.currency, price)
        noisy = curator.histogram(0, price)
        return bounds_from(coder, noisy, kind, column), is_found(coder, noisy)
    finally:
        records.drop()


def _found_texts(
    table: RowSource, name: str, budget: Budget, price: Fraction, unit: str | None, searched: int
) -> Texts:
    counted = table.count_texts(name, unit, budget.currency.unit.rows)
    counts = np.array([number for _, number in counted], dtype=np.int64)
    shown = show_texts(counts, budget.currency.unit, price, budget.failures / searched)
    return texts_from(name, [counted[k][0] for k in np.flatnonzero(shown).tolist()])


def _kind(table: RowSource, name: str, column: Column | None) -> Kind:
    known = table.known_schema
    declared = column.kind if column is not None else None
    if declared is None and known is not None and name in known.attributes:
        declared = known.attributes[name].cell_type
    if declared is not None:
        return declared
    if not table.typed:
        raise ParameterError(
            f"The kind of column '{name}' is not declared, and what type it has here may follow "
            f"from one cell: say columns={{'{name}': sf.dp.Column(kind='text')}}, or 'integer', "
            "'number' or 'date', or give its type in the schema."
        )
    sql = table.types[name]
    if sql in {"DATE", "TIMESTAMP"}:
        return "date"
    if sql.startswith(("DECIMAL", "FLOAT", "DOUBLE")):
        return "number"
    return "integer" if "INT" in sql else "text"
