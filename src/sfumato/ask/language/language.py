"""The closed language of questions: what can be asked, and nothing else.

Contract: a :class:`Question` is a frozen value made of the classes below. SQL and the fluent API
are two ways to write one; plans, sensitivities, canonical texts and costs are derived from it and
from nothing else. There is no way to write a function of the user's, a random number or an
engine's own function in it.

Two facts hold for every :class:`Relation`, by the form of the classes:

* *It is per person.* The rows it gives for one privacy unit are a function of that unit's rows and
  of public tables. Nothing compares the rows of two people, so adding or removing a person
  changes her own rows and no other.
* *It carries the person.* Every row still belongs to exactly one unit.

So what one person can do to an aggregate is decided where the relation ends, by the bounds that
:mod:`sfumato.ask.plan.plan` enforces there, and does not have to be remembered on the way.

Every :class:`Expression` is total: it has a value, perhaps NULL, for every row. Arithmetic is
done in IEEE doubles on clamped operands, a division by 0 is NULL, NaN is NULL, and nothing can
raise (:mod:`sfumato.ask.language.analysis` has the argument).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import datetime as dt

Kind: TypeAlias = Literal["integer", "real", "text", "boolean", "date"]
Value: TypeAlias = "bool | int | Fraction | str | dt.date | None"
Bounds: TypeAlias = tuple[Fraction, Fraction]

# -- expressions: one value per row --------------------------------------------------------


@dataclass(frozen=True)
class Expression:
    """A value computed from one row; NULL where it has none."""


@dataclass(frozen=True)
class Column(Expression):
    """A column of the relation the expression is about.

    ``bounds`` are public: from the schema, or derived from the expression that made the column.
    ``counts`` says that it counts rows of a person, and so is not negative.
    """

    name: str
    kind: Kind
    bounds: Bounds | None = None
    counts: bool = False


@dataclass(frozen=True)
class Constant(Expression):
    """A value that stands in the question."""

    value: Value
    kind: Kind


@dataclass(frozen=True)
class Arithmetic(Expression):
    """``+``, ``-``, ``*`` or ``/`` of two numbers; NULL where the divisor is 0."""

    operator: Literal["+", "-", "*", "/"]
    left: Expression
    right: Expression


Function: TypeAlias = Literal[
    "abs", "floor", "ceil", "round", "least", "greatest", "coalesce",
    "lower", "upper", "substring", "length", "year", "quarter", "month", "day", "weekday",
    "year_start", "quarter_start", "month_start", "week_start", "sqrt",
]  # fmt: skip


@dataclass(frozen=True)
class Apply(Expression):
    """One of a few functions that exist on every engine and mean the same there.

    ``round`` is ⌊x + ½⌋. ``least`` and ``greatest`` are NULL when an argument is. ``substring``
    takes a text and two whole literals, the first character (from 1) and the length. ``weekday`` is
    0 on Sundays and 6 on Saturdays; ``month_start`` and its kin are the first day of the period
    that a date is in, and weeks begin on Mondays. ``sqrt`` is of noisy numbers only, and NULL of
    one below 0.
    """

    function: Function
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Compare(Expression):
    """A comparison of two values of one kind; texts compare by their bytes."""

    operator: Literal["=", "<>", "<", "<=", ">", ">="]
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Logic(Expression):
    """AND or OR of conditions, in three-valued logic."""

    operator: Literal["and", "or"]
    terms: tuple[Expression, ...]


@dataclass(frozen=True)
class Not(Expression):
    """The opposite of a condition; NULL stays NULL."""

    term: Expression


@dataclass(frozen=True)
class IsNull(Expression):
    """Whether there is no value; NaN counts as none."""

    term: Expression


@dataclass(frozen=True)
class OneOf(Expression):
    """Whether a value is among literals, none of them NULL."""

    term: Expression
    values: tuple[Constant, ...]


@dataclass(frozen=True)
class Like(Expression):
    """Whether a text matches a pattern of ``%`` and ``_``; the pattern has no backslash."""

    term: Expression
    pattern: str


@dataclass(frozen=True)
class Case(Expression):
    """The value of the first branch whose condition is true, else the default."""

    branches: tuple[tuple[Expression, Expression], ...]
    default: Expression


# -- relations: rows that each belong to one person ------------------------------------------


@dataclass(frozen=True)
class Relation:
    """Rows of people; ``columns`` names what they show, the person's own column apart."""


@dataclass(frozen=True)
class Scan(Relation):
    """All rows of a private table, by the name under which the session knows it."""

    table: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Filter(Relation):
    """The rows for which a condition is true."""

    source: Relation
    condition: Expression


@dataclass(frozen=True)
class Project(Relation):
    """The same rows with other columns."""

    source: Relation
    named: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class PersonAggregate:
    """A number about one person's rows: of all where ``term`` has a value.

    ``count`` without a term counts rows. Sums and means are of scaled integers, so that the
    order of rows does not matter (``step`` is the grid; values are clamped to ``bounds``).
    """

    function: Literal["count", "sum", "avg", "min", "max"]
    term: Expression | None
    bounds: Bounds | None = None


@dataclass(frozen=True)
class PerPerson(Relation):
    """One row per person, or per person and key, with numbers about her rows."""

    source: Relation
    keys: tuple[tuple[str, Expression], ...]
    named: tuple[tuple[str, PersonAggregate], ...]


@dataclass(frozen=True)
class JoinPublic(Relation):
    """Each row with the rows of a public table whose ``on`` columns equal its expressions.

    Columns of the public table appear under ``named`` (new name, public column). ``unique``
    states that the public columns name at most one public row, checked when it was registered and
    enforced in every plan; without it, one private row may become several, which only a unit with
    a person column allows. Rows that a join has multiplied before are cut first
    (:mod:`sfumato.ask.language.multiplication`).
    """

    source: Relation
    table: str
    on: tuple[tuple[Expression, Column], ...]
    named: tuple[tuple[str, Column], ...]
    outer: bool = False
    unique: bool = False


@dataclass(frozen=True)
class JoinPerson(Relation):
    """Pairs of rows of the same person from two relations, which may agree on further columns.

    Columns of the right side appear under ``named`` (new name, right column). Where both sides may
    have several rows of a person, ``MOST_JOINED`` of hers on each side are joined
    (:mod:`sfumato.ask.language.multiplication`).
    """

    left: Relation
    right: Relation
    on: tuple[tuple[Expression, Column], ...]
    named: tuple[tuple[str, Column], ...]
    outer: bool = False


# -- questions ------------------------------------------------------------------------------

Aggregate: TypeAlias = Literal["count", "people", "sum", "avg", "variance", "stddev", "quantile"]


@dataclass(frozen=True)
class Key:
    """A column to group by: text, integer, boolean or date.

    ``values`` are the public values it may have, from the schema or the question; then every one
    of them is answered, and rows with another are left out. None: keys are found privately.
    """

    name: str
    expression: Expression
    values: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class Measure:
    """A number about each group.

    ``people`` counts distinct units and has no term. ``count`` with a term counts its values.
    ``where`` narrows the rows that count without taking part in the choice of groups. ``bounds``
    clamp the term; None for a term that needs them means: find them privately. ``spelling`` is how
    the analyst wrote it (MEDIAN, MIN, …), for notes.
    """

    name: str
    aggregate: Aggregate
    term: Expression | None = None
    where: Expression | None = None
    bounds: Bounds | None = None
    order: Fraction | None = None  # of a quantile, in [0, 1]
    spelling: str = ""


@dataclass(frozen=True)
class Output:
    """A column of the answer: an expression over names of keys and measures."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Question:
    """What is asked: measures of groups of a relation, and what to do with the noisy numbers.

    ``outputs``, ``having``, ``order`` and ``limit`` see keys and noisy measures only, by name: they
    are post-processing and cost nothing.
    """

    relation: Relation
    measures: tuple[Measure, ...]
    keys: tuple[Key, ...] = ()
    outputs: tuple[Output, ...] = ()
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()  # (what, descending)
    limit: int | None = None


# -- what is known publicly about tables ------------------------------------------------------


@dataclass(frozen=True)
class TableFacts:
    """Public facts about a table, fixed by the owner: columns, person, public key values.

    ``person`` is None for a public table and for a private one whose unit is the row.
    ``domains`` maps a column to its public values; ``unique`` lists sets of columns of a public
    table that name at most one row, and ``repeated`` says of others how many rows agree on them at
    most. ``unasked`` names columns of kinds that no question can be about, such as lists, and
    ``untyped`` those of which nothing public says of which kind they are.
    """

    name: str
    columns: tuple[Column, ...]
    private: bool = True
    person: str | None = None
    domains: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    repeated: tuple[tuple[tuple[str, ...], int], ...] = ()
    unasked: tuple[str, ...] = ()
    untyped: tuple[str, ...] = ()
