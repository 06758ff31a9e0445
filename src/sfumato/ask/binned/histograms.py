"""Histograms of one and more columns, and grids on the globe, as questions.

Contract: a histogram is a question like any other: it is charged, bounded and answered the same
way. What this module adds is that its groups are bins with public labels, so that empty bins are
answered too and none has to be found. Bins of counts and bins of sums have sensitivities of their
own, derived from the unit and the bounds of the summed column
(:mod:`sfumato.ask.price.contributions`), and are accounted together when both are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.answers.note import Note
from sfumato.ask.binned.bins import binned
from sfumato.ask.language.build import NUMBERS
from sfumato.ask.language.language import Column, Filter, Question
from sfumato.ask.language.refusals import refuse
from sfumato.ask.plan.pruning import pruned
from sfumato.ask.scope.assembly import GivenFacts, check_groups, key, measure
from sfumato.ask.scope.scopes import Name, PersonName, fresh, scan
from sfumato.ask.sql.parse import parse
from sfumato.dp.rounding import stated
from sfumato.errors import ParameterError, Refused
from sfumato.message import Argument, Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.answers.answer import Answer
    from sfumato.ask.binned.bins import BinnedColumn
    from sfumato.ask.language.language import Bounds, Expression, Key
    from sfumato.ask.scope.scopes import Scope
    from sfumato.ask.session.dataset import OpenDataset

LATITUDE, LONGITUDE = "latitude", "longitude"
_CONDITION = Message(
    "{} is one condition in SQL, as in {}.",
    Argument("where"),
    Argument("where", "age >= 18 AND sex = 'female'"),
)


@dataclass(frozen=True)
class BinnedQuestion:
    """A question whose groups are bins, and what its answer has to say about them."""

    question: Question
    notes: tuple[str, ...]

    def noted(self, answer: Answer) -> Answer:
        """Add the notes to the answer."""
        return replace(answer, notes=(*answer.notes, *map(Note, self.notes)))


def histogram_question(
    opened: OpenDataset,
    columns: str | Sequence[str],
    *,
    bins: Any = None,
    sums: str | Sequence[str] | None = None,
    counts: bool = True,
    where: str | None = None,
    bounds: Any = None,
    missing: bool = False,
) -> BinnedQuestion:
    """Ask for the number of rows, and sums of further columns, in every bin."""
    scope = _scope(opened, where)
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names or len({name.lower() for name in names}) < len(names):
        raise ParameterError("A histogram is of at least one column, and of each one once.")
    limits = _bounds(opened, names, bounds)
    found = {}
    for name in names:
        column = _column(scope, name)
        found[column.name] = binned(
            column,
            _bins_of(bins, name, several=len(names) > 1),
            domain=dict(scope.domains).get(column.name),
            bounds=limits.get(name.lower()) or (None if column.kind == "date" else column.bounds),
            with_missing=missing,
        )
    return _question(scope, found, _listed(sums), counts=counts, limits=limits, binned_by=names)


def map_question(
    opened: OpenDataset,
    *,
    latitude: str,
    longitude: str,
    box: tuple[Any, Any, Any, Any],
    rows: int = 20,
    columns: int = 20,
    sums: str | Sequence[str] | None = None,
    counts: bool = True,
    where: str | None = None,
    bounds: Any = None,
) -> BinnedQuestion:
    """Ask for the number of rows, and sums, in every cell of a grid on the globe."""
    scope = _scope(opened, where)
    south, west, north, east = _box(box)
    limits = _bounds(opened, (), bounds)
    found = {}
    for label, name, count, ends in (
        (LATITUDE, latitude, rows, (south, north)),
        (LONGITUDE, longitude, columns, (west, east)),
    ):
        column = _column(scope, name)
        if column.kind not in NUMBERS:
            raise ParameterError(f"{name!r} is not a column of numbers, as {label}s are.")
        real = replace(column, kind="real")  # a cell reaches between degrees, whole or not
        cut = binned(real, count, domain=None, bounds=ends)
        found[label] = replace(cut, expression=_as_column(cut.expression, real, column))
    return _question(scope, found, _listed(sums), counts=counts, limits=limits, binned_by=())


def _as_column(expression: Expression, real: Column, column: Column) -> Expression:
    from sfumato.ask.language.walk import transformed  # noqa: PLC0415 - used by one function

    return transformed(expression, lambda term: column if term == real else term)


def _question(
    scope: Scope,
    found: Mapping[str, BinnedColumn],
    sums: Sequence[str],
    *,
    counts: bool,
    limits: Mapping[str, Any],
    binned_by: Sequence[str],
) -> BinnedQuestion:
    if not counts and not sums:
        raise ParameterError("A histogram shows counts, sums or both; ask for one of them.")
    terms = [_column(scope, name) for name in sums]
    for term in terms:
        if term.kind not in NUMBERS:
            raise ParameterError(f"{term.name!r} is not a column of numbers, so it has no sums.")
    keys = _keys(scope, found)
    wanted = {name: pair for name, pair in limits.items() if name in {s.lower() for s in sums}}
    strange = [n for n in limits if n not in wanted and n not in {b.lower() for b in binned_by}]
    if strange:
        raise ParameterError(
            f"Bounds were given for {strange[0]!r}, which is not in the histogram."
        )
    given = GivenFacts.read(wanted, {})
    taken = [key.name for key in keys]
    measures = []
    if counts:
        measures.append(measure(fresh("count", taken), "count", None, given, spelling="COUNT"))
    for term in terms:
        name = fresh(term.name, [*taken, *(known.name for known in measures)])
        measures.append(measure(name, "sum", term, given, spelling="SUM"))
    question = Question(scope.relation, tuple(measures), keys)
    return BinnedQuestion(pruned(question), tuple(binned.left_out for binned in found.values()))


def _keys(scope: Scope, found: Mapping[str, BinnedColumn]) -> tuple[Key, ...]:
    keys = []
    for name, cut in found.items():
        given = GivenFacts.read({}, {name: cut.values})
        keys.append(key(name, cut.expression, scope, given))
    check_groups(keys)
    return tuple(keys)


def _scope(opened: OpenDataset, where: str | None) -> Scope:
    facts = opened.facts[opened.table]
    scope = scan(facts, facts.name)
    return scope if where is None else scope.filtered(_condition(opened, where))


def _condition(opened: OpenDataset, where: str) -> Expression | None:
    """Read a condition by asking for the rows it is true of."""
    if not isinstance(where, str):
        raise ParameterError(_CONDITION)
    table = '"' + opened.table.replace('"', '""') + '"'
    asked = f"SELECT COUNT(*) FROM {table} WHERE (\n{where}\n)"  # noqa: S608 - read, never run
    try:
        parsed = parse(asked, opened.facts)
    except Refused as refused:
        if refused.code == "syntax":
            raise refuse("condition", place=_place(refused, where)) from None
        raise
    if parsed.keys or parsed.having or parsed.order or parsed.limit is not None:
        raise ParameterError(_CONDITION)
    if not isinstance(parsed.relation, Filter):
        return None  # the condition is always true
    return parsed.relation.condition


def _place(refused: Refused, where: str) -> str:
    """Tell where a condition is at fault; it stands in the second line of what is read."""
    line, column = int(refused.slots["line"]) - 1, int(refused.slots["column"])
    lines = where.splitlines() or [""]
    if not 1 <= line <= len(lines):
        return "at its end"
    return f"at column {column}" + ("" if len(lines) == 1 else f" of line {line}")


def _column(scope: Scope, name: str) -> Column:
    if not isinstance(name, str):
        raise ParameterError("A histogram is of columns, by their names.")
    found = scope.find(Name(name))
    if isinstance(found, PersonName):
        raise refuse("person_shown", name=found.name)
    assert isinstance(found, Column)  # a scan shows columns alone
    return found


def _bins_of(bins: Any, name: str, *, several: bool) -> Any:
    if isinstance(bins, Mapping):
        lowered = {str(key).lower(): value for key, value in bins.items()}
        return lowered.get(name.lower())
    if several and bins is not None and not isinstance(bins, int):
        raise ParameterError(
            Message(
                "Of several columns, {} is a number for all of them or names each, as in {}.",
                Argument("bins"),
                Argument("bins", {"age": 10, "sex": ["female", "male"]}),
            )
        )
    return bins


def _bounds(opened: OpenDataset, names: Sequence[str], bounds: Any) -> dict[str, Bounds]:
    if bounds is None:
        return {}
    given = bounds if isinstance(bounds, Mapping) else None
    if given is None:
        if len(names) != 1:
            raise ParameterError(
                Message(
                    "{} names its columns, as in {}; a pair alone is for a histogram of one "
                    "column.",
                    Argument("bounds"),
                    Argument("bounds", {"age": (0, 100)}),
                )
            )
        given = {names[0]: bounds}
    try:
        read = {n.lower(): (stated(low), stated(high)) for n, (low, high) in given.items()}
    except (TypeError, ValueError, ArithmeticError):
        raise ParameterError("Bounds are pairs of numbers (low, high) with low < high.") from None
    opened.own_bounds(dict(given))  # the owner's bounds stay as they are
    return read


def _listed(sums: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if sums is None else (sums,) if isinstance(sums, str) else tuple(sums)


def _box(box: Any) -> tuple[Any, Any, Any, Any]:
    try:
        south, west, north, east = (stated(end) for end in box)
    except (TypeError, ValueError, ArithmeticError):
        raise ParameterError(
            Message(
                "{} is (south, west, north, east) in degrees, as in {}.",
                Argument("box"),
                Argument("box", (46.2, 10.4, 47.1, 12.5)),
            )
        ) from None
    if not -90 <= south < north <= 90 or not -180 <= west < east <= 180:
        raise ParameterError(
            Message(
                "{} is (south, west, north, east) in degrees with south < north within ±90 and "
                "west < east within ±180; cut a box that crosses the date line in two.",
                Argument("box"),
            )
        )
    return south, west, north, east
