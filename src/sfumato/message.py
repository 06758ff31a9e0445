"""Sentences that speak of arguments, and are spelt at the edge where they are read.

Contract: a :class:`Message` is a text as whoever calls from Python reads it, ``epsilon=0.1``; it
keeps the sentence and what fills it, so that another edge tells the same in its own words, as the
command line does with ``--epsilon 0.1``. Nobody reads a sentence back to find what it is about.

    >>> message = Message("Give {} or {}.", Argument("epsilon", 0.1), Argument("accuracy"))
    >>> print(message)
    Give epsilon=0.1 or accuracy=.
    >>> message.told(lambda part: f"--{part.name}" if isinstance(part, Argument) else str(part))
    'Give --epsilon or --accuracy.'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Call:
    """A value that is made by calling something, as ``Unit('user_id', rows=5)``."""

    function: str
    first: Any
    rest: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        named = [f"{name}={in_python(value)}" for name, value in (self.rest or {}).items()]
        return f"{self.function}({', '.join([in_python(self.first), *named])})"


@dataclass(frozen=True)
class Word:
    """A word that stands for a value, as ``low``."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Argument:
    """An argument that a sentence names, with an example value or none: ``bins=[0, 50, 100]``.

    ``...`` is an example that says nothing, None that there is none.
    """

    name: str
    example: Any = None

    def __str__(self) -> str:
        return f"{self.name}={'' if self.example is None else in_python(self.example)}"


@dataclass(frozen=True)
class Ways:
    """How to do something: by a call in Python, or by a command."""

    call: str
    command: str

    def __str__(self) -> str:
        return f"{self.call} or `{self.command}`"


Part = Argument | Ways


def in_python(value: Any) -> str:
    """Write an example as in Python; ``...`` as an ellipsis."""
    if value is ...:
        return "…"
    if isinstance(value, dict):
        inner = ", ".join(f"{name!r}: {in_python(item)}" for name, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        inner = ", ".join(in_python(item) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return str(value) if isinstance(value, Call | Word) else repr(value)


class Message(str):
    """A sentence with its parts; as a text, what Python is told."""

    __slots__ = ("named", "parts", "sentence")

    sentence: str
    parts: tuple[object, ...]
    named: dict[str, object]

    def __new__(cls, sentence: str, *parts: object, **named: object) -> Self:
        """Fill a sentence, written as for :meth:`str.format`."""
        made = super().__new__(cls, sentence.format(*parts, **named))
        made.sentence, made.parts, made.named = sentence, parts, named
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.sentence, self.parts, self.named)

    def told(self, spell: Callable[[Part], str]) -> str:
        """Tell the same with arguments and ways as another edge spells them."""
        return self.sentence.format(
            *(_told(part, spell) for part in self.parts),
            **{name: _told(part, spell) for name, part in self.named.items()},
        )


def _again(sentence: str, parts: tuple[object, ...], named: dict[str, object]) -> Message:
    return Message(sentence, *parts, **named)


def _told(part: object, spell: Callable[[Part], str]) -> object:
    if isinstance(part, Message):
        return part.told(spell)
    return spell(part) if isinstance(part, Argument | Ways) else part
