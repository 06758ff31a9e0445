"""From a request's model to the parameters of a command, and back.

`@takes_request` gives a command that takes one request the options and arguments that the fields
of its model describe: fields that are models themselves give theirs, a promise gives the options
of the definitions. What was typed is put together again, checked by the model, and handed over;
what the model finds wrong is told in the words of the command line.
"""

from __future__ import annotations

from functools import wraps
from inspect import Parameter, Signature, signature
from types import GenericAlias, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import typer
from pydantic import BaseModel, ValidationError

from sfumato.data.wording import explained
from sfumato.errors import ParameterError
from sfumato.requests.promises import PromiseField, read_texts
from sfumato.requests.request import FLAGS, METAVAR, Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydantic.fields import FieldInfo

    from sfumato.anonymize.definitions.option import Option


def takes_request(command: Callable[[Any], None]) -> Callable[..., None]:
    """Give a command the parameters of the request that it takes."""
    [asked] = signature(command, eval_str=True).parameters.values()
    return give_parameters(command, asked.annotation)


def give_parameters(command: Callable[[Any], None], model: type[BaseModel]) -> Callable[..., None]:
    """Give a command the parameters of a model, which may say more than its annotation does."""

    @wraps(command)
    def called(**given: Any) -> None:
        command(request_from(model, given))

    shown = list(parameters(model))
    called.__signature__ = Signature(shown)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return called


def request_from(model: type[BaseModel], given: Mapping[str, Any]) -> Any:
    """Return the request that was typed; what was left out is as the model says."""
    try:
        return model.model_validate(_gathered(model, given))
    except ValidationError as error:
        raise ParameterError(explained(error, model, called=_flags(model))) from None


def _gathered(model: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        inner = _model_of(field)
        if inner is not None:
            found[name] = _gathered(inner, given)
        elif _is_promise(field):
            found[name] = read_texts(given, _promise_options())
        elif given.get(name) is not None:
            found[name] = given[name]
    return found


def parameters(model: type[BaseModel]) -> Iterator[Parameter]:
    """Give the parameters of a command, in the order of the fields."""
    for name, field in model.model_fields.items():
        inner = _model_of(field)
        if inner is not None:
            yield from parameters(inner)
        elif _is_promise(field):
            for option in _promise_options():
                kind = list[str] | None if option.several else str | None
                shown = typer.Option(*option.flags, metavar=option.metavar, help=option.help)
                yield _parameter(option.name, kind, shown, None)
        else:
            default = Parameter.empty if field.is_required() else _default(field)
            yield _parameter(name, _typed(field), _shown(field), default)


def _parameter(name: str, kind: Any, shown: Any, default: Any) -> Parameter:
    annotation = Annotated[kind, shown]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _shown(field: FieldInfo) -> Any:
    """Return what Typer is told about a field."""
    extra: Any = field.json_schema_extra or {}
    words: dict[str, Any] = {"metavar": extra.get(METAVAR), "help": field.description}
    if extra.get(FLAGS) == []:
        return typer.Argument(**words)
    least = next((item.ge for item in field.metadata if hasattr(item, "ge")), None)
    if least is not None and int in {_plain(field.annotation), *get_args(_plain(field.annotation))}:
        words["min"] = least
    return typer.Option(*extra.get(FLAGS, ()), **words)


def _typed(field: FieldInfo) -> Any:
    """Return the type that Typer reads: texts as they are, lists as options that repeat."""
    texts = next((item for item in field.metadata if isinstance(item, Texts)), None)
    if texts is not None:
        return list[str] | None if texts.several else str | None
    plain = _plain(field.annotation)
    if get_origin(plain) is tuple:
        kind: Any = GenericAlias(list, get_args(plain)[:1])
        return kind if field.is_required() else kind | None
    return plain


def _default(field: FieldInfo) -> Any:
    """Return the default as Typer shows it; an empty one is absent."""
    found = field.get_default(call_default_factory=True)
    return found if found or isinstance(found, bool | int | float | str) else None


def _plain(annotation: Any) -> Any:
    """Return a type without what pydantic is told about it."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        [kind] = [part for part in get_args(annotation) if part is not NoneType]
        return _plain(kind) | None
    return annotation


def _model_of(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _promise_options() -> Sequence[Option]:
    from sfumato.cli.options.promise import OPTIONS  # noqa: PLC0415 - loads all definitions

    return OPTIONS


def _is_promise(field: FieldInfo) -> bool:
    return any(isinstance(item, PromiseField) for item in field.metadata)


def _flags(model: type[BaseModel]) -> dict[str, str]:
    """Return how each field is called on the command line."""
    found: dict[str, str] = {}
    for name, field in model.model_fields.items():
        inner = _model_of(field)
        if inner is not None:
            found |= _flags(inner)
            continue
        extra: Any = field.json_schema_extra or {}
        flags = extra.get(FLAGS)
        found[name] = name.upper() if flags == [] else (flags or [f"--{name.replace('_', '-')}"])[0]
    return found
