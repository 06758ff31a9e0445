"""Why a question is refused: a fixed vocabulary.

Contract: every refusal is one of :data:`REASONS`, a code and a sentence. The slots of a sentence
are filled with names and text from the question or from public facts, never with anything read
from the data, and a refusal depends on those alone: it can be made before anything is charged,
and tells nothing.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from sfumato.errors import Refused
from sfumato.message import Argument, Message

if TYPE_CHECKING:
    from collections.abc import Mapping

REASONS: Mapping[str, str] = MappingProxyType({
    # the text
    "syntax": "The question is not SQL that can be read: {what} at line {line}, column {column}.",
    "condition": "{where} is not a condition in SQL that can be read: it stops making sense "
    "{place}. Write it as after WHERE: age >= 18 AND sex = 'female'.",
    "one_statement": "A question is one SELECT statement, not {what}.",
    "too_long": "The question is too long: {what}.",
    "too_deep": "The question is nested too deeply: at most {most} levels are read.",
    "unreadable": "The question has a form that is not understood; write it more simply.",
    "unsupported": "{what} is not part of the language of questions.",
    "parameter": "A question has no parameters such as {what}; write the value itself.",
    # names
    "unknown_table": "There is no table {name}.{hint}",
    "unknown_column": "There is no column {name}.{hint}",
    "unasked_column": "The column {name} is of a type that cannot be asked about; numbers, texts, "
    "dates and truth values can.",
    "untyped_column": "Nothing public says of which type {name} is, and what its cells look like "
    "is private. Its owner states a type, bounds or values of it, in the schema or when the "
    "session is opened, or says by {types} that what they look like may be known.",
    "ambiguous_column": "{name} names more than one column; say which table it is of.",
    "long_name": "The name {name} is longer than 60 bytes, which some engines cut.",
    "duplicate_name": "Two tables of the question are called {name}; give one another name.",
    "table_function": "A question reads the tables of the session only, not {what}.",
    # what is selected
    "raw_column": "{what} would show values of single rows. A question shows aggregates such as "
    "COUNT, SUM or AVG, and the keys of GROUP BY.",
    "no_measure": "The question asks for no number: add COUNT(*) or another aggregate.",
    "not_aggregate": "{what} is not an aggregate that can be answered privately; those are COUNT, "
    "SUM, AVG, VARIANCE, STDDEV, COVAR_POP, COVAR_SAMP, CORR, MEDIAN, QUANTILE, MIN and MAX.",
    "pair_bounds": "{what} needs bounds of both terms, the lower below the upper: declare them, "
    "give bounds=, or write CLAMP(x, low, high).",
    "distinct_values": "{what} counts different values, and one person can change it by as many as "
    "she has rows; COUNT(DISTINCT person) counts people.",
    "no_person": "The unit of {name} is the row, so that there are no people to {what}.",
    "window": "Window functions compare the rows of different people: {what}.",
    "nested_aggregate": "{what} is an aggregate within an aggregate; use a sub-query with GROUP BY "
    "the person.",
    "aggregate_place": "{what} is an aggregate and cannot stand in {place}.",
    "set_operation": "{what} of queries is not answered; ask each of them on its own.",
    "function": "The function {what} is not part of the language, which has no functions of users "
    "and none that engines understand differently.",
    "time_of_day": "{what} asks for a time of day, and questions know dates without one; keep the "
    "hour in a column of its own.",
    "random": "{what} is not answered: noise comes from the session, never from the engine.",
    # the person
    "person_shown": "{name} names people: it may stand in COUNT(DISTINCT {name}), in the GROUP BY "
    "of a sub-query and in joins, and nowhere else.",
    "subquery_where": "Sub-queries in conditions are not answered; join on the person instead.",
    "subquery_group": "A sub-query that aggregates must GROUP BY the person, so that every row "
    "still belongs to one.",
    "subquery_distinct": "SELECT DISTINCT in a sub-query must list the person, so that every row "
    "still belongs to one.",
    "subquery_order": "ORDER BY and LIMIT within a sub-query compare the rows of different people.",
    "subquery_aggregate": "{what} cannot be computed per person; COUNT, SUM, AVG, MIN and MAX can.",
    "subquery_bounds": "{what} per person needs bounds: write SUM(CLAMP(x, low, high)), or give "
    "bounds.",
    "row_unit": "The unit of {name} is the row: sub-queries with GROUP BY or DISTINCT and joins of "
    "private tables would mix rows of different units.",
    # joins
    "join_kind": "A {what} is not answered: INNER and LEFT joins are.",
    "join_condition": "A join needs equalities: {what}.",
    "join_person": "Private tables are joined on the person, with {what} among the equalities.",
    "join_unique": "{name} is joined on columns that are not declared to name at most one of its "
    "rows, and the unit is the row: one row would count several times.",
    "join_many": "{name} is joined on columns on which {given} of its rows agree, and at most "
    "{most} may: join on more columns, or on others.",
    "join_public_first": "A LEFT JOIN from the public table {name} gives rows that belong to "
    "nobody; begin with the private table.",
    "public_subquery": "A sub-query on the public table {name} cannot be joined; join the table "
    "itself.",
    "public_only": "{name} is a public table: it can be read without a question.",
    # expressions
    "kind": "{what} needs {wanted}, and {given} was given.",
    "literal": "{what} needs literals.",
    "cast": "CAST of {given} to {wanted} is not part of the language: it can fail on single rows.",
    "bad_date": "{what} is not a date written as YYYY-MM-DD.",
    "bad_pattern": "A pattern of LIKE has no backslash and no ESCAPE.",
    "bad_number": "{what} is not a number that every engine can hold.",
    "bad_order": "The order of a quantile is a literal number from 0 to 1.",
    "bad_limit": "LIMIT takes a literal whole number.",
    "bad_position": "Position {what} names no column of the SELECT list.",
    "too_large": "{what} may become too large for the engines' arithmetic; clamp it "
    "with CLAMP(x, low, high).",
    "too_small": "{what} may become too close to 0 for the engines' arithmetic; divide by less, "
    "or round with FLOOR.",
    # groups
    "grouping_sets": "{what} is several tables in one: ask it by session.sql, or for each with its "
    "own GROUP BY, or for the finest and add up its numbers, which is free.",
    "grouping_item": "{what} mixes keys that some of the groupings lack with others; show such a "
    "key as it is, as COALESCE(key, 'all') or by GROUPING(key).",
    "grouping_order": "ORDER BY {what} is not in the SELECT list; where there are several "
    "groupings, rows are ordered by what is shown.",
    "too_many_sets": "These are {what} groupings at once; at most {most} are answered together.",
    "real_key": "Groups of real numbers cannot be answered: {what} has too many values; use "
    "FLOOR(x / 10) * 10.",
    "large_key": "{what} may pass 2^62 and cannot be a key.",
    "too_many_groups": "The public values of the keys make {what} groups; at most {most} are "
    "answered at once.",
    "constant_key": "GROUP BY {what} is a constant.",
    "distinct_top": "SELECT DISTINCT shows values of single rows.",
    "unknown_keys": "The groups of this question are not known beforehand, and finding them "
    "privately takes some δ, which a budget of {kind} does not have. Give the values with "
    "{keys}, name them in the schema, or open the session with "
    "sf.ApproxDP(epsilon, delta).",
    # what one person may contribute
    "unit_bounds": "Nothing limits {what} for the unit '{name}', so no noise would hide a person. "
    "The owner declares it when the dataset is registered, as in {example}; COUNT(DISTINCT "
    "{name}) without GROUP BY needs no limit.",
    "date_bounds": "{what} of dates is looked for between bounds, and none are known: give "
    "{bounds}.",
    "people_filter": "COUNT(DISTINCT {name}) with FILTER is not answered: the rows kept of a "
    "person need not be those it counts; use WHERE.",
    "nothing_asked": "All that is asked for is 0 whatever the data are, since bounds leave no "
    "other value; give wider bounds.",
})  # fmt: skip

ARGUMENTS: Mapping[str, Mapping[str, Argument]] = MappingProxyType(
    {
        "condition": {"where": Argument("where")},
        "untyped_column": {"types": Argument("public_types", ["column"])},
        "unknown_keys": {"keys": Argument("keys", {"column": [...]})},
        "date_bounds": {"bounds": Argument("bounds", {"column": ("2020-01-01", "2029-12-31")})},
    }
)
"""The arguments that a sentence always speaks of, by its code."""

_MOST_SHOWN = 80


def refuse(code: str, **slots: object) -> Refused:
    """Make a refusal; the caller raises it."""
    filled = {name: _shown(slot) for name, slot in slots.items()}
    named = {name: slot for name, slot in slots.items() if isinstance(slot, Argument)}
    message = Message(REASONS[code], **{**filled, **ARGUMENTS.get(code, {}), **named})
    return Refused(message, code=code, slots=filled)


def _shown(slot: object) -> str:
    """Print a slot on one line and not too long, so that a question cannot fill a log."""
    text = "".join(c if c.isprintable() else " " for c in str(slot))
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"
