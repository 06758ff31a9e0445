"""Walk expressions of the language: their parts, size, depth and columns.

Contract: functions that see the form of an expression and not what it means. ``rebuilt`` makes the
same expression with other parts, so that a rewriting states only what it changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.ask.language.language import (
    Apply,
    Arithmetic,
    Case,
    Column,
    Compare,
    Constant,
    Expression,
    IsNull,
    Like,
    Logic,
    Not,
    OneOf,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MOST_DEPTH = 100
MOST_NODES = 4_000


def parts(expression: Expression) -> tuple[Expression, ...]:
    """List the expressions directly within one."""
    match expression:
        case Arithmetic(_, left, right) | Compare(_, left, right):
            return (left, right)
        case Apply(_, arguments):
            return arguments
        case Logic(_, terms):
            return terms
        case Not(term) | IsNull(term) | OneOf(term, _) | Like(term, _):
            return (term,)
        case Case(branches, default):
            return (*(part for branch in branches for part in branch), default)
    return ()


def rebuilt(expression: Expression, new: tuple[Expression, ...]) -> Expression:
    """Give the same expression with other parts, in the order of :func:`parts`."""
    match expression:
        case Arithmetic() | Compare():
            return replace(expression, left=new[0], right=new[1])
        case Apply():
            return replace(expression, arguments=new)
        case Logic():
            return replace(expression, terms=new)
        case Not() | IsNull() | OneOf() | Like():
            return replace(expression, term=new[0])
        case Case(branches, _):
            pairs = tuple((new[2 * i], new[2 * i + 1]) for i in range(len(branches)))
            return Case(pairs, new[-1])
    return expression


def transformed(expression: Expression, leaf: Callable[[Column], Expression]) -> Expression:
    """Replace every column by what ``leaf`` gives for it."""
    if isinstance(expression, Column):
        return leaf(expression)
    old = parts(expression)
    new = tuple(transformed(part, leaf) for part in old)
    return expression if new == old else rebuilt(expression, new)


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Rename columns; those that are not listed keep their name."""
    return transformed(expression, lambda c: replace(c, name=names.get(c.name, c.name)))


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything within it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(parts(node))


def columns_of(expression: Expression) -> frozenset[Column]:
    """List the columns an expression reads."""
    return frozenset(node for node in walk(expression) if isinstance(node, Column))


def size_and_depth(expression: Expression) -> tuple[int, int]:
    """Count the nodes, literals of an IN included, and the levels."""
    nodes, deepest = 0, 0
    stack = [(expression, 1)]
    while stack:
        node, level = stack.pop()
        nodes += 1 + (len(node.values) if isinstance(node, OneOf) else 0)
        deepest = max(deepest, level)
        if nodes > 4 * MOST_NODES:  # shared parts can make a tree much larger than its memory
            break
        stack.extend((part, level + 1) for part in parts(node))
    return nodes, deepest


def is_null(expression: Expression) -> bool:
    """Tell whether an expression is the literal NULL, which fits every kind."""
    return isinstance(expression, Constant) and expression.value is None
