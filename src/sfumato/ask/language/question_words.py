"""A question of the ledger as a person reads it: close to SQL, with its price and its blocks.

Contract: :func:`in_words` never fails and decides nothing. What is hashed and compared is the
canonical text; beside it the ledger keeps the question as a tree, of which this is a view. Where
there is no tree, as in entries of earlier versions, the text is read; one that cannot be is given
back.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.canonical_reader import read_back
from sfumato.ask.language.days import STARTS
from sfumato.ask.language.question_tree import (
    Call,
    Literal,
    Name,
    Pair,
    Unreadable,
    tree_from_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from sfumato.ask.language.question_tree import ReadMeasure, ReadQuestion, Term

    Names: TypeAlias = Mapping[str, str]

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_SPELT = {"variance_pop": "var_pop"}
_LISTED = 12  # more values of a key are counted
_JOINS = re.compile(r"(left_)?join_(public|person)(\d+)")
_FROM = re.compile(r"(public|other)\d+")  # the join that a column comes from
_FORMS = {
    "date": "DATE {}", "missing": "{} IS NULL", "not": "NOT {}", "like": "{} LIKE {}",
    "each": "({} per person)", "key": "{}", "flushed": "{}", "weekday": "EXTRACT(DOW FROM {})",
    **{function: f"DATE_TRUNC('{period}', {{}})" for period, function in STARTS.items()},
}  # fmt: skip
_PRICES = {"epsilon": "ε = {}", "rho": "ρ = {}", "delta": "δ = {}", "accuracy": "within ± {}"}


@dataclass(frozen=True)
class Words:
    """A question in words, the price that was named, and the blocks it reads."""

    question: str
    price: str = ""
    by_accuracy: bool = False
    blocks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.question


def in_words(text: str, asked: Any = None) -> list[Words]:
    """Give the question that an entry keeps, or the questions that were asked together.

    ``asked`` are their trees, as the entry keeps them, one for each.
    """
    whole = _loaded(text)
    several = isinstance(whole, list) and whole and all(isinstance(part, str) for part in whole)
    texts = whole if several else [text]
    trees = asked if isinstance(asked, list) and len(asked) == len(texts) else [None] * len(texts)
    return [_one(known, tree) for known, tree in zip(texts, trees, strict=True)]


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _one(text: str, tree: Any) -> Words:
    whole = _loaded(text)
    if not isinstance(whole, dict) or not isinstance(whole.get("question"), str):
        return Words(text)
    price, blocks = whole.get("price"), whole.get("blocks")
    return Words(
        shown(tree) or readable(whole["question"]),
        _price(price) if isinstance(price, dict) else "",
        isinstance(price, dict) and "accuracy" in price,
        tuple(map(str, blocks)) if isinstance(blocks, list) else (),
    )


def _price(named: dict[str, Any]) -> str:
    return ", ".join(
        form.format(_amount(str(named[name]))) for name, form in _PRICES.items() if name in named
    )


def _amount(text: str) -> str:
    above, _, below = text.partition("/")
    try:
        return f"{float(above) / float(below or 1):.6g}"
    except (ValueError, ZeroDivisionError):
        return text


def shown(tree: Any) -> str | None:
    """Write a question that is kept as a tree in the manner of SQL; None if it is none."""
    try:
        words = _question(tree_from_json(tree))
        words.encode()
    except (ValueError, LookupError, ArithmeticError, RecursionError):
        return None
    return words


def readable(canonical: str) -> str:
    """Write a canonical question in the manner of SQL; as it is, if it cannot be read.

    A text that has the grammar may still lack what a word needs: a source of a filter, a digit of
    an escape, a divisor, the other half of a character.
    """
    try:
        words = _question(read_back(canonical))
        words.encode()
    except (ValueError, LookupError, ArithmeticError, RecursionError):
        return canonical
    return words


def _question(question: ReadQuestion) -> str:
    names = dict(_public_tables(question.source))
    keys = [_outer(term, names) for term, _ in question.keys]
    shown = names | {f"k{i}": _heading(term, names) for i, (term, _) in enumerate(question.keys)}
    shown |= {f"m{i}": _measure(measure, names) for i, measure in enumerate(question.measures)}
    outputs = [_outer(term, shown) for term in question.show]
    outputs = outputs or [text for name, text in shown.items() if name not in names]
    words = ["SELECT", ", ".join(outputs), "FROM", _source(question.source, names)]
    grouped = [_key(key, question.keys[i][1]) for i, key in enumerate(keys)]
    words += [f"GROUP BY {', '.join(grouped)}"] * bool(grouped)
    if question.having is not None:
        words.append(f"HAVING {_outer(question.having, shown)}")
    if question.order:
        order = [_outer(term, shown) + " DESC" * down for term, down in question.order]
        words.append(f"ORDER BY {', '.join(order)}")
    words += [f"LIMIT {question.limit}"] * (question.limit is not None)
    return " ".join(words)


def _key(key: str, values: Sequence[Term] | None) -> str:
    if values is None or key.startswith("CASE"):
        return key
    listed = [_term(value, {}) for value in values[:_LISTED]]
    more = len(values) - len(listed)
    return f"{key} IN ({', '.join(listed)}{f', … {more} more' if more else ''})"


def _heading(term: Term, names: Names) -> str:
    """Name a key where it is shown: bins by the columns that are cut."""
    if not isinstance(term, Call) or term.word != "case":
        return _outer(term, names)
    columns = dict.fromkeys(_columns(term, names))
    return f"groups of {', '.join(columns)}" if columns else _term(term, names)


def _columns(term: Term, names: Names) -> list[str]:
    if isinstance(term, Name) or (isinstance(term, Call) and _FROM.fullmatch(term.word)):
        return [_term(term, names)]
    parts = term.of if isinstance(term, Call) else ()
    parts = (term.left, term.right) if isinstance(term, Pair) else parts
    return [name for part in parts for name in _columns(part, names)]


def _measure(measure: ReadMeasure, names: Names) -> str:
    if measure.aggregate == "people":
        text = "COUNT(DISTINCT person)"
    else:
        of = "*" if measure.of is None else _outer(measure.of, names)
        if measure.within is not None:
            of = f"CLAMP({of}, {measure.within[0]}, {measure.within[1]})"
        of += f", {measure.order}" if measure.order is not None else ""
        text = f"{_SPELT.get(measure.aggregate, measure.aggregate).upper()}({of})"
    return text + (f" FILTER (WHERE {_all(measure.where, names)})" if measure.where else "")


# -- where rows come from ------------------------------------------------------------------


def _public_tables(term: Term) -> Iterator[tuple[str, str]]:
    """Find the tables that columns such as public0(…) come from."""
    if not isinstance(term, Call):
        return
    joined = _JOINS.fullmatch(term.word)
    if joined is not None and joined[2] == "public":
        yield f"public{joined[3]}", _named(term.of[1])
    elif joined is not None:
        yield f"other{joined[3]}", "other"
    yield from _public_tables(term.of[0])


def _source(term: Term, names: Names) -> str:
    if isinstance(term, Call) and term.word == "filter":
        return f"{_table(term.of[0], names)} WHERE {_all(term.of[1:], names)}"
    return _table(term, names)


def _table(term: Term, names: Names) -> str:
    if not isinstance(term, Call):
        raise Unreadable(type(term).__name__)
    if term.word == "scan":
        return _named(term.of[0])
    if term.word == "filter":
        return f"(all FROM {_source(term, names)})"
    if term.word == "people":
        inner = dict(_public_tables(term.of[0]))
        keys = "".join(f", {_outer(key, inner)}" for key in term.of[1:])
        return f"(one row FROM {_source(term.of[0], inner)} GROUP BY person{keys})"
    return _join(term, names)


def _join(term: Call, names: Names) -> str:
    joined = _JOINS.fullmatch(term.word)
    if joined is None:
        raise Unreadable(term.word)
    left, right, *on = term.of
    if joined[2] == "public":
        other, table, pairs = _named(right), _named(right), []
    else:
        inner = dict(_public_tables(right))
        other, table, pairs = f"{_table(right, inner)} AS other", "other", ["the same person"]
    for pair in on:
        if not isinstance(pair, Pair):
            raise Unreadable(term.word)
        mine = f"{_table(left, names)}." * (_is_table(left) and isinstance(pair.left, Name))
        pairs.append(f"{mine}{_term(pair.left, names)} = {table}.{_term(pair.right, {})}")
    word = "LEFT JOIN" if joined[1] else "JOIN"
    return f"{_table(left, names)} {word} {other} ON {' AND '.join(pairs)}"


def _is_table(term: Term) -> bool:
    return isinstance(term, Call) and term.word == "scan"


def _named(term: Term) -> str:
    """Give a table's name, which is written as a text."""
    return _identifier(term.text[1:-1].replace("''", "'")) if isinstance(term, Literal) else "…"


# -- terms ---------------------------------------------------------------------------------


def _all(terms: Sequence[Term], names: Names) -> str:
    return " AND ".join(sorted(_term(term, names) for term in terms))


def _outer(term: Term, names: Names) -> str:
    """Write a term that nothing is joined to, so that it needs no parentheses."""
    text = _term(term, names)
    return text[1:-1] if isinstance(term, Pair) and text.startswith("(") else text


def _term(term: Term, names: Names) -> str:
    match term:
        case Literal(text):
            return text
        case Name(text):
            return _identifier(text)
        case Pair(sign, left, right):
            if _is_value(left) and sign in _TURNED:
                sign, left, right = _TURNED[sign], right, left
            if sign in _TURNED:
                return f"{_term(left, names)} {sign} {_term(right, names)}"
            return f"({_term(left, names)} {sign} {_term(right, names)})"
    return _call(term, names)


def _is_value(term: Term) -> bool:
    return isinstance(term, Literal) or (isinstance(term, Call) and term.word == "date")


def _call(call: Call, names: Names) -> str:
    if not call.of and call.word in names:
        return names[call.word]
    if call.word in {"or", "and"}:
        return _listed_values(call, names) or _joined(call, names)
    if call.word == "case":
        return _case(call, names)
    texts = [_outer(part, names) for part in call.of]
    if _FROM.fullmatch(call.word) and isinstance(call.of[0], Name):
        return f"{names.get(call.word, call.word)}.{texts[0]}"
    if call.word == "not" and texts[0].endswith(" IS NULL"):
        return f"{texts[0][: -len('NULL')]}NOT NULL"
    if call.word == "count" and not texts:
        return "COUNT(*)"
    form = _FORMS.get(call.word) or ("{}" if _FROM.fullmatch(call.word) else None)
    return form.format(*texts) if form else f"{call.word.upper()}({', '.join(texts)})"


def _joined(call: Call, names: Names) -> str:
    inner = f" {call.word.upper()} ".join(_term(part, names) for part in call.of)
    return f"({inner})"


def _listed_values(call: Call, names: Names) -> str | None:
    """Write equalities of one term with values as IN."""
    wanted = "=" if call.word == "or" else "<>"
    found: dict[str, list[str]] = {}
    for part in call.of:
        if not isinstance(part, Pair) or part.sign != wanted:
            return None
        term, value = part.left, part.right
        if _is_value(term):
            term, value = value, term
        if not _is_value(value):
            return None
        found.setdefault(_term(term, names), []).append(_term(value, names))
    if len(found) != 1:
        return None
    ((text, values),) = found.items()
    return f"{text} {'IN' if call.word == 'or' else 'NOT IN'} ({', '.join(values)})"


def _case(call: Call, names: Names) -> str:
    words = ["CASE"]
    for part in call.of:
        if isinstance(part, Pair):
            words.append(f"WHEN {_term(part.left, names)} THEN {_term(part.right, names)}")
        elif isinstance(part, Call) and part.word == "else":
            words.append(f"ELSE {_term(part.of[0], names)}")
    return " ".join([*words, "END"])


def _identifier(text: str) -> str:
    plain = text == "…" or re.fullmatch(r"[^\W\d]\w*", text)
    return text if plain else '"' + text.replace('"', '""') + '"'
