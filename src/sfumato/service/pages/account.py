"""One's own account: tokens, sessions, the password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.govern.office import events
from sfumato.govern.office.entry import (
    end_session_by_handle,
    list_sessions,
    list_tokens,
    make_token,
)
from sfumato.govern.office.entry import end_token as drop_token
from sfumato.govern.office.people import log_in, set_password
from sfumato.requests.service import TokenRequest
from sfumato.service.call import go
from sfumato.service.pages.entry import known_device
from sfumato.service.pages.frame import page, values_of
from sfumato.service.problems import not_allowed
from sfumato.service.registration import record_event

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.govern.office.people import Person
    from sfumato.service.call import Call

_BLOCKED = "Too many passwords were wrong; try again in a quarter of an hour."


def _logged_in(call: Call) -> Person:
    """Give whoever is logged in; a token must not make another, or lock its person out."""
    entrant = call.caller.entrant
    if entrant is None or entrant.via != "session":
        raise not_allowed("An account is changed by whoever is logged in, not by a token.")
    return entrant.person


def _page(call: Call, status: int = 200, **facts: Any) -> Response:
    office, me = call.house.office, call.caller.id
    shown = {"made": None, "wrong": "", "title": "Account"} | facts
    return page(
        call, "account.html", status, tokens=list_tokens(office, me),
        sessions=list_sessions(office, me), **shown,
    )  # fmt: skip


async def show(call: Call) -> Response:
    """Show tokens and sessions."""
    return _page(call)


async def add_token(call: Call) -> Response:
    """Make a token, and show its secret once."""
    person = _logged_in(call)
    form = await call.form()
    given = values_of(form)
    try:
        wanted = TokenRequest.of(
            {"label": given.get("label", ""), "scopes": form.get("scopes", ["ask"]),
             "days": given.get("days", "90")}
        )  # fmt: skip
        _, secret = await call.house.thread(
            make_token, call.house.office, person, wanted.label, wanted.scopes, wanted.days
        )  # fmt: skip
    except SfumatoError as error:
        return _page(call, 422, wrong=str(error))
    await call.house.thread(record_event, call.house, "token made", call.caller, wanted.label)
    return _page(call, made=secret)


async def end_token(call: Call) -> Response:
    """Revoke a token."""
    person = _logged_in(call)
    await call.house.thread(drop_token, call.house.office, person.id, call.path["token"])
    await call.house.thread(record_event, call.house, "token revoked", call.caller)
    return go("/account")


async def end_session(call: Call) -> Response:
    """End a session."""
    person, office = _logged_in(call), call.house.office
    await call.house.thread(end_session_by_handle, office, person.id, call.path["handle"])
    return go("/account")


async def password(call: Call) -> Response:
    """Set another password; all sessions end. The old one is limited like a login."""
    person, office = _logged_in(call), call.house.office
    given = values_of(await call.form())
    device = known_device(call, person.name)
    attempt = await call.house.thread(
        events.begin_attempt, office, person.name, call.address, device
    )
    if attempt is None:
        return _page(call, 429, wrong=_BLOCKED)
    if await call.house.thread(log_in, office, person.name, given.get("old", "")) is None:
        return _page(call, 422, wrong="The old password is wrong.")
    await call.house.thread(events.drop_attempt, office, attempt)
    try:
        await call.house.thread(set_password, office, person.id, given.get("new", ""))
    except SfumatoError as error:
        return _page(call, 422, wrong=str(error))
    await call.house.thread(record_event, call.house, "password changed", call.caller)
    return go("/login")
