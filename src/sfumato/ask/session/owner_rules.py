"""What the owner of a dataset fixes, as it is stated and as it is registered.

Contract: plain JSON in the ledger, exact. What a later session does not state stays as registered;
what it states differently is refused by the ledger.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sfumato.ask.engines.table_facts import kind_of_values
from sfumato.ask.language.days import Day, date_of
from sfumato.dp.guarantees import Guarantee
from sfumato.dp.neighbours import Neighbours, PrivacyUnit, Row, Unit
from sfumato.dp.rounding import stated
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.ledger.registrations import SALT_HASH, UTC, salt_hash
from sfumato.govern.limits import Limits
from sfumato.message import Argument, Call, Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.language.language import Kind, TableFacts
    from sfumato.ask.session.sources import Source
    from sfumato.govern.ledger.registrations import Registration

_ROW = Argument("unit", "row")
_PERSON = Argument("unit", Call("Unit", "user_id", {"rows": 5}))


def unit_for(given: Any, first: Source, known: Registration | None) -> PrivacyUnit:
    """Read the unit that is stated, or else the registered one, or else the schema's.

    A schema that names a person's column is never read as another unit: where what is stated or
    registered hides less, or somebody else, that is refused.
    """
    if known is not None and given is None:
        registered = _unit_from(known.rules["unit"])
        _check_person(registered, first, "the dataset is registered for")
        return registered
    wanted = given if given is not None else first.unit
    if wanted is None:
        raise ParameterError(
            Message(
                "Say whose presence is hidden: {} if every row is another person, or {} with the "
                "column that names the person.",
                _ROW,
                _PERSON,
            )
        )
    if isinstance(wanted, str):  # "row" is the only keyword; all else names a column
        wanted = Row() if wanted == "row" else Unit(wanted)
    if not isinstance(wanted, (Row, Unit)):
        raise ParameterError(
            Message(
                "A session hides one row ({}) or all rows of a person ({}), and {} was given.",
                _ROW,
                _PERSON,
                type(wanted).__name__,
            )
        )
    _check_person(wanted, first, "the session is to hide")
    return wanted


def _check_person(unit: PrivacyUnit, first: Source, whose: str) -> None:
    """Refuse another unit than the person whom the schema names."""
    if first.unit in {None, "row"} or (isinstance(unit, Unit) and unit.name == first.unit):
        return
    raise GovernanceError(
        Message(
            "The schema names {!r} as the privacy unit, and {} {}, which does not hide all rows of "
            "one {!r}. State the same unit in both, as in {}.",
            first.unit,
            whose,
            str(unit),
            first.unit,
            Argument("unit", Call("Unit", first.unit, {"rows": 5})),
        )
    )


def _unit_from(entry: Any) -> PrivacyUnit:
    return Row() if entry == "row" else Unit(**entry)


def _unit_to(unit: PrivacyUnit) -> Any:
    if not isinstance(unit, Unit):
        return "row"
    return {
        "name": unit.name,
        "rows": unit.rows,
        "groups": unit.groups,
        "rows_per_group": unit.rows_per_group,
    }


def rules_for(
    unit: PrivacyUnit, first: Source, given: dict[str, Any], known: Registration | None, salt: bytes
) -> dict[str, Any]:
    """Give what the owner fixes; what is not stated stays as registered.

    Of the salt, which is secret, rules hold the hash.
    """
    if known is not None:
        bounds = _texts(given["bounds"]) if given["bounds"] else known.rules["bounds"]
        keys = _listed(given["keys"]) if given["keys"] else known.rules["keys"]
    else:
        bounds = {**_texts(first.bounds), **_texts(given["bounds"])}
        keys = {**_listed(first.domains), **_listed(given["keys"])}
    zone = given.get("time_zone") or (UTC if known is None else known.time_zone)
    return {
        "unit": _unit_to(unit),
        "bounds": bounds,
        "keys": keys,
        SALT_HASH: salt_hash(salt),
    } | ({} if _checked_zone(zone) == UTC else {"time_zone": zone})


def _checked_zone(zone: str) -> str:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise ParameterError(
            Message(
                "{!r} is no time zone that is known here; name one as in {}.",
                zone,
                Argument("time_zone", "Europe/Vienna"),
            )
        ) from None
    return zone


def registered_kinds(known: Registration | None) -> dict[str, dict[str, str]]:
    """Give the kinds of columns by private table that are registered."""
    if known is None:
        return {}
    return {name: dict(table["kinds"]) for name, table in known.rules["tables"].items()}


def stated_kinds(
    first: Source, given: Mapping[str, Any], rules: Mapping[str, Any]
) -> dict[str, Kind]:
    """Tell of which kind columns are from what the owner says of their cells.

    Bounds are of numbers or dates; a list of values is of whole numbers, numbers, dates, truth
    values or else texts. In a schema, where all values are texts, it goes by how they are written.
    """
    found: dict[str, Kind] = {
        name: "real" if Day.read(pair[0]) is None else "date"
        for name, pair in rules["bounds"].items()
    }
    for name, listed in rules["keys"].items():
        values = given["keys"].get(name)
        found[name] = (
            kind_of_values(listed, written=name in first.domains)
            if values is None
            else kind_of_values(listed_values(name, values))
        )
    return found


def check_schema(first: Source, given: dict[str, Any], known: Registration) -> None:
    """Refuse a schema that says other things about columns than are registered.

    What a session states beside its schema stands over it, as when the dataset was registered.
    """
    bounds = {**_texts(first.bounds), **_texts(given["bounds"])}
    keys = {**_listed(first.domains), **_listed(given["keys"])}
    fixed, listed = known.rules["bounds"], known.rules["keys"]
    different = {
        "bounds": [name for name in first.bounds if bounds[name] != fixed.get(name)],
        "values": [name for name in first.domains if not _same_values(keys[name], listed, name)],
        "types": _other_kinds(first, known),
    }
    told = [f"other {what} of {', '.join(names)}" for what, names in different.items() if names]
    if told:
        raise GovernanceError(
            Message(
                "The schema states {} than the dataset {!r} was registered with, which decides. "
                "Leave the schema out, or give the one it was registered with; a question may "
                "state {} and {} of columns for which none are registered.",
                " and ".join(told),
                known.dataset,
                Argument("bounds", ...),
                Argument("keys", ...),
            )
        )


def _other_kinds(first: Source, known: Registration) -> list[str]:
    """Name columns whose type is stated to be another; people are told apart by what they are."""
    from sfumato.ask.engines.table_facts import KINDS  # noqa: PLC0415 - needed here only

    table = known.rules["tables"].get(first.name, {"kinds": {}, "person": None})
    kinds = table["kinds"]
    return [
        name
        for name, type_ in first.types.items()
        if name in kinds and name != table["person"] and kinds[name] != KINDS[type_]
    ]


def _same_values(values: Sequence[Any], listed: Mapping[str, Any], name: str) -> bool:
    return set(map(str, values)) == set(map(str, listed.get(name, ())))


def _texts(bounds: Mapping[str, tuple[Any, Any]]) -> dict[str, list[str]]:
    for name, pair in bounds.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ParameterError(
                f"The bounds of {name!r} are a pair of numbers (low, high), or of dates."
            )
    return {name: [_text(end) for end in pair] for name, pair in bounds.items()}


def _text(end: Any) -> str:
    day = Day.read(end)
    return str(stated(end)) if day is None else date_of(float(day)).isoformat()


def pair_of(texts: Sequence[str]) -> tuple[Fraction, Fraction]:
    """Read registered bounds; dates are numbers of days."""
    days = [Day.read(text) for text in texts]
    low, high = (day if day is not None else Fraction(text)
                 for text, day in zip(texts, days, strict=True))  # fmt: skip
    return low, high


def _listed(keys: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {
        name: [v.isoformat() if isinstance(v, dt.date) else v for v in listed_values(name, values)]
        for name, values in keys.items()
    }


def listed_values(name: str, values: Any) -> list[Any]:
    """Read a list of values; those of numpy become plain ones."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ParameterError(
            f"The values of the key {name!r} are a list, and a {type(values).__name__} was given."
        )
    return [value.item() if hasattr(value, "item") else value for value in values]


def clashing(extra: Iterable[str], fixed: Mapping[str, Any]) -> list[str]:
    """Name what the owner has fixed; capitals do not count, as they do not in questions."""
    known = {name.casefold() for name in fixed}
    return [name for name in extra if name.casefold() in known]


def limits_for(given: dict[str, Any], known: Registration | None, unit: PrivacyUnit) -> Limits:
    """Read the limits that are stated, about this unit, or else the registered ones."""
    found = _stated_limits(given, known)
    if found is not None:
        found.check_unit(Neighbours(found.relation, unit))
        return found
    assert known is not None
    return known.limits


def _stated_limits(given: dict[str, Any], known: Registration | None) -> Limits | None:
    limits: Limits | None = given["limits"]
    budget: Guarantee | None = given["budget"]
    if limits is not None and budget is not None:
        raise ParameterError(
            Message(
                "Give {} or limits=, not both: a budget is the dataset's limit.",
                Argument("budget"),
            )
        )
    if limits is not None:
        return limits
    if budget is None:
        if known is not None:
            return None
        raise ParameterError(
            Message(
                "Say how much may be revealed in all: {}, sf.ApproxDP(1.0, 1e-6) or sf.ZCDP(0.1).",
                Argument("budget", Call("sf.PureDP", 1.0)),
            )
        )
    if not isinstance(budget, Guarantee):
        raise ParameterError(
            Message(
                "{} is a guarantee such as sf.PureDP(1.0), and a {} was given.",
                Argument("budget"),
                type(budget).__name__,
            )
        )
    return Limits(dataset=budget)


def private_tables(tables: Iterable[TableFacts]) -> dict[str, Any]:
    """Describe the private tables as they are registered: who the person is, and every kind.

    Columns of which nothing public says of which kind they are, a later session may declare.
    """
    return {
        table.name: {"person": table.person, "kinds": kinds_of(table)}
        | ({"untyped": list(table.untyped)} if table.untyped else {})
        for table in tables
        if table.private
    }


def kinds_of(table: TableFacts) -> dict[str, str]:
    """Give the kinds of a table's columns."""
    return {column.name: column.kind for column in table.columns}


def _differing(registered: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Name what differs between two descriptions of a table; names of columns are public."""
    if registered["person"] != found["person"]:
        return "another column names the person"
    kinds, now = (
        {**dict.fromkeys(table.get("untyped", ()), "of no declared kind"), **table["kinds"]}
        for table in (registered, found)
    )
    told = [
        f"{column} is {now.get(column, 'missing')} instead of {kinds.get(column, 'not there')}"
        for column in {**kinds, **now}
        if kinds.get(column) != now.get(column)
    ]
    return f"there are other columns or kinds ({'; '.join(told)})"


def as_registered(tables: Mapping[str, Any], known: Registration) -> dict[str, Any]:
    """Describe tables as they were registered, where a difference is none.

    Columns without a kind may be declared by now. People who were registered as told apart by
    whole numbers or dates are told apart by texts: it is the same people either way.
    """
    found = dict(tables)
    for name, old in known.rules["tables"].items():
        new, person, open_ = found.get(name), old["person"], old.get("untyped", [])
        if new is None:
            continue
        kinds = {column: kind for column, kind in new["kinds"].items() if column not in open_}
        if person in kinds and person in old["kinds"] and kinds[person] == "text":
            kinds[person] = old["kinds"][person]
        there = {*new["kinds"], *new.get("untyped", [])}
        left = [column for column in open_ if column in there]
        left += [column for column in new.get("untyped", []) if column not in open_]
        found[name] = {"person": new["person"], "kinds": kinds}
        found[name] |= {"untyped": left} if left else {}
    return found


def check_tables(tables: Mapping[str, Any], known: Registration) -> None:
    """Refuse private tables, people or kinds of columns that differ from the registered ones."""
    registered = known.rules["tables"]
    for name in sorted({*registered, *tables}):
        if registered.get(name) == tables.get(name):
            continue
        if name not in tables:
            what: str = Message(
                "the private table {!r} is registered, and is missing; name it in {}",
                name,
                Argument("private"),
            )
        elif name not in registered:
            what = f"the private table {name!r} is not registered"
        else:
            what = f"{_differing(registered[name], tables[name])} of {name!r} than registered"
        raise GovernanceError(
            Message(
                "The dataset {!r} was registered with other private tables: {}. What was answered "
                "rests on them, so they do not change.",
                known.dataset,
                what,
            )
        )
