"""One request as a handler sees it: who asks, for what, with which body; and answers to it.

Contract: a body is read whole, within its limit and within a time, or refused; a form and JSON
fill in the same model. Nothing here looks at rights: a handler is called after `admit`.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from starlette.responses import Response

from sfumato.service.problems import Problem
from sfumato.service.settings import BODY, SLOWEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Message, Receive, Scope

    from sfumato.service.access import Caller
    from sfumato.service.house import House
    from sfumato.service.route import Route

JSON, HTML = "application/json", "text/html; charset=utf-8"
_WRITTEN = "%/?#[]@!$&'()*+,;=:~"


@dataclass
class Call:
    """A request that was admitted."""

    house: House
    route: Route
    caller: Caller
    scope: Scope
    receive: Receive
    headers: Mapping[bytes, bytes]
    path: Mapping[str, str] = field(default_factory=dict)
    granted: tuple[str, ...] | None = None
    """Purposes that were granted for the dataset of the path, where `admit` had to look."""

    def header(self, name: str) -> str:
        """Give a header; an empty text without one."""
        return self.headers.get(name.encode(), b"").decode("latin-1")

    @property
    def address(self) -> str:
        """The address of whoever asks, to count by; it is kept nowhere as it is."""
        client = self.scope.get("client")
        return str(client[0]) if client else "?"

    @property
    def query(self) -> dict[str, str]:
        """The query of the address; of several with one name the last."""
        text = self.scope["query_string"].decode("latin-1")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100, errors="replace"))

    async def piece(self) -> Message:
        """Receive the next piece of a body that may be long; each has to come in time."""
        try:
            async with asyncio.timeout(SLOWEST):
                message = await self.receive()
        except TimeoutError:
            raise _too_slow() from None
        if message["type"] == "http.disconnect":
            raise _gone()
        return message

    async def bytes(self, limit: int = BODY) -> bytes:
        """Read the body, which must arrive in time and be no larger than the limit."""
        stated = self.headers.get(b"content-length", b"0")
        if not stated.isdigit() or int(stated) > limit:
            raise too_large(limit)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(SLOWEST):
                while True:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise _gone()
                    piece = message.get("body", b"")
                    size += len(piece)
                    if size > limit:
                        raise too_large(limit)
                    parts.append(piece)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise _too_slow() from None

    async def form(self) -> dict[str, list[str]]:
        """Read a form."""
        kind = self.header("content-type").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise Problem(415, "media-type", "A form is sent as application/x-www-form-urlencoded.")
        try:
            text = (await self.bytes()).decode("utf-8")
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=1000)
        except (UnicodeDecodeError, ValueError):
            raise Problem(400, "malformed", "The form cannot be read.") from None
        found: dict[str, list[str]] = {}
        for name, value in pairs:
            found.setdefault(name, []).append(value.replace("\r\n", "\n"))
        return found

    async def json(self) -> Any:
        """Read a body of JSON."""
        kind = self.header("content-type").partition(";")[0].strip().lower()
        if kind != JSON:
            raise Problem(415, "media-type", "The body is JSON: Content-Type: application/json.")
        try:
            return json.loads(await self.bytes())
        except (ValueError, RecursionError):
            raise Problem(400, "malformed", "The body is not JSON.") from None

    async def body(self) -> Any:
        """Read the body as the route's model."""
        model = self.route.body
        assert model is not None
        given = await self.json()
        if not isinstance(given, dict):
            raise Problem(422, "invalid", "The body is a JSON object.")
        return model.of(given)


def cookie_of(headers: Mapping[bytes, bytes], wanted: str) -> str:
    """Give a cookie of a request; an empty text without one."""
    for part in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, value = part.strip().partition("=")
        if name == wanted:
            return value
    return ""


def too_large(limit: int) -> Problem:
    """Say that a body is too large."""
    return Problem(413, "too-large", f"A body here has at most {limit:,} bytes.")


def _too_slow() -> Problem:
    return Problem(408, "too-slow", "The body took too long to arrive.")


def _gone() -> Problem:
    return Problem(400, "gone", "The body never came to its end.")


def reply(content: Any, status: int = 200, **headers: str) -> Response:
    """Answer with JSON: of a value, or a text that is JSON already."""
    body = content if isinstance(content, str | bytes) else json.dumps(content, ensure_ascii=False)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(body, status, {"Cache-Control": "no-store", **named}, JSON)


def go(place: str, status: int = 303) -> Response:
    """Send a browser to another page of ours."""
    written = quote(local(place), safe=_WRITTEN)  # a header is ASCII
    return Response(b"", status, {"Location": written, "Cache-Control": "no-store"})


def local(place: str) -> str:
    """Give an address if it is a path of ours, and the start page otherwise."""
    plain = place.startswith("/") and not place.startswith(("//", "/\\"))
    return place if plain and place.isprintable() and "\\" not in place else "/"
