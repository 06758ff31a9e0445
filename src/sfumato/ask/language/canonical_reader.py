"""Canonical texts of ledgers that kept no trees, read back so that they can be shown to people.

Contract: :func:`read_back` takes the text that :func:`sfumato.ask.language.canonical.canonical`
writes. It decides nothing: a text that it does not know is told by :class:`Unreadable`, and whoever
shows it shows it as it is. Entries that are written now keep the tree itself
(:mod:`sfumato.ask.language.question_tree`), and nothing of theirs is read here.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from sfumato.ask.language.question_tree import (
    Call,
    Literal,
    Name,
    Pair,
    ReadMeasure,
    ReadQuestion,
    Unreadable,
    number,
    quoted,
)

if TYPE_CHECKING:
    from sfumato.ask.language.question_tree import Term

_TOKEN = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|sha256\([0-9a-f]+\)|-?\d+/\d+|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?'
    r"|[A-Za-z_]\w*|<=|>=|<>|->|[(){}\[\],;:=<>+*/-])"
)
_SIGNS = frozenset({"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/"})


def read_back(text: str) -> ReadQuestion:
    """Read a canonical question."""
    reader = _Reader(_tokens(text))
    try:
        return reader.question()
    except (IndexError, RecursionError):
        raise Unreadable(text) from None


def _tokens(text: str) -> list[str]:
    found, place = [], 0
    while place < len(text.rstrip()):
        token = _TOKEN.match(text, place)
        if token is None:
            raise Unreadable(text)
        found.append(token[1])
        place = token.end()
    return found


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.place = tokens, 0

    def peek(self) -> str:
        return self.tokens[self.place]

    def take(self, *wanted: str) -> str:
        token = self.tokens[self.place]
        if wanted and token not in wanted:
            raise Unreadable(token)
        self.place += 1
        return token

    def if_next(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.place += 1
        return True

    # -- a question ---------------------------------------------------------------------

    def question(self) -> ReadQuestion:
        self.take("{")
        self.take("from")
        self.take(":")
        read = ReadQuestion(self.term())
        while self.take(";", "}") == ";":
            part = self.take()
            self.take(":")
            if part == "keys":
                read.keys = [self.key() for _ in self.listed("[", "]")]
            elif part == "measures":
                read.measures = [self.measure() for _ in self.listed("[", "]")]
            elif part == "show":
                read.show = [self.term() for _ in self.listed("[", "]")]
            elif part == "having":
                read.having = self.term()
            elif part == "order":
                read.order = [
                    (self.term(), self.take("up", "down") == "down") for _ in self.listed("[", "]")
                ]
            elif part == "limit":
                read.limit = self.take()
            else:
                raise Unreadable(part)
        if self.place != len(self.tokens):
            raise Unreadable(self.peek())
        return read

    def listed(self, begin: str, end: str) -> _Listed:
        return _Listed(self, begin, end)

    def key(self) -> tuple[Term, tuple[Term, ...] | None]:
        term = self.term()
        self.take("in")
        if self.if_next("found"):
            return term, None
        return term, tuple([self.term() for _ in self.listed("{", "}")])

    def measure(self) -> ReadMeasure:
        self.take("(")
        aggregate = self.take()
        if self.peek() in {"sample", "population"}:
            aggregate += "_pop" if self.take() == "population" else ""
        of = self.term() if self.if_next("of") else None
        within = self.bounds() if self.if_next("within") else None
        order = self.fraction() if self.if_next("order") else None
        where: list[Term] = []
        if self.if_next("where"):
            where.append(self.term())
            while self.if_next(","):
                where.append(self.term())
        self.take(")")
        return ReadMeasure(aggregate, of, within, order, tuple(where))

    def fraction(self) -> str:
        above, _, below = self.take().partition("/")
        return f"{float(above) / float(below):.6g}" if below else number(above)

    # -- terms --------------------------------------------------------------------------

    def term(self) -> Term:
        read = self.simple()
        if self.peek() == "[":
            self.bounds()  # public facts about a column; the question does not say them
        return read

    def simple(self) -> Term:
        word = self.take()
        if word == "(":
            left = self.term()
            sign = self.take()
            if sign not in _SIGNS:
                raise Unreadable(sign)
            right = self.term()
            self.take(")")
            return Pair(sign, left, right)
        if word.startswith('"'):
            text = json.loads(word)
            if self.peek() != ":":
                return quoted(text)
            self.take(":")
            self.take()
            return Name(text)
        if word.startswith("sha256("):
            return Name("…")
        if re.match(r"-?\d", word):
            return Literal(number(word))
        if not re.match(r"[A-Za-z_]", word):
            raise Unreadable(word)
        if self.peek() == "(":
            return Call(word, tuple([self.argument() for _ in self.listed("(", ")")]))
        if word in {"null", "true", "false"}:
            return Literal(word.upper())
        return Call(word, ())

    def argument(self) -> Term:
        """Read a term, the branch of a CASE or a pair of a join."""
        if self.if_next("else"):
            return Call("else", (self.term(),))
        read = self.term()
        if self.peek() in {"->", "="}:
            return Pair(self.take(), read, self.term())
        return read

    def bounds(self) -> tuple[str, str]:
        self.take("[")
        low = number(self.take())
        self.take(",")
        high = number(self.take())
        self.take("]")
        return low, high


class _Listed:
    """The places of a list between two signs, with commas between them."""

    def __init__(self, reader: _Reader, begin: str, end: str) -> None:
        self.reader, self.end, self.first = reader, end, True
        reader.take(begin)

    def __iter__(self) -> _Listed:
        return self

    def __next__(self) -> None:
        if self.reader.if_next(self.end):
            raise StopIteration
        if not self.first:
            self.reader.take(",")
        self.first = False
