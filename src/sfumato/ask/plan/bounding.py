"""Bounding in SQL: of each person the groups and rows with the smallest hash, by window functions.

Contract: :func:`bounded` gives the contributions that are kept, by the formulas of
:mod:`sfumato.ask.plan.choice`. Md5 is computed once per person and once per group, on their
distinct values; the rest is integer arithmetic. Every window has a total order up to rows that
agree on all that is ever summed, so the result is the same however rows are stored. Groups are
placed first: rows are numbered only in the groups that stay, which are few where a bound matters.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from sfumato.ask.language.language import Filter, Project, Scan
from sfumato.ask.language.request import GroupsBound, RowsBound
from sfumato.ask.plan import choice as choosing
from sfumato.ask.plan.dialects import Fenced
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
    modulo,
    select,
    table,
    times,
    whole,
    window,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.language.language import Kind, Relation, Value
    from sfumato.ask.language.request import Request


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


def bounded(source: exp.Select, layout: _Columns, request: Request) -> exp.Select:
    """Give the kept contributions."""
    assert isinstance(request.bound, GroupsBound | RowsBound)
    steps = {"contributions": source}
    steps["numbered"] = _numbered(layout, request)
    steps["drawn"] = _drawn(layout, request)
    steps["ranked"] = _ranked(request)
    if isinstance(request.bound, GroupsBound):
        steps["listed"] = _listed(layout)
    steps["placed"] = _placed(layout, request)
    kept_columns = [*_contributed(layout), "row_place"]
    kept = select(
        map(column, kept_columns), table("placed"), _within("row_place", request.bound.rows)
    )
    again = None if not _is_cheap(request.relation) else False
    for name, query in steps.items():
        alias = exp.Identifier(this=name, quoted=True)
        kept = kept.with_(
            alias, as_=query, materialized=again if name == "contributions" else None, copy=False
        )
    return kept


def _is_cheap(relation: Relation) -> bool:
    """Tell whether rows are cheaper read again than kept aside: nothing is joined or grouped."""
    while isinstance(relation, Filter | Project):
        relation = relation.source
    return isinstance(relation, Scan)


def _within(place: str, limit: int) -> SQL:
    return binary(exp.LTE, column(place), whole(limit))


def _contributed(layout: _Columns) -> list[str]:
    values = [name for name in layout.values if name is not None]
    return ["person", *layout.keys, *values, *layout.spread]


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
    """Put the numbers of person and group beside each contribution.

    They are computed once per person and group, not where they are used: hence the fence, through
    which Postgres still sees that every person comes once and that she is the side to hash.
    """
    outputs: list[SQL] = [column(name, "contributions") for name in _contributed(layout)]
    outputs += [column(f"u_{i}", "people") for i in range(4)]
    if layout.keys:
        outputs += [column(f"g_{i}", "groups") for i in range(3)]
    else:
        constants = choosing.group_numbers(request.salt, ())
        outputs += [aliased(big(constants[i]), f"g_{i}") for i in range(3)]
    same = binary(exp.EQ, column("person", "contributions"), column("person", "people"))
    query = select(outputs, table("contributions"))
    people = Fenced(this=_people(layout, request), alias="people")
    query = query.join(people, on=same, join_type="inner", copy=False)
    if not layout.keys:
        return query
    groups = Fenced(this=_groups(layout, request), alias="groups")
    return query.join(groups, on=all_of(_same_keys(layout)), join_type="inner", copy=False)


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
            continue
        ends = (0, 1) if total.grid is None else total.grid.ends
        residue = choosing.sql_residue(name, ends)
        if total.form == "squares":
            residue = modulo(times(residue, residue.copy()), whole(choosing.P))
        residues.append(residue)
    spread = zip(layout.spread, request.spread, strict=True)
    return [*residues, *(choosing.sql_residue(name, grid.ends) for name, (_, grid) in spread)]


def _ranked(request: Request) -> exp.Select:
    ranked = [aliased(choosing.sql_mixed("t_row", "u_1"), "row_rank")]
    if isinstance(request.bound, GroupsBound):
        high, low = choosing.sql_mixed("t_high", "u_2"), choosing.sql_mixed("t_low", "u_3")
        ranked.append(aliased(choosing.sql_rank(high, low), "group_rank"))
    return select([exp.Star(), *ranked], table("drawn"))


def _listed(layout: _Columns) -> exp.Select:
    """Give each person's groups their place by rank."""
    keys = list(map(column, layout.keys))
    place = window("DENSE_RANK", [column("person")], [column("group_rank"), *keys])
    outputs: list[SQL] = [
        column(name) for name in [*_contributed(layout), "group_rank", "row_rank"]
    ]
    return select([*outputs, aliased(place, "group_place")], table("ranked"))


def _placed(layout: _Columns, request: Request) -> exp.Select:
    """Give each person's rows their place, in each of the groups that stay or among all."""
    outputs: list[SQL] = [column(name) for name in _contributed(layout)]
    keys, summed = list(map(column, layout.keys)), _summed(layout, request)
    if isinstance(request.bound, GroupsBound):
        group = [column("person"), column("group_rank"), *keys]
        rows = window("ROW_NUMBER", group, [column("row_rank"), *summed])
        stay = _within("group_place", request.bound.groups)
        return select([*outputs, aliased(rows, "row_place")], table("listed"), stay)
    rows = window("ROW_NUMBER", [column("person")], [column("row_rank"), *keys, *summed])
    return select([*outputs, aliased(rows, "row_place")], table("ranked"))


def _summed(layout: _Columns, request: Request) -> list[SQL]:
    """Give the numbers that tell rows apart where their hashes agree."""
    numbers: list[SQL] = []
    for total, name in zip(request.totals, layout.values, strict=True):
        if name is not None:
            number = column(name)
            numbers.append(exp.Abs(this=number) if total.form == "squares" else number)
    return [*numbers, *(column(name) for name in layout.spread)]
