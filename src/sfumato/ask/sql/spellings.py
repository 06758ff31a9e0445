"""Other ways to write a question that is answered: SQL of other systems, brought to ours.

Contract: `respell` gives a syntax tree that means the same, in words that the reader knows. It
looks at names and shapes, never at data, and adds nothing that could not have been written by hand;
what it does not know stays as it is and is refused, or answered, by the reader.

* ``PUMS.PUMS`` is the table PUMS: a name before a table's is that of a schema, and there is one.
* ``VAR`` and ``STD`` are ``VARIANCE`` and ``STDDEV``; ``POWER(n, 2)`` of a noisy number is
  ``n * n``, and ``ROUND(x, 2)`` of one is ``ROUND(x * 100) / 100``.
* Brackets around a table or a sub-query of FROM mean nothing.
* ``SELECT DISTINCT a, b`` and ``SELECT a, b … GROUP BY a, b`` ask which groups there are: those
  whose noisy count is at least 1. It is counted, and paid for, like any count.
* A query over one that is aggregated already, without further aggregates, is post-processing:
  ``SELECT sex, 2 * n FROM (SELECT sex, COUNT(*) AS n … GROUP BY sex) WHERE n > 10`` is
  ``SELECT sex, 2 * COUNT(*) … GROUP BY sex HAVING COUNT(*) > 10``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.ask.plan.nodes import nodes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.ask.language.language import TableFacts
    from sfumato.ask.sql.nodes import Node

MOST_LEVELS = 8
MOST_POWER = 4
MOST_DIGITS = 9

_ANONYMOUS = {"VAR": exp.Variance, "STD": exp.Stddev, "STDEV": exp.Stddev}
_SPELLED_ELSEWHERE = (exp.Anonymous, exp.CTE, exp.Pow, exp.Round, exp.Subquery)


def respell(tree: Node, facts: Mapping[str, TableFacts]) -> Node:
    """Bring a question of another system to the words of ours."""
    if _ours_already(tree):
        return tree
    tree = tree.copy()
    _plain_names(tree, facts)
    tree = tree.transform(_plain_node, copy=False)
    select = tree
    while isinstance(select, (exp.Subquery, exp.Paren)) and not select.args.get("alias"):
        select = select.this
    if not isinstance(select, exp.Select):
        return tree
    for _ in range(MOST_LEVELS):
        flat = _flattened(select)
        if flat is None:
            break
        select = flat
    return _listing(select)


def _ours_already(tree: Node) -> bool:
    """Tell whether a tree is one query that aggregates and has nothing that is brought to ours.

    Most are, and one look at each node costs a fraction of what copying them does.
    """
    if not isinstance(tree, exp.Select):
        return False
    for node in nodes_of(tree):
        if isinstance(node, _SPELLED_ELSEWHERE) or node.args.get("db") is not None:
            return False
    return any(_noisy(item) for item in tree.expressions)


# -- names and functions ----------------------------------------------------------------------


def _plain_names(tree: Node, facts: Mapping[str, TableFacts]) -> None:
    """Take the names of schemas away from known tables and their columns."""
    known = {name.casefold() for name in facts}
    local = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    for node in tree.find_all(exp.Table, exp.Column):
        name = node.name if isinstance(node, exp.Table) else str(node.args.get("table") or "")
        plain = name.strip('"').casefold()
        if node.args.get("db") is not None and plain in known and plain not in local:
            node.set("db", None)
            node.set("catalog", None)


def _plain_node(node: Any) -> Any:
    if isinstance(node, exp.Anonymous) and str(node.this).upper() in _ANONYMOUS:
        made = _ANONYMOUS[str(node.this).upper()]
        return made(this=node.expressions[0]) if len(node.expressions) == 1 else node
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
        return _without_brackets(node)
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Subquery):
        inner = node.this
        return inner if inner.args.get("alias") and not node.args.get("alias") else node
    if isinstance(node, exp.Pow):
        return _product(node)
    if isinstance(node, exp.Round) and node.args.get("decimals") is not None:
        return _rounded(node)
    return node


def _without_brackets(node: exp.Subquery) -> Any:
    table, alias = node.this, node.args.get("alias")
    if table.args.get("joins") or (alias is not None and table.args.get("alias") is not None):
        return node
    if alias is not None:
        table.set("alias", alias)
    return table


def _noisy(node: Any) -> bool:
    return any(isinstance(part, exp.AggFunc) for part in nodes_of(node))


def _whole(node: Any, most: int) -> int | None:
    text = str(node.this) if isinstance(node, exp.Literal) and not node.is_string else ""
    return int(text) if text.isdigit() and len(text) < 3 and 1 <= int(text) <= most else None


def _product(node: exp.Pow) -> Any:
    power = _whole(node.expression, MOST_POWER)
    if power is None or not _noisy(node.this):
        return node
    product: Any = exp.Paren(this=node.this.copy())
    for _ in range(power - 1):
        product = exp.Mul(this=product, expression=exp.Paren(this=node.this.copy()))
    return exp.Paren(this=product)


def _rounded(node: exp.Round) -> Any:
    digits = _whole(node.args["decimals"], MOST_DIGITS)
    if digits is None or not _noisy(node.this):
        return node
    unit = exp.Literal.number(10**digits)
    grown = exp.Mul(this=exp.Paren(this=node.this.copy()), expression=unit.copy())
    return exp.Paren(this=exp.Div(this=exp.Round(this=grown), expression=unit))


# -- which groups there are -------------------------------------------------------------------


def _listing(select: exp.Select) -> exp.Select:
    """Ask for the groups whose noisy count is at least 1, where only groups are asked for."""
    items = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
    if any(_noisy(item) or isinstance(item, exp.Star) for item in items) or _noisy_rest(select):
        return select
    distinct, group = select.args.get("distinct"), select.args.get("group")
    if distinct is not None and (distinct.args.get("on") is not None or group is not None):
        return select
    if distinct is None and group is None:
        return select
    if distinct is not None:
        select.set("distinct", None)
        select.set("group", exp.Group(expressions=[item.copy() for item in items]))
    at_least = exp.GTE(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    select.set("having", exp.Having(this=at_least))
    return select


def _noisy_rest(select: exp.Select) -> bool:
    rest = (select.args.get("having"), select.args.get("order"))
    return any(clause is not None for clause in rest[:1]) or any(
        clause is not None and _noisy(clause) for clause in rest[1:]
    )


# -- post-processing of an aggregated query ---------------------------------------------------


def _flattened(outer: exp.Select) -> exp.Select | None:
    """Put a query without aggregates into the aggregated one that it reads; None if it is none."""
    if _has(outer, "joins", "group", "having", "distinct", "qualify", "windows") or any(
        _noisy(item) for item in outer.expressions
    ):
        return None
    inner, cte = _source(outer)
    if inner is None or _has(inner, "limit", "offset", "distinct", "qualify", "windows"):
        return None
    if not (any(_noisy(item) for item in inner.expressions) or inner.args.get("group")):
        return None
    names = {item.alias_or_name.casefold(): item.unalias() for item in inner.expressions}
    if "" in names or len(names) < len(inner.expressions):
        return None
    flat = inner.copy()
    items = _items(outer, inner, names)
    where = outer.args.get("where")
    if items is None or (where is not None and _meant(where.this, names) is None):
        return None
    flat.set("expressions", items)
    if where is not None:
        _also(flat, _meant(where.this, names))
    _take_over(outer, flat, names, cte)
    return flat


def _has(select: exp.Select, *words: str) -> bool:
    return any(select.args.get(word) for word in words)


def _clause(select: exp.Select, word: str) -> Any:
    return select.args.get(word) or select.args.get(f"{word}_")


def _source(outer: exp.Select) -> tuple[exp.Select | None, Any]:
    """Return the one query that FROM reads, and its place in WITH if it has one."""
    clause, ctes = _clause(outer, "from"), _clause(outer, "with")
    node = None if clause is None else clause.this
    while isinstance(node, exp.Subquery) and not node.args.get("joins"):
        node = node.this
    if isinstance(node, exp.Select):
        return node, None
    if isinstance(node, exp.Table) and ctes is not None and not node.args.get("db"):
        for cte in ctes.expressions:
            if cte.alias.casefold() == node.name.casefold() and isinstance(cte.this, exp.Select):
                return cte.this, cte
    return None, None


def _items(outer: exp.Select, inner: exp.Select, names: Mapping[str, Any]) -> list[Any] | None:
    """Write what is selected in terms of the aggregated query."""
    found: list[Any] = []
    for item in outer.expressions:
        if (
            isinstance(item, exp.Star)
            and not item.args.get("except")
            and not item.args.get("replace")
        ):
            found += [output.copy() for output in inner.expressions]
            continue
        meant = _meant(item.unalias(), names)
        if meant is None:
            return None
        found.append(exp.alias_(meant, item.alias_or_name) if item.alias_or_name else meant)
    return found


def _meant(node: Any, names: Mapping[str, Any]) -> Any:
    """Replace names of the aggregated query by what they stand for; None if one is unknown."""
    columns = node.find_all(exp.Column)
    known = all(column.name.casefold() in names for column in columns)
    return _replaced(node, names) if known else None


def _replaced(node: Any, names: Mapping[str, Any]) -> Any:
    def replaced(part: Any) -> Any:
        found = names.get(part.name.casefold()) if isinstance(part, exp.Column) else None
        if found is None:
            return part
        return found.copy() if isinstance(found, exp.Column) else exp.Paren(this=found.copy())

    return node.copy().transform(replaced)


def _also(flat: exp.Select, condition: Any) -> None:
    having = flat.args.get("having")
    if having is not None:
        condition = exp.And(this=exp.Paren(this=having.this), expression=exp.Paren(this=condition))
    flat.set("having", exp.Having(this=condition))


def _take_over(outer: exp.Select, flat: exp.Select, names: Mapping[str, Any], cte: Any) -> None:
    """Let the order, the limit and the other queries of WITH be those of the outer query."""
    shown = {item.alias.casefold() for item in outer.expressions if item.alias}
    within = {name: what for name, what in names.items() if name not in shown}
    order = outer.args.get("order")
    flat.set("order", None if order is None else _replaced(order, within))
    for word in ("limit", "offset"):
        clause = outer.args.get(word)
        flat.set(word, None if clause is None else clause.copy())
    ctes = _clause(outer, "with")
    if ctes is not None:
        rest = [
            query.copy() for query in ctes.expressions if cte is None or query.alias != cte.alias
        ]
        key = "with" if outer.args.get("with") else "with_"
        flat.set(key, exp.With(expressions=rest) if rest else None)
