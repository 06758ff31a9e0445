"""GROUP BY ROLLUP, CUBE and GROUPING SETS: several ordinary questions in one text.

Contract: :func:`split_grouping_sets` reads a text alone and gives the question of each set of keys,
with an ordinary GROUP BY, beside what is shown where a set lacks a key. Each of them is read by the
parser's allow-list as if an analyst had written it, so nothing here decides what may be asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from sfumato.ask.language.refusals import refuse
from sfumato.ask.sql.groups import GROUPING_SETS, items_of
from sfumato.ask.sql.nodes import Node, bare, identifier, only, part, shown
from sfumato.ask.sql.parse import limit_of, syntax_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sfumato.ask.scope.scopes import Name

MOST_SETS = 32
_WORDS = ("ROLLUP", "CUBE", "GROUPING")
_Keys = tuple[str, ...]


@dataclass(frozen=True)
class GroupingSet:
    """The question of one set of keys; ``constants`` are shown at places of the list it lacks."""

    sql: str
    constants: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitQuestion:
    """A question split into its sets of keys.

    ``finest`` groups by all keys at once: it names the columns and is never asked. ``constants``
    names those that it lacks; ``order`` has places of the SELECT list, each with whether it
    descends.
    """

    finest: GroupingSet
    constants: Mapping[int, str]
    sets: tuple[GroupingSet, ...]
    order: tuple[tuple[int, bool], ...] = ()
    limit: int | None = None


def split_grouping_sets(sql: str) -> SplitQuestion | None:
    """Split a question that groups in several ways; None for one that does not."""
    if not any(word in sql.upper() for word in _WORDS):
        return None
    select = syntax_tree(sql)
    group = select.args.get("group") if isinstance(select, exp.Select) else None
    if group is None or not (group.find(*GROUPING_SETS) or part(group, "rollup")):
        return None
    assert isinstance(select, exp.Select)
    return _Splitting(select, group).split()


class _Splitting:
    """One SELECT on its way to several."""

    def __init__(self, select: exp.Select, group: Node) -> None:
        self.select = select
        self.items = items_of(select)
        self.terms: dict[str, Node] = {}  # what is grouped by, under the text that names it
        self.sets = self._sets(group)
        self.places = {i: name for i in range(len(self.items)) if (name := self._key_at(i))}

    def split(self) -> SplitQuestion:
        """Give the questions, the finest groups first, as ROLLUP lists them."""
        finest = self._question(tuple(self.terms))
        return SplitQuestion(
            finest,
            {place: self._alias(place) for place in finest.constants},
            tuple(self._question(keys) for keys in self.sets),
            tuple(self._order()),
            limit_of(self.select),
        )

    # -- the sets -----------------------------------------------------------------------

    def _sets(self, group: Node) -> list[_Keys]:
        only(group, "expressions", "rollup", "cube")
        trailing = [key for key in ("rollup", "cube") if part(group, key)]
        if trailing:  # GROUP BY a, b WITH ROLLUP
            whole = exp.Rollup if trailing == ["rollup"] else exp.Cube
            choices = [list(self._expand(whole(expressions=list(group.expressions))))]
        else:
            choices = [list(self._expand(node)) for node in group.expressions]
        count = 1
        for choice in choices:
            count *= len(choice)
        if count > MOST_SETS:
            raise refuse("too_many_sets", what=str(count), most=str(MOST_SETS))
        joined = (dict.fromkeys(name for keys in chosen for name in keys)
                  for chosen in product(*choices))  # fmt: skip
        return list(dict.fromkeys(tuple(keys) for keys in joined))

    def _expand(self, node: Node) -> Iterator[_Keys]:
        """List the sets of keys that one element of GROUP BY stands for."""
        if isinstance(node, exp.GroupingSets):
            for inner in only(node, "expressions").expressions:
                yield from self._expand(inner)
            return
        if isinstance(node, exp.Rollup):
            steps = [self._together(inner) for inner in only(node, "expressions").expressions]
            for length in range(len(steps), -1, -1):
                yield tuple(name for step in steps[:length] for name in step)
            return
        if isinstance(node, exp.Cube):
            steps = [self._together(inner) for inner in only(node, "expressions").expressions]
            if 2 ** len(steps) > MOST_SETS:
                raise refuse("too_many_sets", what=str(2 ** len(steps)), most=str(MOST_SETS))
            for length in range(len(steps), -1, -1):
                for chosen in combinations(steps, length):
                    yield tuple(name for step in chosen for name in step)
            return
        yield self._together(node)

    def _together(self, node: Node) -> _Keys:
        """Give the keys of an element that come and go together: one, or those in brackets."""
        inner = only(node, "expressions").expressions if isinstance(node, exp.Tuple) else [node]
        return tuple(self._term(bare(term)) for term in inner)

    def _term(self, node: Node) -> str:
        if isinstance(node, exp.Literal) and not node.is_string:
            place = str(node.this)
            if not place.isdigit() or not 1 <= int(place[:9]) <= len(self.items):
                raise refuse("bad_position", what=place)
            node = self.items[int(place) - 1][1]
        if node.find(*GROUPING_SETS) is not None:
            raise refuse("grouping_item", what=shown(node))
        self.terms.setdefault(_text(node), node)
        return _text(node)

    # -- one set ------------------------------------------------------------------------

    def _question(self, keys: _Keys) -> GroupingSet:
        lacking = {name for name in self.terms if name not in keys}
        kept: list[Node] = []
        constants: dict[int, Any] = {}
        for place, (alias, node) in enumerate(self.items):
            found = self._constant(place, node, lacking)
            if found is None:
                self._check(node, lacking)
                kept.append(_aliased(alias, node))
            else:
                constants[place] = found[0]
        having = self.select.args.get("having")
        if having is not None:
            self._check(having, lacking)
        made = self.select.copy()
        made.set("expressions", [node.copy() for node in kept])
        made.set("order", None)
        made.set("limit", None)
        terms = [self.terms[name].copy() for name in keys]
        made.set("group", exp.Group(expressions=terms) if terms else None)
        return GroupingSet(made.sql(dialect="duckdb", comments=False), constants)

    def _constant(self, place: int, node: Node, lacking: set[str]) -> tuple[Any] | None:
        """Tell what stands where a set lacks the key of an item: NULL, or what COALESCE says."""
        if isinstance(node, exp.Grouping):
            return (self._grouping(node, lacking),)
        if self.places.get(place) in lacking:
            return (None,)
        if isinstance(node, exp.Coalesce) and len(node.expressions) == 1:
            other = node.expressions[0]
            if self._named(node.this) in lacking and isinstance(other, exp.Literal):
                return (other.to_py(),)
        return None

    def _grouping(self, node: Node, lacking: set[str]) -> int:
        """Compute GROUPING(a, b): a bit per key, set where the rows lump its values together."""
        found = 0
        for inner in only(node, "expressions").expressions:
            name = self._named(inner)
            if name is None:
                raise refuse("grouping_item", what=shown(node))
            found = 2 * found + (name in lacking)
        return found

    def _check(self, node: Node, lacking: set[str]) -> None:
        """Refuse a key that the set lacks outside of aggregates: it would be no number's group."""
        for inner in node.walk(prune=lambda found: isinstance(found, exp.AggFunc)):
            named = self._named(cast("Node", inner))
            if isinstance(inner, exp.Grouping) or (named is not None and named in lacking):
                raise refuse("grouping_item", what=shown(node))

    # -- names --------------------------------------------------------------------------

    def _key_at(self, place: int) -> str | None:
        """Give the key that an item of the SELECT list is, by what it is or by its alias."""
        alias, node = self.items[place]
        found = self._named(node)
        if found is not None or alias is None:
            return found
        return next((n for n, term in self.terms.items() if _is_named(term, alias)), None)

    def _named(self, node: Node) -> str | None:
        text = _text(bare(node)) if isinstance(node, exp.Paren) else _text(node)
        return text if text in self.terms else None

    def _alias(self, place: int) -> str:
        alias = self.items[place][0]
        return f"grouping_{place + 1}" if alias is None else alias.text

    # -- order --------------------------------------------------------------------------

    def _order(self) -> Iterator[tuple[int, bool]]:
        order = self.select.args.get("order")
        for term in [] if order is None else only(order, "expressions").expressions:
            only(term, "this", "desc", "nulls_first")
            yield self._place(term.this), bool(term.args.get("desc"))

    def _place(self, node: Node) -> int:
        """Find the item of the SELECT list that ORDER BY names, by number, alias or text."""
        if isinstance(node, exp.Literal) and not node.is_string:
            text = str(node.this)
            if text.isdigit() and 1 <= int(text[:9]) <= len(self.items):
                return int(text) - 1
            raise refuse("bad_position", what=text)
        for place, (alias, item) in enumerate(self.items):
            if (alias is not None and _is_named(node, alias)) or _text(item) == _text(node):
                return place
        raise refuse("grouping_order", what=shown(node))


def _text(node: Node) -> str:
    """Name an expression by its text; letters of unquoted names are alike, large or small."""
    plain = node.transform(_plain)
    return str(plain.sql(dialect="duckdb", comments=False))


def _plain(node: Node) -> Node:
    if isinstance(node, exp.Identifier) and not node.args.get("quoted"):
        return exp.to_identifier(str(node.this).lower())
    return node


def _is_named(node: Node, alias: Name) -> bool:
    return (
        isinstance(node, exp.Column)
        and part(node, "table") is None
        and isinstance(node.this, exp.Identifier)
        and identifier(node.this).matches(alias.text)
    )


def _aliased(alias: Name | None, node: Node) -> Node:
    if alias is None:
        return node
    return exp.Alias(this=node.copy(), alias=exp.to_identifier(alias.text, quoted=True))
