"""Accounts: who has one, inviting somebody, erasing one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.govern.office.entry import make_link
from sfumato.govern.office.people import add_person, end_person, list_people
from sfumato.service.call import go
from sfumato.service.pages.frame import page, values_of
from sfumato.service.registration import record_event

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.service.call import Call

HOURS = 72.0


def _page(call: Call, status: int = 200, **facts: Any) -> Response:
    shown = {"link": None, "wrong": "", "title": "Accounts"} | facts
    return page(call, "people.html", status, people=list_people(call.house.office), **shown)


async def show(call: Call) -> Response:
    """List the accounts."""
    return _page(call)


async def invite(call: Call) -> Response:
    """Make an account, and a link by which its person chooses a password, once."""
    given = values_of(await call.form())

    def work() -> str:
        office = call.house.office
        person = add_person(office, given.get("name", ""), given.get("role", "analyst"))
        about = {"person": person.id, "name": person.name, "role": person.role}
        record_event(call.house, "invited", call.caller, person.pseudonym)
        return make_link(office, "welcome", json.dumps(about), hours=HOURS)

    try:
        secret = await call.house.thread(work)
    except SfumatoError as error:
        return _page(call, 422, wrong=str(error))
    host = call.header("host")
    scheme = call.scope.get("scheme", "http")
    return _page(call, link=f"{scheme}://{host}/welcome/{secret}")


async def end(call: Call) -> Response:
    """Erase an account; its pseudonym stays in the chain and means nobody then."""
    if call.path["person"] != call.caller.id:
        await call.house.thread(end_person, call.house.office, call.path["person"])
        await call.house.thread(record_event, call.house, "account erased", call.caller)
    return go("/people")
