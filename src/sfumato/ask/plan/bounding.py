"""Bounding in SQL: of each person the groups and rows with the smallest hash, by window functions.

Contract: :func:`bounded` gives the contributions that are kept, by the formulas of
:mod:`sfumato.ask.plan.choice`. Md5 is computed once per person and once per group, on their
distinct values; the rest is integer arithmetic. Every window has a total order up to rows that
agree on all that is ever summed, so the result is the same however rows are stored.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from sfumato.ask.language.request import GroupsBound, Request, RowsBound
from sfumato.ask.plan import choice as choosing
from sfumato.ask.plan.forms import (
    SQL,
    aliased,
    all_of,
    big,
    binary,
    column,
    constant,
    derived,
    is_null,
    minus,
    modulo,
    plus,
    select,
    table,
    times,
    whole,
    window,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.language.language import Kind, Value


class _Columns(Protocol):
    """The layout of contributions, as :class:`sfumato.ask.plan.plan.Layout` has it."""

    @property
    def person_kind(self) -> Kind | None: ...
    @property
    def keys(self) -> tuple[str, ...]: ...
    @property
    def key_kinds(self) -> tuple[Kind, ...]: ...
    @property
    def values(self) -> tuple[str | None, ...]: ...
    @property
    def spread(self) -> tuple[str, ...]: ...


_ANY: dict[str, Value] = {
    "integer": 0, "text": "", "boolean": False, "date": dt.date(1970, 1, 1),
}  # fmt: skip


_ONCE = {"people", "groups"}
"""Steps to be computed once per person or group, and not where their numbers are used."""


def bounded(source: exp.Select, layout: _Columns, request: Request) -> exp.Select:
    """Give the kept contributions."""
    steps = {"contributions": source, "people": _people(layout, request)}
    if layout.keys:
        steps["groups"] = _groups(layout, request)
    steps["numbered"] = _numbered(layout, request)
    steps["drawn"] = _drawn(layout, request)
    steps["ranked"] = _ranked(request)
    if isinstance(request.bound, GroupsBound):
        steps["listed"] = _listed(layout, request)
    steps["placed"] = _placed(layout, request)
    within = [
        binary(exp.LTE, column(place), whole(limit)) for place, limit in _limits(request).items()
    ]
    kept_columns = [*_contributed(layout), "row_place"]
    kept = select(map(column, kept_columns), table("placed"), all_of(within))
    for name, query in steps.items():
        alias = exp.Identifier(this=name, quoted=True)
        kept = kept.with_(alias, as_=query, materialized=name in _ONCE or None, copy=False)
    return kept


def _contributed(layout: _Columns) -> list[str]:
    values = [name for name in layout.values if name is not None]
    return ["person", *layout.keys, *values, *layout.spread]


def _limits(request: Request) -> dict[str, int]:
    if isinstance(request.bound, GroupsBound):
        return {"group_place": request.bound.groups, "row_place": request.bound.rows}
    assert isinstance(request.bound, RowsBound)
    return {"row_place": request.bound.rows}


def _people(layout: _Columns, request: Request) -> exp.Select:
    assert layout.person_kind is not None
    digest = choosing.sql_person_digest(request.salt, column("person"), layout.person_kind)
    return _hashed(["person"], digest, "u")


def _groups(layout: _Columns, request: Request) -> exp.Select:
    keys = zip(map(column, layout.keys), layout.key_kinds, strict=True)
    return _hashed(layout.keys, choosing.sql_group_digest(request.salt, list(keys)), "g")


def _hashed(names: Sequence[str], digest: SQL, letter: str) -> exp.Select:
    """Give the distinct values of some columns with their four numbers."""
    distinct = select(map(column, names), table("contributions")).distinct(copy=False)
    digests = select(
        [*map(column, names), aliased(digest, "digest")], derived(distinct, "distinct_values")
    )
    four = [aliased(choosing.sql_number(column("digest"), i), f"{letter}_{i}") for i in range(4)]
    return select([*map(column, names), *four], derived(digests, "digests"))


def _numbered(layout: _Columns, request: Request) -> exp.Select:
    """Put the numbers of person and group beside each contribution."""
    outputs: list[SQL] = [column(name, "contributions") for name in _contributed(layout)]
    outputs += [column(f"u_{i}", "people") for i in range(4)]
    if layout.keys:
        outputs += [column(f"g_{i}", "groups") for i in range(3)]
    else:
        constants = choosing.group_numbers(request.salt, ())
        outputs += [aliased(big(constants[i]), f"g_{i}") for i in range(3)]
    same = binary(exp.EQ, column("person", "contributions"), column("person", "people"))
    query = select(outputs, table("contributions"))
    query = query.join(table("people"), on=same, join_type="inner", copy=False)
    if not layout.keys:
        return query
    keys = all_of(_same_keys(layout))
    return query.join(table("groups"), on=keys, join_type="inner", copy=False)


def _same_keys(layout: _Columns) -> list[SQL]:
    """Compare keys so that NULL equals NULL, in a way every engine can join by hashing."""
    conditions: list[SQL] = []
    for name, kind in zip(layout.keys, layout.key_kinds, strict=True):
        sides = "contributions", "groups"
        filled = [_filled(column(name, side), kind) for side in sides]
        absent = [is_null(column(name, side)) for side in sides]
        conditions += [binary(exp.EQ, *filled), binary(exp.EQ, *absent)]
    return conditions


def _filled(key: exp.Column, kind: Kind) -> SQL:
    default = big(0) if kind == "integer" else constant(_ANY[kind], kind)
    return exp.Coalesce(this=key, expressions=[default])


def _drawn(layout: _Columns, request: Request) -> exp.Select:
    """Compute t of the two halves of the rank, and of the row."""
    start = column("g_2") if isinstance(request.bound, RowsBound) else big(1)
    folded = choosing.sql_folded(start, _residues(layout, request))
    drawn = [aliased(choosing.sql_joined("u_0", folded, "u_3"), "t_row")]
    if isinstance(request.bound, GroupsBound):
        drawn.append(aliased(choosing.sql_joined("u_0", column("g_0"), "u_1"), "t_high"))
        drawn.append(aliased(choosing.sql_joined("u_1", column("g_1"), "u_2"), "t_low"))
    return select([exp.Star(), *drawn], table("numbered"))


def _residues(layout: _Columns, request: Request) -> list[SQL]:
    """Give what a row contributes to each total and spread, modulo P."""
    residues: list[SQL] = []
    for total, name in zip(request.totals, layout.values, strict=True):
        if name is None:
            residues.append(whole(1))
        elif total.form == "squares":
            square = times(choosing.sql_residue(name), choosing.sql_residue(name))
            residues.append(modulo(square, whole(choosing.P)))
        else:
            residues.append(choosing.sql_residue(name))
    return [*residues, *(choosing.sql_residue(name) for name in layout.spread)]


def _ranked(request: Request) -> exp.Select:
    ranked = [aliased(choosing.sql_mixed("t_row", "u_1"), "row_rank")]
    if isinstance(request.bound, GroupsBound):
        high, low = choosing.sql_mixed("t_high", "u_2"), choosing.sql_mixed("t_low", "u_3")
        ranked.append(aliased(choosing.sql_rank(high, low), "group_rank"))
    return select([exp.Star(), *ranked], table("drawn"))


def _listed(layout: _Columns, request: Request) -> exp.Select:
    """Give each person's rows their place in the list of her groups by rank, and within them."""
    keys, summed = list(map(column, layout.keys)), _summed(layout, request)
    order = [column("group_rank"), *keys, column("row_rank"), *summed]
    place = window("ROW_NUMBER", [column("person")], order)
    outputs: list[SQL] = [column(name) for name in [*_contributed(layout), "group_rank"]]
    return select([*outputs, aliased(place, "place")], table("ranked"))


def _placed(layout: _Columns, request: Request) -> exp.Select:
    """Give each person's groups their place by rank, and her rows, all or in the group, too.

    The place of a row in its group is that in the whole list, less the rows of the groups before:
    the list is sorted already, by one order and one partition, so no engine sorts again.
    """
    outputs: list[SQL] = [column(name) for name in _contributed(layout)]
    keys = list(map(column, layout.keys))
    if isinstance(request.bound, GroupsBound):
        order = [column("group_rank"), *keys]
        groups = window("DENSE_RANK", [column("person")], order)
        before = window("RANK", [column("person")], order)
        rows = plus(minus(column("place"), before), whole(1))
        outputs += [aliased(groups, "group_place"), aliased(rows, "row_place")]
        return select(outputs, table("listed"))
    listed: list[SQL] = [column("row_rank"), *keys, *_summed(layout, request)]
    rows = window("ROW_NUMBER", [column("person")], listed)
    return select([*outputs, aliased(rows, "row_place")], table("ranked"))


def _summed(layout: _Columns, request: Request) -> list[SQL]:
    """Give the numbers that tell rows apart where their hashes agree."""
    numbers: list[SQL] = []
    for total, name in zip(request.totals, layout.values, strict=True):
        if name is not None:
            number = column(name)
            numbers.append(exp.Abs(this=number) if total.form == "squares" else number)
    return [*numbers, *(column(name) for name in layout.spread)]
