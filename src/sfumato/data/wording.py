"""What a message says when a name or a parameter is wrong.

Contract: every sentence names what is wrong, what is allowed and, where a name looks like
a slip, the name that was probably meant. Only parameters are quoted, never data.
"""

from __future__ import annotations

from difflib import get_close_matches
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, get_args

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pydantic import BaseModel, ValidationError

LONGEST_LIST = 12
"""Names listed in full in a message; beyond this the rest is counted."""


def listed(names: Iterable[str]) -> str:
    """Return the names in one line, the tail of a long list as a count."""
    every = list(names)
    if not every:
        return "none"
    shown = ", ".join(every[:LONGEST_LIST])
    rest = len(every) - LONGEST_LIST
    return f"{shown} and {rest} more" if rest > 0 else shown


def enumerated(names: Iterable[str]) -> str:
    """Return all names as a sentence lists them: `a, b and c`."""
    every = list(names)
    return " and ".join(filter(None, [", ".join(every[:-1]), *every[-1:]]))


def some(number: float, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 class`, `2,000 classes`."""
    return f"{round(number):,} {noun if number == 1 else plural or noun + 's'}"


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?` where one allowed name is close, else nothing."""
    by_folded = {option.casefold(): option for option in allowed}
    close = get_close_matches(name.casefold(), list(by_folded), n=1, cutoff=0.6)
    return f" Did you mean '{by_folded[close[0]]}'?" if close else ""


def look_like_a_record(names: Iterable[str]) -> bool:
    """Tell whether names of columns are rather cells: a file without a line of names has such."""
    return any((name[-1:].isdigit() and not name[:1].isalpha()) or "@" in name for name in names)


def its_columns(columns: Iterable[str], wanted: str) -> str:
    """Say which columns there are, and which one was probably meant.

    Where the first line of a file looks like a record, it is one: nothing of it is quoted.
    """
    names = list(columns)
    if look_like_a_record(names):
        return (
            "its first line looks like a record and not like names: a table needs a line of "
            "column names first."
        )
    return f"its columns are {listed(names)}.{did_you_mean(wanted, names)}"


def check_options(
    who: str, function: Callable[..., Any], options: Iterable[str], also: Iterable[str] = ()
) -> None:
    """Refuse options that a function does not take by name, with the one that was probably meant.

    `also` names what the reader may have meant although the function never sees it. A function that
    hands options on takes any name here.
    """
    parameters = signature(function).parameters.values()
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        return
    known = [parameter.name for parameter in parameters if parameter.kind is Parameter.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            shown = [name for name in known if name != "progress"]
            raise ParameterError(
                f"{who} has no option '{option}'; it has {listed(shown)}."
                f"{did_you_mean(option, [*known, *also])}"
            )


def explained(
    error: ValidationError, model: type[BaseModel], called: Mapping[str, str] | None = None
) -> str:
    """Return what pydantic found, in our words; `called` gives the names the reader knows."""
    return " ".join(_one(found, model, called) for found in error.errors(include_url=False))


def _one(
    found: Mapping[str, Any], model: type[BaseModel], called: Mapping[str, str] | None = None
) -> str:
    parts = [str(part) for part in found["loc"] if not str(part).startswith("function")]
    place = ".".join(parts)
    if called is not None:
        place = next((called[part] for part in reversed(parts) if part in called), place)
    context = found.get("ctx", {})
    kind = found["type"]
    if kind == "extra_forbidden":
        fields = _holding(model, parts).model_fields
        allowed = [str(field.validation_alias or name) for name, field in fields.items()]
        return (
            f"'{place}' is unknown; allowed are {listed(allowed)}."
            f"{did_you_mean(parts[-1] if parts else place, allowed)}"
        )
    if kind == "literal_error":
        given = str(found["input"])
        options = [part.strip(" '") for part in context["expected"].replace(" or ", ",").split(",")]
        return (
            f"'{place}' must be one of {listed(options)}, but '{given}' was given."
            f"{did_you_mean(given, options)}"
        )
    if kind == "missing":
        name = parts[-1] if parts else place
        return f"'{place}' is missing; {_meaning(_holding(model, parts), name)}"
    if kind == "value_error":
        return str(context["error"])
    wish = found["msg"].replace("Input should be", "must be").rstrip(".")
    return f"'{place}' {wish}, but {_shortened(found['input'])} was given."


def _holding(model: type[BaseModel], parts: Sequence[str]) -> type[BaseModel]:
    """Find the model whose field a path ends in: that of a part, where the path goes into one."""
    for part in parts[:-1]:
        held = model.model_fields.get(part)
        if held is not None:
            model = next(_models(held.annotation), model)
    return model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Give the models in an annotation, such as that of `list[Question] | None`."""
    if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _meaning(model: type[BaseModel], name: str) -> str:
    described = model.model_fields[name].description if name in model.model_fields else None
    return f"give {described}." if described else "give it a value."


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
