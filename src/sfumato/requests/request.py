"""The base of all requests, and how a field says what it means.

`option` and `argument` describe a field for every reader at once: the description and limits go
into the JSON schema, flags and metavar too (as `x-flags`, `x-metavar`), where the command line and
forms find them. `Texts` marks a field whose value can also be written as text, such as
`age=0,100`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic_core import core_schema

from sfumato.data.wording import explained
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from typing import Self

    from pydantic import GetCoreSchemaHandler

FLAGS, METAVAR = "x-flags", "x-metavar"


class Request(BaseModel):
    """A frozen value that has been checked; strangers among its fields are refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        defer_build=True,  # a command validates one model, and its help none
    )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Read a mapping, such as the body of an HTTP request; say what is wrong in a sentence."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise ParameterError(explained(error, cls)) from None


def piece(model: type[BaseModel]) -> Any:
    """Give a field that is a request of its own its default: that request with nothing stated."""
    return Field(default_factory=model)


def option(*flags: str, help: str, metavar: str | None = None, **limits: Any) -> Any:  # noqa: A002 - as Typer calls it
    """Describe a field that is an option of a command; the flag is its name if none is given."""
    extra: dict[str, Any] = {FLAGS: list(flags)} if flags else {}
    if metavar is not None:
        extra[METAVAR] = metavar
    return Field(description=help, json_schema_extra=extra, **limits)


def argument(*, help: str, metavar: str | None = None) -> Any:  # noqa: A002 - as above
    """Describe a field that a command takes by its place."""
    extra: dict[str, Any] = {FLAGS: []}
    if metavar is not None:
        extra[METAVAR] = metavar
    return Field(description=help, json_schema_extra=extra)


@dataclass(frozen=True)
class Texts:
    """How a value is read where it comes as text: one, or several where it may be repeated."""

    read: Callable[[Any], Any]
    several: bool = True

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Read texts before the value is checked."""
        return core_schema.no_info_before_validator_function(self._read, handler(source))

    def _read(self, given: Any) -> Any:
        written = given if isinstance(given, list | tuple) and self.several else [given]
        if written and all(isinstance(text, str) for text in written):
            return self.read(given)
        return given


def _decimal(given: Any) -> Any:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return repr(given) if is_number else given


Amount = Annotated[
    str,
    BeforeValidator(_decimal),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]}),
]
"""A privacy parameter: the decimal as it was written, which is what is promised."""
