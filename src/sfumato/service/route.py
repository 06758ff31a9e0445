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
    """Finds the route of a request."""

    def __init__(self, table: Sequence[Route]) -> None:
        self._exact: dict[str, dict[str, Route]] = {}
        self._shaped: dict[int, list[tuple[list[str], dict[str, Route]]]] = {}
        for route in table:
            if "{" not in route.path:
                self._exact.setdefault(route.path, {})[route.method] = route
                continue
            parts = route.path.split("/")
            known = self._shaped.setdefault(len(parts), [])
            for listed, methods in known:
                if listed == parts:
                    methods[route.method] = route
                    break
            else:
                known.append((parts, {route.method: route}))

    def find(self, path: str) -> tuple[dict[str, Route], dict[str, str]]:
        """Give the routes of a path by method, and what its braces take; none if there is none."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact, {}
        parts = path.split("/")
        for listed, methods in self._shaped.get(len(parts), ()):
            taken = {}
            for wanted, given in zip(listed, parts, strict=True):
                if wanted[:1] == "{" and given:
                    taken[wanted[1:-1]] = given
                elif wanted != given:
                    break
            else:
                return methods, taken
        return {}, {}
