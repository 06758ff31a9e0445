"""A promise as a field of a request.

In JSON it is the list that a release carries, `[{"definition": "KAnonymity", "k": 5}]`; on a
command line it is the options that the definitions state themselves. Only built-in definitions
can be named in JSON: nothing that comes over a network may choose which module is imported.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic_core import core_schema

from sfumato.errors import ParameterError
from sfumato.promise import BUILT_IN, built_in, from_json, is_guarantee

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.definitions.option import Option


def options() -> tuple[Option, ...]:
    """Return the options of the built-in definitions, each once."""
    stated = (built_in(name).option for name in BUILT_IN)
    return tuple(dict.fromkeys(option for option in stated if option is not None))


def read_texts(given: Mapping[str, Any], known: Iterable[Option]) -> Definition | None:
    """Return the conjunction of everything that options state, or None where nothing is."""
    parts = []
    for option in known:
        written = given.get(option.name)
        texts = [] if written is None else written if option.several else [written]
        parts += [option.read(text) for text in texts]
    return reduce(and_, parts) if parts else None


class PromiseField:
    """What pydantic needs to know about a field that holds a promise."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Take a definition as it is, and read a list of parts."""
        return core_schema.no_info_plain_validator_function(_promise)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """State a list of the definitions that can be named, each with its parameters."""
        kinds = [_schema_of(built_in(name)) for name in BUILT_IN]
        return {"anyOf": [{"type": "array", "items": {"anyOf": kinds}}, {"type": "null"}]}


def _promise(given: Any) -> Any:
    return given if given is None or not is_guarantee(given) else from_json(given)


def _schema_of(kind: type[Definition]) -> dict[str, Any]:
    """Return the JSON schema of one definition, from the fields of its class."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where a schema is asked for

    found = TypeAdapter(kind).json_schema()
    name = {"const": kind.__name__, "type": "string"}
    return {
        **found,
        "properties": {"definition": name, **found["properties"]},
        "required": ["definition", *found.get("required", ())],
        "additionalProperties": False,
    }


if TYPE_CHECKING:
    Promised = Definition | None
else:  # definitions load when one is stated
    Promised = Annotated[Any, PromiseField()]


def nothing_promised() -> ParameterError:
    """Return the error of a request that promises nothing, though it must."""
    return ParameterError(
        "Nothing is promised yet; say for instance -k 5, and -l 2:ATTRIBUTE for a sensitive "
        "attribute."
    )
