"""Which rows and groups of a person are kept: a keyed hash, the same wherever it is computed.

Contract: everything here is a function of the salt, of one person and of her own rows. It exists
twice, in whole numbers of Python (the reference) and as SQL expressions of the plan, with equal
results; a compiled kernel follows the same formulas. With P = 2³¹ − 1 no product passes 2⁶³.

Why bounding by it is private. For a fixed salt, drawn independently of the data, the rows kept of
a person are a function of *her* rows alone: ranks depend on the person, on the keys of her groups
and on the numbers her rows contribute, and are compared among her own groups and rows only. So
adding or removing a person leaves the kept rows of everybody else as they are, and an aggregate
changes by what the kept rows of one person can do. This holds for every hash, a poor one too; the
hash only has to spread the choice, so that not everybody keeps the same groups. Nothing rests on
its being hard to invert.

The formulas. A text s gives four numbers in 1 … P − 1 from the digits of md5(salt, s). Person p and
group k have the numbers u and g. The rank of a group for a person joins two quadratic hashes
t² + a·t of t = (b·g + c), all mod P, whose coefficients are the person's: 62 bits. The number of a
row is such a hash, 31 bits, of the numbers it contributes, folded by Lehmer's multiplier 48271.
Equal ranks are told apart by the keys, equal row numbers by keys and contributions, in order; rows
that agree on all of them are interchangeable. So nothing depends on how rows are stored. Where a
join multiplies rows, those of a person that are joined at all
(:mod:`sfumato.ask.language.multiplication`) have the smallest first number of the text of the
person and all cells.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from sfumato.ask.plan.dialects import DateText, HexInteger
from sfumato.ask.plan.forms import (
    SQL,
    case,
    cast,
    column,
    modulo,
    negated,
    plus,
    text,
    times,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sfumato.ask.language.language import Kind, Value

P = 2**31 - 1
"""The prime all of this is computed modulo."""

FOLD = 48271
"""Lehmer's multiplier, by which the contributions of a row are folded into one number."""

SEPARATOR, MISSING = "\x1f", "\x1e"

Numbers: TypeAlias = tuple[int, int, int, int]

# -- the reference -----------------------------------------------------------------------------


def numbers(salt: bytes, written: str) -> Numbers:
    """Give four numbers in 1 … P − 1 for a text."""
    keyed = (salt.hex() + written).encode()
    digest = hashlib.md5(keyed, usedforsecurity=False).hexdigest()  # for spreading, not secrecy
    first, second, third, fourth = (
        int(digest[8 * i : 8 * i + 8], 16) % (P - 1) + 1 for i in range(4)
    )
    return first, second, third, fourth


def value_text(value: Value) -> str:
    """Write a person or a key as the text that is hashed."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def person_numbers(salt: bytes, person: Value) -> Numbers:
    """Give the numbers of a person."""
    return numbers(salt, "p" + value_text(person))


def group_numbers(salt: bytes, keys: Iterable[Value]) -> Numbers:
    """Give the numbers of a group."""
    return numbers(salt, "g" + SEPARATOR.join(value_text(key) for key in keys))


def drawn(salt: bytes, cells: Iterable[Value]) -> int:
    """Give the number by which a row is kept before a join; ``cells`` begin with its person."""
    return numbers(salt, "r" + SEPARATOR.join(value_text(cell) for cell in cells))[0]


def rank(person: Numbers, group: Numbers) -> int:
    """Give the rank of a group for a person, below 2⁶²; her smallest ranks are kept."""
    high = _mixed((person[0] * group[0] + person[1]) % P, person[2])
    low = _mixed((person[1] * group[1] + person[2]) % P, person[3])
    return high * 2**31 + low


def row_number(person: Numbers, start: int, contributed: Iterable[int]) -> int:
    """Give the number of a row of a person; her smallest numbers are kept.

    ``start`` is the group's third number where rows are chosen among all groups, and 1 where they
    are chosen within one.
    """
    folded = start
    for number in contributed:
        folded = (folded * FOLD + number % P) % P
    return _mixed((person[0] * folded + person[3]) % P, person[1])


def _mixed(number: int, coefficient: int) -> int:
    return (number * number % P + coefficient * number) % P


# -- the same in SQL ---------------------------------------------------------------------------


def sql_person_digest(salt: bytes, person: exp.Column, kind: Kind) -> SQL:
    """Hash a person, who is never NULL."""
    return _digest(salt, "p", [_sql_text(person, kind)])


def sql_group_digest(salt: bytes, keys: Sequence[tuple[exp.Column, Kind]]) -> SQL:
    """Hash the keys of a group."""
    return _digest(salt, "g", [_sql_cell(key, kind) for key, kind in keys])


def sql_drawn(salt: bytes, cells: Sequence[tuple[exp.Column, Kind]]) -> SQL:
    """Give the number by which a row is kept before a join; ``cells`` begin with its person."""
    return sql_number(_digest(salt, "r", [_sql_cell(cell, kind) for cell, kind in cells]), 0)


def _sql_cell(cell: exp.Column, kind: Kind) -> SQL:
    missing = exp.Chr(expressions=[whole(ord(MISSING))])
    return exp.Coalesce(this=_sql_text(cell, kind), expressions=[missing])


def _digest(salt: bytes, sort: str, texts: Sequence[SQL]) -> SQL:
    keyed = text(salt.hex() + sort)
    for place, piece in enumerate(texts):
        if place:
            keyed = exp.DPipe(this=keyed, expression=exp.Chr(expressions=[whole(ord(SEPARATOR))]))
        keyed = exp.DPipe(this=keyed, expression=piece)
    return exp.MD5(this=keyed)


def _sql_text(value: exp.Column, kind: Kind) -> SQL:
    if kind == "text":
        return value.copy()
    if kind == "date":
        return DateText(this=value.copy())
    if kind == "boolean":
        return case([(value.copy(), text("true")), (negated(value.copy()), text("false"))])
    return cast(value.copy(), exp.DType.TEXT)


def sql_number(digest: SQL, place: int) -> SQL:
    """Give one of the four numbers of a hashed text."""
    digits = exp.Substring(this=digest.copy(), start=whole(8 * place + 1), length=whole(8))
    return plus(modulo(HexInteger(this=digits), whole(P - 1)), whole(1))


def sql_joined(person: str, other: SQL, add: str) -> SQL:
    """Give t = (a·x + b) mod P of two of the person's numbers and one of a group or row."""
    return modulo(plus(times(column(person), other), column(add)), whole(P))


def sql_mixed(number: str, coefficient: str) -> SQL:
    """Give (t² + a·t) mod P of two columns, as t·(t + a): below 2³¹ · 2³² = 2⁶³."""
    return modulo(times(column(number), plus(column(number), column(coefficient))), whole(P))


def sql_rank(high: SQL, low: SQL) -> SQL:
    """Join two hashes to the rank of a group."""
    return plus(times(high, whole(2**31)), low)


def sql_folded(start: SQL, contributed: Iterable[SQL]) -> SQL:
    """Fold the numbers a row contributes, each already within 0 … P − 1."""
    folded = start
    for number in contributed:
        folded = modulo(plus(times(folded, whole(FOLD)), number), whole(P))
    return folded


def sql_residue(number: str, ends: tuple[int, int]) -> SQL:
    """Give a column modulo P, within 0 … P − 1 also where it is negative.

    `ends` are the smallest and largest number it can be: most need no division, or one.
    """
    low, high = ends
    if low >= 0 and high < P:
        return column(number)
    small = low >= -P and high < P
    within = column(number) if small else modulo(column(number), whole(P))
    return modulo(plus(within, whole(P)), whole(P))
