"""A survey: one question, its possible answers, and what the person is promised.

Contract: a :class:`Survey` is a frozen value that everybody holds: the page in the browser, the
collector, the analyst. It is public. ``terms`` is the start of a SHA-256 over everything that
gives a report its meaning (id, version, question, answers, protocol, ε, memory), so that reports
made on other terms are recognised and never mixed, even where somebody changed the file and forgot
to raise the version. Who asks, an explanation and where reports are sent may change freely.

``told`` is the sentence about the guarantee that a person reads. It is computed from the
probabilities really used and cannot be worded otherwise: a promise that does not fit the coins
would be a lie.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sfumato.dp.mechanisms import parameters
from sfumato.dp.rounding import Stated, exp_up, stated
from sfumato.errors import ParameterError, SchemaError
from sfumato.local.wire.messages import Address
from sfumato.representation import Shown

if TYPE_CHECKING:
    from fractions import Fraction

    from sfumato.local.protocols.protocol import FrequencyProtocol

PROTOCOLS = {
    "GRR": "grr",
    "Hadamard": "hadamard",
    "OLH": "olh",
    "OUE": "unary",
    "SUE": "unary",
    "SubsetSelection": "subset",
}
"""The protocols that a person's browser can run, and their homes."""

MOST_ANSWERS = 1 << 16
_ID = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")


@dataclass(frozen=True)
class Survey(Shown):
    """A question to people who trust nobody."""

    id: str
    question: str
    answers: tuple[str, ...]
    epsilon: Fraction
    protocol_name: str
    version: int = 1
    asked_by: str = ""
    about: str = ""
    send_to: str = ""
    remember: bool = False
    protocol: FrequencyProtocol = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("question", "asked_by", "about"):
            object.__setattr__(self, name, " ".join(str(getattr(self, name)).split()))
        object.__setattr__(self, "answers", tuple(self.answers))
        object.__setattr__(self, "epsilon", parameters.budget(self.epsilon))
        _check(self)
        object.__setattr__(self, "protocol", self._build())
        if stated(self.protocol.guarantee.epsilon) > self.epsilon:
            raise ArithmeticError("a protocol promises no less than was asked")

    @classmethod
    def of(
        cls,
        id: str,  # noqa: A002 - the word of the file
        question: str,
        answers: list[str] | tuple[str, ...],
        *,
        epsilon: Stated,
        protocol: str | None = None,
        version: int = 1,
        asked_by: str = "",
        about: str = "",
        send_to: str = "",
        remember: bool = False,
    ) -> Survey:
        """Make a survey; without a protocol, take the one with the least variance."""
        budget = parameters.budget(epsilon)
        name = protocol or most_accurate(len(answers), budget)
        return cls(
            id, question, tuple(answers), budget, name, version, asked_by, about, send_to, remember
        )

    def _build(self) -> FrequencyProtocol:
        home = import_module(f"sfumato.local.protocols.{PROTOCOLS[self.protocol_name]}")
        kind: type[FrequencyProtocol] = getattr(home, self.protocol_name)
        return kind(self.answers, epsilon=self.epsilon)

    @cached_property
    def terms(self) -> bytes:
        """The start of a digest of all that gives a report its meaning."""
        agreed = {
            "answers": self.answers,
            "epsilon": str(self.epsilon),
            "id": self.id,
            "protocol": self.protocol_name,
            "question": self.question,
            "remember": self.remember,
            "version": self.version,
        }
        text = json.dumps(agreed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).digest()[:6]

    @property
    def told(self) -> str:
        """The guarantee in a sentence, its factor rounded up."""
        factor = exp_up(self.epsilon)
        likely = f"{math.ceil(100 * factor) / 100:g}" if factor < 100 else f"{math.ceil(factor):,}"
        again = (
            " Answering the same way again sends the same report again, which tells nothing new."
            if self.remember
            else ""
        )
        return (
            "Your true answer never leaves this device: what is sent has been disguised by chance, "
            f"and any one answer makes it at most {likely} times as likely as any other answer "
            f"does (local differential privacy with ε = {plain_number(self.epsilon)}).{again}"
        )

    @property
    def address(self) -> Address:
        """What reports to this survey carry."""
        return Address(self.id, self.version, self.terms)


def plain_number(number: Fraction) -> int | float | str:
    """Give a number as a person would write it, and as exactly."""
    if number.denominator == 1:
        return number.numerator
    near = float(number)
    return near if stated(near) == number else str(number)


def most_accurate(answers: int, epsilon: Fraction) -> str:
    """Name the protocol with the least variance among those that a browser can run."""
    from sfumato.local.comparison import best  # noqa: PLC0415 - needed to choose only

    if answers < 2:
        raise SchemaError("A survey has at least two answers.")
    compared = best(answers, epsilon, 1).candidates
    return next(candidate.name for candidate in compared if candidate.name in PROTOCOLS)


def _check(survey: Survey) -> None:
    if not _ID.fullmatch(survey.id):
        raise SchemaError(
            "The id of a survey is 1 to 64 of the characters a-z, 0-9, '.', '_' and '-', and "
            f"begins and ends with a letter or digit; {survey.id!r} was given."
        )
    if not 1 <= survey.version < 1 << 16:
        raise SchemaError(f"A survey's version is 1 to 65535, and {survey.version} was given.")
    if _torn(survey.question):
        raise SchemaError("The question has half of a surrogate pair, which is no character.")
    if not survey.question:
        raise SchemaError("A survey asks a question; write it under 'question'.")
    _check_answers(survey.answers)
    if survey.protocol_name not in PROTOCOLS:
        raise ParameterError(
            f"A survey's protocol is one of {', '.join(PROTOCOLS)}, and "
            f"{survey.protocol_name!r} was given."
        )
    _check_target(survey.send_to)


def _check_answers(answers: tuple[str, ...]) -> None:
    if not 2 <= len(answers) <= MOST_ANSWERS:
        raise SchemaError(
            f"A survey has 2 to {MOST_ANSWERS:,} answers, and {len(answers)} were given."
        )
    if any(not isinstance(text, str) or not text or text != text.strip() for text in answers):
        raise SchemaError("Every answer is a text, without spaces around it and not empty.")
    if any(not text.isprintable() and _torn(text) for text in answers):
        raise SchemaError("An answer has half of a surrogate pair, which is no character.")
    if len(set(answers)) < len(answers):
        raise SchemaError("The answers of a survey are distinct, and one was given twice.")


def _torn(text: str) -> bool:
    """Say whether a text has no UTF-8 bytes."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _check_target(address: str) -> None:
    parts = urlsplit(address)
    plain = not re.search(r"[\s;,'\"\\]", address)
    local = address.startswith("/") and not address.startswith("//")
    if address and not (plain and (local or (parts.scheme in {"http", "https"} and parts.netloc))):
        raise SchemaError(
            "A survey is sent to an address such as https://example.org/reports or a path such as "
            f"/reports on the server of the page; {address!r} was given."
        )
