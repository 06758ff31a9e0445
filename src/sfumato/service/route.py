"""A route: a method, a path, who is admitted, and what handles it. And how one is found.

Contract: the route table is the one place where something is made reachable; what is not in it is
not there. A path is matched part by part; a part in braces takes any text without a slash.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.requests.request import Request
    from sfumato.service.access import Access

Handler = "Callable[[Call], Awaitable[Response]]"


@dataclass(frozen=True)
class Route:
    """One line of the table."""

    method: str
    path: str
    access: Access
    handler: str
    about: str = ""
    body: type[Request] | None = None
    answer: str | None = None
    status: int = 200
    query: Mapping[str, Any] = field(default_factory=dict)
    cross_site: bool = False
    """Whether other sites' pages may send it: a survey page may lie anywhere."""

    @property
    def is_api(self) -> bool:
        """Whether programs call it, and errors are JSON."""
        return not self.handler.startswith("pages.")

    def load(self) -> Any:
        """Give the function that handles it."""
        module, _, name = self.handler.partition(":")
        return getattr(import_module(f"sfumato.service.{module}"), name)


class Router:
    """Finds the route of a request: a tree over the parts of paths."""

    def __init__(self, table: Sequence[Route]) -> None:
        self._root = _Node()
        for route in table:
            node, names = self._root, []
            for part in route.path.split("/"):
                if part[:1] == "{":
                    names.append(part[1:-1])
                    node.any = node.any or _Node()
                    node = node.any
                else:
                    node = node.parts.setdefault(part, _Node())
            assert node.names in {None, tuple(names)}, "one address has one way to name its parts"
            node.names = tuple(names)
            node.methods[route.method] = route

    def find(self, path: str) -> tuple[dict[str, Route], dict[str, str]]:
        """Give the routes of a path by method, and what its braces take; none if there is none."""
        parts = path.split("/")
        found = _descend(self._root, parts, 0, [])
        if found is None:
            return {}, {}
        node, taken = found
        return node.methods, dict(zip(node.names or (), taken, strict=True))


@dataclass
class _Node:
    """What follows after some parts of a path: known words first, then any text."""

    parts: dict[str, _Node] = field(default_factory=dict)
    any: _Node | None = None
    names: tuple[str, ...] | None = None
    methods: dict[str, Route] = field(default_factory=dict)


def _descend(
    node: _Node, parts: list[str], at: int, taken: list[str]
) -> tuple[_Node, list[str]] | None:
    if at == len(parts):
        return (node, taken) if node.methods else None
    part = parts[at]
    known = node.parts.get(part)
    found = None if known is None else _descend(known, parts, at + 1, taken)
    if found is None and node.any is not None and part:
        found = _descend(node.any, parts, at + 1, [*taken, part])
    return found
