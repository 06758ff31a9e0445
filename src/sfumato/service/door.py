"""The door: the ASGI application, through which every request passes once.

Contract, in this order: the host must be one of ours; the route is found in the table, and what is
not there is a 404; whoever asks is recognised by a session cookie or a token; too many requests are
put off; a change that a browser sends must come from our own pages; the route's access admits or
refuses; then the handler runs. Whatever goes wrong is told in one shape, and nothing of an error
that we did not foresee is told. Rights are decided from the route that was found, never from a
path that a header could have changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from starlette.responses import Response

from sfumato.govern.office.entry import enter_by_session, enter_by_token, note_use
from sfumato.service import problems
from sfumato.service.access import NOBODY, Caller, admit
from sfumato.service.answering import watch
from sfumato.service.call import HTML, Call, cookie_of, go
from sfumato.service.house import House
from sfumato.service.problems import Problem, not_known, problem_of
from sfumato.service.route import Router
from sfumato.service.routes import ROUTES
from sfumato.service.settings import BURST, LOOPBACK, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from sfumato.service.route import Route

log = logging.getLogger("sfumato.service")
COOKIE = "__Host-sfumato"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
GUARDS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "geolocation=(), camera=(), microphone=()",
}
_KEPT = "pages.public:"
"""Handlers that give everybody what is kept in memory: there is nothing to decide or to put off."""

_ASKED_FIRST = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "86400",
}
"""What a browser is told that asks whether a page of another site may send something."""

_GUARDS = [(name.lower().encode(), value.encode()) for name, value in GUARDS.items()]


class Door:
    """The application of one worker."""

    def __init__(self, settings: Settings) -> None:
        self.house = House(settings)
        self.router = Router(ROUTES)
        self.handlers = {id(route): route.load() for route in ROUTES}
        self.hosts = frozenset({*LOOPBACK, *settings.hosts})
        self._buckets: dict[str, tuple[float, float]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request, or the start and end of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        route: Route | None = None
        caller = NOBODY
        try:
            self._check_host(headers)
            methods, path = self.router.find(scope["path"])
            method = scope["method"]
            route = methods.get("GET" if method == "HEAD" else method)
            shared = next((known for known in methods.values() if known.cross_site), None)
            asks_first = method == "OPTIONS" and shared is not None
            route = shared if asks_first else route
            if route is None:
                route = next(iter(methods.values()), None)
                raise _no_route(methods)  # noqa: TRY301 - explained below, like all errors
            caller = self._recognize(headers)
            granted = None
            if not route.handler.startswith(_KEPT):
                self._pace(scope, caller)
                self._check_site(route, method, headers)
                granted = admit(self.house.office, route.access, caller, path.get("dataset"))
            call = Call(self.house, route, caller, scope, receive, headers, path, granted)
            handle = _ask_first if asks_first else self.handlers[id(route)]
            response: Response = await handle(call)
        except Exception as error:  # noqa: BLE001 - every error has its one shape
            response = self._explain(error, route, scope, headers, caller)
        await self._send(response, route, scope, receive, send)

    async def _send(
        self, response: Response, route: Route | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Send with the guards of every response; what any site may ask, any site may read."""
        if route is not None and route.cross_site:
            response.headers["Access-Control-Allow-Origin"] = "*"
        if not hasattr(response, "guarded"):
            stated = {key for key, _ in response.raw_headers}
            response.raw_headers.extend(header for header in _GUARDS if header[0] not in stated)
            response.guarded = True  # type: ignore[attr-defined]  # a kept page is sent again
        await response(scope, receive, send)

    # -- steps ------------------------------------------------------------------------------

    def _check_host(self, headers: Mapping[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name not in self.hosts and host not in self.hosts:
            raise Problem(
                421, "wrong-host",
                "This server does not answer for that host; its operator names hosts with --host.",
            )  # fmt: skip

    def _recognize(self, headers: Mapping[bytes, bytes]) -> Caller:
        """Find out who asks; a token that is not valid is refused, an old cookie is nobody's."""
        given = headers.get(b"authorization")
        if given is not None:
            kind, _, secret = given.decode("latin-1").partition(" ")
            secret = secret.strip()
            if kind.lower() != "bearer" or not secret:
                raise not_known()
            if hmac.compare_digest(secret.encode(), self.house.operator.encode()):
                return Caller(operator=True)
            found = enter_by_token(self.house.office, secret)
            if found is None:
                raise not_known()
        else:
            secret = cookie_of(headers, COOKIE)
            found = enter_by_session(self.house.office, secret) if secret else None
            if found is None:
                return NOBODY
        if found.stale:
            self.house.threads.submit(note_use, self.house.office, found.via, secret)
        return Caller(found, secret)

    def _pace(self, scope: Scope, caller: Caller) -> None:
        """Put off whoever asks too often: a bucket per account, or per address without one."""
        rate = self.house.settings.rate
        who = caller.id if caller.entrant is not None else f"@{(scope.get('client') or ['?'])[0]}"
        left, at = self._buckets.get(who, (float(BURST), time.monotonic()))
        now = time.monotonic()
        left = min(float(BURST), left + (now - at) * rate)
        if left < 1:
            raise Problem(
                429, "too-many", "Too many requests; wait a moment.", headers={"Retry-After": "1"}
            )
        if len(self._buckets) > 100_000:
            self._buckets.clear()
        self._buckets[who] = (left - 1, now)

    def _check_site(self, route: Route, method: str, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a change that a page of another site sends in a visitor's name."""
        if method in SAFE or b"authorization" in headers or route.cross_site:
            return
        if b"cookie" not in headers and route.is_api:
            return  # a program without a cookie: there is nobody in whose name
        site = headers.get(b"sec-fetch-site", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        host = headers.get(b"host", b"").decode("latin-1").lower()
        good = site in {"same-origin", "none"} if site else bool(origin)
        if good and origin:
            good = urlsplit(origin).netloc.lower() == host
        if not good:
            raise Problem(
                403, "cross-site", "This was sent by a page of another site, and is refused."
            )

    def _explain(
        self,
        error: Exception,
        route: Route | None,
        scope: Scope,
        headers: Mapping[bytes, bytes],
        caller: Caller,
    ) -> Response:
        problem = problem_of(error)
        problem.detail = self.house.settings.told(problem.detail)
        if problem.code == "unforeseen":
            log.error("unforeseen: %s at %s", type(error).__name__, route and route.path)
        shown = b"text/html" in headers.get(b"accept", b"")
        if (route is not None and route.is_api) or not shown:
            return Response(problem.body(), problem.status, problem.headers, problems.TYPE)
        if problem.status == 401 and scope["method"] in SAFE:
            return go(f"/login?next={quote(scope['path'])}")
        from sfumato.service.pages.frame import error_page  # noqa: PLC0415 - where it is shown

        body = error_page(self.house, caller, problem)
        return Response(body, problem.status, problem.headers, HTML)

    # -- life -------------------------------------------------------------------------------

    async def _live(self, receive: Receive, send: Send) -> None:
        from sfumato.service.runner import run_jobs  # noqa: PLC0415 - with the server only

        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                work: list[Any] = [watch(self.house)]
                if self.house.settings.jobs:
                    work.append(run_jobs(self.house))
                self._tasks = [asyncio.create_task(loop) for loop in work]
                await send({"type": "lifespan.startup.complete"})
            else:
                for task in self._tasks:
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError, Exception):
                        await task
                self.house.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


async def _ask_first(_: Call) -> Response:
    """Tell a browser that pages of other sites may send what it is about to."""
    return Response(b"", 204, _ASKED_FIRST)


def _no_route(methods: Mapping[str, Route]) -> Problem:
    if not methods:
        return problems.not_found()
    allowed = ", ".join(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))
    return Problem(405, "method", f"This address takes {allowed}.", headers={"Allow": allowed})


def from_environment() -> Door:
    """Make the application of a worker that `sfumato serve` started."""
    return Door(Settings.from_environment())
