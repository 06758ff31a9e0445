"""The nodes of a syntax tree as a list, found in a fraction of the time sqlglot's walks take.

Contract: :func:`nodes_of` gives every node that `walk` gives, a parent before its children; the
order of others means nothing.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

_NODE: type = getattr(exp, "Expr", exp.Expression)  # what every node is, by the version of sqlglot


def nodes_of(tree: Any) -> list[Any]:
    """List a node and all that are below it."""
    found = [tree]
    for node in found:  # which grows meanwhile
        for value in node.args.values():
            if isinstance(value, _NODE):
                found.append(value)
            elif value.__class__ is list:
                found += [part for part in value if isinstance(part, _NODE)]
    return found
