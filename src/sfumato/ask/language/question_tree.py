"""A canonical question as a tree: what the ledger keeps of it so that it can be shown to people.

Contract: ``tree_from_json(tree_to_json(tree)) == tree``. The tree says what the canonical text says
and is made with it (:func:`sfumato.ask.language.canonical.write`), by the same code; it decides
nothing. What is compared and hashed is the text.

    ["name", "age"]   ["value", "'nurse'"]   ["pair", "<", …, …]   ["call", "missing", …]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias


class Unreadable(ValueError):  # noqa: N818 - says what the text is
    """The text or the JSON is none that canonical questions have."""


@dataclass(frozen=True)
class Literal:
    """A value that stands in the question."""

    text: str


@dataclass(frozen=True)
class Name:
    """A column."""

    text: str


@dataclass(frozen=True)
class Call:
    """A word with what it is applied to; nothing for a key or a measure."""

    word: str
    of: tuple[Term, ...]


@dataclass(frozen=True)
class Pair:
    """Two terms with a sign between them."""

    sign: str
    left: Term
    right: Term


Term: TypeAlias = "Literal | Name | Call | Pair"


@dataclass(frozen=True)
class ReadMeasure:
    """A number about groups."""

    aggregate: str
    of: Term | None = None
    within: tuple[str, str] | None = None
    order: str | None = None
    where: tuple[Term, ...] = ()


@dataclass
class ReadQuestion:
    """The parts of a question."""

    source: Term
    keys: list[tuple[Term, tuple[Term, ...] | None]] = field(default_factory=list)
    measures: list[ReadMeasure] = field(default_factory=list)
    show: list[Term] = field(default_factory=list)
    having: Term | None = None
    order: list[tuple[Term, bool]] = field(default_factory=list)
    limit: str | None = None


class CanonicalTerm(str):
    """The canonical text of a term, and the term itself as a tree."""

    __slots__ = ("term",)

    term: Term

    def __new__(cls, text: str, term: Term) -> CanonicalTerm:  # noqa: D102, PYI034 - as str has it
        made = super().__new__(cls, text)
        made.term = term
        return made


def quoted(text: str) -> Literal:
    """Give a text as a value of SQL."""
    return Literal("'" + text.replace("'", "''") + "'")


def number(text: str) -> str:
    """Write a number as people do: 35.0 as 35."""
    return text.removesuffix(".0")


def tree_to_json(tree: ReadQuestion) -> dict[str, Any]:
    """Give a question as plain JSON."""
    return {
        "from": _term_to(tree.source),
        "keys": [
            [_term_to(term), None if values is None else [_term_to(value) for value in values]]
            for term, values in tree.keys
        ],
        "measures": [
            {
                "aggregate": measure.aggregate,
                "of": None if measure.of is None else _term_to(measure.of),
                "within": None if measure.within is None else list(measure.within),
                "order": measure.order,
                "where": [_term_to(term) for term in measure.where],
            }
            for measure in tree.measures
        ],
        "show": [_term_to(term) for term in tree.show],
        "having": None if tree.having is None else _term_to(tree.having),
        "order": [[_term_to(term), down] for term, down in tree.order],
        "limit": tree.limit,
    }


def tree_from_json(entry: Any) -> ReadQuestion:
    """Read what :func:`tree_to_json` gave."""
    try:
        return ReadQuestion(
            _term_from(entry["from"]),
            [
                (_term_from(term), None if values is None else tuple(map(_term_from, values)))
                for term, values in entry["keys"]
            ],
            [_measure_from(measure) for measure in entry["measures"]],
            [_term_from(term) for term in entry["show"]],
            None if entry["having"] is None else _term_from(entry["having"]),
            [(_term_from(term), bool(down)) for term, down in entry["order"]],
            entry["limit"],
        )
    except (TypeError, KeyError, IndexError, ValueError, RecursionError):
        raise Unreadable("no question") from None


def _measure_from(entry: Any) -> ReadMeasure:
    within = entry["within"]
    return ReadMeasure(
        entry["aggregate"],
        None if entry["of"] is None else _term_from(entry["of"]),
        None if within is None else (within[0], within[1]),
        entry["order"],
        tuple(map(_term_from, entry["where"])),
    )


def _term_to(term: Term) -> list[Any]:
    match term:
        case Literal(text):
            return ["value", text]
        case Name(text):
            return ["name", text]
        case Pair(sign, left, right):
            return ["pair", sign, _term_to(left), _term_to(right)]
        case Call(word, of):
            return ["call", word, *map(_term_to, of)]


def _term_from(entry: Any) -> Term:
    kind, word, *of = entry
    if not isinstance(word, str):
        raise Unreadable(kind)
    if kind == "call":
        return Call(word, tuple(map(_term_from, of)))
    if kind == "pair":
        left, right = map(_term_from, of)
        return Pair(word, left, right)
    if kind == "name":
        return Name(word)
    if kind != "value":
        raise Unreadable(kind)
    return Literal(word)
