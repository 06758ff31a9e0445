"""Hierarchies as nested trees, the way people write them down.

    "*":
      government: [state, local, federal]
      private:
      unemployed: [without-pay, never-worked]

A mapping names nodes and what is below them, a list names leaves (or further mappings), an
empty value makes its key a leaf. Several names at the top are joined under `*`. Branches
may end at different depths: a leaf's label is repeated upward until all are equally long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import HierarchyError

Path = tuple[str, ...]


def rows_of_tree(tree: Any, *, root: str, source: str = "code") -> list[Path]:
    """Return the rows `leaf, …, root` that a nested tree describes; several tops get a `root`."""
    tops = _children(tree, source)
    paths = [path for label, below in tops for path in _paths(label, below, (), source)]
    if not paths:
        raise HierarchyError(f"Hierarchy {source} is empty; it needs at least one value.")
    if len(tops) > 1 or tops[0][1] is None:
        paths = [(root, *path) for path in paths]
    depth = max(map(len, paths))
    return [(*([path[-1]] * (depth - len(path))), *reversed(path)) for path in paths]


def _paths(label: str, below: Any, above: Path, source: str) -> list[Path]:
    """Return the way from the root to every leaf at or below this node."""
    here = (*above, label)
    if below is None:
        return [here]
    return [
        path for name, sub in _children(below, source) for path in _paths(name, sub, here, source)
    ]


def _children(tree: Any, source: str) -> list[tuple[str, Any]]:
    """Return the nodes on the top of a tree with what is below each; None below a leaf."""
    if isinstance(tree, Mapping):
        return [(_label(name, source), _below(sub)) for name, sub in tree.items()]
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        nodes: list[tuple[str, Any]] = []
        for item in tree:
            nested = isinstance(item, Mapping | list | tuple)
            nodes += _children(item, source) if nested else [(_label(item, source), None)]
        return nodes
    return [(_label(tree, source), None)]


def _below(sub: Any) -> Any:
    return None if sub is None or (not isinstance(sub, int | float) and len(sub) == 0) else sub


def _label(value: Any, source: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float | type(None)):
        raise HierarchyError(
            f"Hierarchy {source}: a node must be a text or a number, not {type(value).__name__}; "
            "put texts such as 'yes' in quotes."
        )
    return "" if value is None else str(value)


def tree_of_rows(rows: Sequence[Path]) -> Any:
    """Return the nested tree of rows `leaf, …, root`, or None where no tree gives the same rows."""
    root = rows[0][-1]
    if len(rows[0]) < 2:  # a value that is its own root
        return None
    tree = {root: _nested([row[-2::-1] for row in rows])}
    try:
        again = rows_of_tree(tree, root=root)
    except HierarchyError:
        return None
    return tree if again == list(rows) else None


def _nested(paths: Sequence[Sequence[str]]) -> Any:
    """Return the tree below a node, from ways of labels that go down to the leaves."""
    branches: dict[str, list[Sequence[str]]] = {}
    for path in paths:
        branches.setdefault(path[0], []).append(path[1:])
    below = {
        label: None if len(ways) == 1 and {*ways[0]} <= {label} else _nested(ways)
        for label, ways in branches.items()
    }
    return list(below) if all(sub is None for sub in below.values()) else below
