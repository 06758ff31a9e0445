"""Accounts: tokens for programs, and requests for budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.dp.rounding import stated
from sfumato.govern.office.entry import end_token, list_tokens, make_token
from sfumato.govern.office.owners import owns
from sfumato.govern.office.wishes import add_wish, list_wishes
from sfumato.service.call import reply
from sfumato.service.problems import not_allowed, not_found
from sfumato.service.registration import record_event

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.service.call import Call

_SHOWN = ("id", "dataset", "amount", "reason", "state", "answer", "made", "pseudonym")


async def tokens(call: Call) -> Response:
    """List one's own tokens, without their secrets."""
    return reply({"tokens": list_tokens(call.house.office, call.caller.id)})


async def add_token(call: Call) -> Response:
    """Make a token; its secret is told here and never again."""
    wanted = await call.body()
    assert call.caller.entrant is not None
    if call.caller.entrant.via != "session":
        raise not_allowed("A token is made by whoever is logged in, not by another token.")
    person = call.caller.entrant.person
    id_, secret = await call.house.thread(
        make_token, call.house.office, person, wanted.label, wanted.scopes, wanted.days
    )
    await call.house.thread(record_event, call.house, "token made", call.caller, wanted.label)
    return reply({"id": id_, "secret": secret}, 201)


async def drop_token(call: Call) -> Response:
    """Revoke a token."""
    house = call.house
    if not await house.thread(end_token, house.office, call.caller.id, call.path["token"]):
        raise not_found()
    await house.thread(record_event, house, "token revoked", call.caller)
    return reply({"tokens": list_tokens(house.office, call.caller.id)})


async def wish(call: Call) -> Response:
    """Ask the owner for a larger limit of one's own."""
    wanted = await call.body()
    stated(wanted.amount)
    name = call.path["dataset"]
    id_ = await call.house.thread(
        add_wish, call.house.office, call.caller.id, name, wanted.amount, wanted.reason
    )
    await call.house.thread(record_event, call.house, "budget requested", call.caller, name)
    return reply({"id": id_, "state": "open"}, 201)


def seen_wishes(call: Call) -> list[dict[str, Any]]:
    """Find one's own requests for budget, or those about an owner's datasets."""
    office, caller = call.house.office, call.caller
    if not caller.is_owner:
        return list_wishes(office, person=caller.id)
    found = list_wishes(office)
    return [wish for wish in found if owns(office, caller.id, wish["dataset"])]


async def wishes(call: Call) -> Response:
    """List requests for budget: one's own, or those about an owner's datasets."""
    found = seen_wishes(call)
    return reply({"requests": [{name: row[name] for name in _SHOWN} for row in found]})
