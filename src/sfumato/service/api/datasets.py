"""Datasets: what there is, what it means, how a budget stands, rows to rehearse on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.ask.session.dummy import dummy_rows
from sfumato.dp.accounting.filters import total
from sfumato.govern.office.grants import datasets_granted, grant, list_grants, revoke
from sfumato.govern.office.owners import add_owner, list_owners, owned, remove_owner
from sfumato.govern.office.people import find_person
from sfumato.service.asking import purpose_of
from sfumato.service.call import reply
from sfumato.service.problems import Problem, not_found, numbers
from sfumato.service.registration import amend, record_event, register

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.service.call import Call

MOST_ROWS = 1000


def visible(call: Call) -> list[str]:
    """Name the datasets that whoever asks may see."""
    house, caller = call.house, call.caller
    granted = datasets_granted(house.office, caller.id)
    mine = owned(house.office, caller.id) if caller.is_owner else []
    return sorted({*mine, *granted})


def describe(call: Call, name: str) -> dict[str, Any]:
    """Describe a dataset for those who may ask about it or own it."""
    house = call.house
    listed = house.listed(name)
    found = house.reader.registration(name)
    if found is None:
        raise not_found()
    tables = found.rules.get("tables", {})
    return {
        "name": name,
        "shape": listed.facts.shape,
        "title": listed.facts.title,
        "why": listed.facts.why,
        "contact": listed.facts.contact,
        "retention": listed.facts.retention,
        "unit": found.unit,
        "time_zone": found.time_zone,
        "purposes": list(found.purposes),
        "policy": str(found.policy),
        "limits": found.limits.to_json(),
        "bounds": found.rules.get("bounds", {}),
        "keys": found.rules.get("keys", {}),
        "columns": tables.get(name, {}).get("kinds", {}),
        "tick": listed.facts.tick,
        "deadline": listed.facts.deadline,
    }


async def list_all(call: Call) -> Response:
    """List the datasets that whoever asks may see."""
    return reply({"datasets": [describe(call, name) for name in visible(call)]})


async def show(call: Call) -> Response:
    """Describe one dataset."""
    return reply(describe(call, call.path["dataset"]))


async def create(call: Call) -> Response:
    """Register a dataset."""
    wanted = await call.body()
    await call.house.thread(register, call.house, call.caller, wanted)
    place = f"/api/v1/datasets/{wanted.name}"
    return reply(describe(call, wanted.name), 201, Location=place)


async def change(call: Call) -> Response:
    """Amend what an owner may change, with a reason."""
    wanted = await call.body()
    name = call.path["dataset"]
    call.house.listed(name)
    await call.house.thread(amend, call.house, call.caller, name, wanted)
    return reply(describe(call, name))


async def standing(call: Call) -> Response:
    """Tell what was spent and what is left of every limit that applies to whoever asks."""
    name = call.path["dataset"]
    wanted = call.query.get("purpose")
    purpose = purpose_of(call.house, call.caller, name, wanted)
    now = call.house.reader.snapshot(name, call.caller.pseudonym, purpose)
    left = call.house.reader.remaining(name, call.caller.pseudonym, purpose)
    limits = [
        {
            "scope": scope,
            "limit": numbers(limit),
            "spent": numbers(total(limit, spent)),
            "remaining": numbers(left[scope]),
        }
        for (_, scope, _), limit, spent in now.limits()
    ]
    return reply({"purpose": purpose, "limits": limits, "tightest": left.tightest})


async def dummy(call: Call) -> Response:
    """Give rows made from public facts alone."""
    text = call.query.get("rows", "100")
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= MOST_ROWS:
        raise Problem(422, "invalid", f"rows is a whole number from 1 to {MOST_ROWS:,}.")
    found = await call.house.thread(call.house.opened, call.path["dataset"])
    names, rows = dummy_rows(found.asking.facts[found.asking.table], int(text))
    return reply({"columns": names, "rows": rows, "made_from": "public facts only"})


async def grants(call: Call) -> Response:
    """List who may ask about a dataset."""
    call.house.listed(call.path["dataset"])
    return reply({"grants": list_grants(call.house.office, call.path["dataset"])})


async def add_grant(call: Call) -> Response:
    """Let an analyst ask about a dataset for a purpose."""
    wanted = await call.body()
    await call.house.thread(give_grant, call, wanted.analyst, wanted.purpose)
    return reply({"grants": list_grants(call.house.office, call.path["dataset"])}, 201)


def give_grant(call: Call, analyst: str, purpose: str | None) -> None:
    """Grant, and write it into the audit log."""
    house, name = call.house, call.path["dataset"]
    house.listed(name)
    registered = house.reader.registration(name)
    named = () if registered is None else registered.purposes
    if (purpose or "") not in (named or ("",)):
        raise Problem(422, "invalid", "The purpose is one that the dataset names.")
    person = find_person(house.office, name=analyst)
    if person is None:
        raise Problem(422, "invalid", "There is no account of that name.")
    grant(house.office, person.id, name, purpose)
    record_event(
        house, "granted", call.caller, f"{name} to {person.pseudonym} for {purpose or '–'}"
    )


async def end_grant(call: Call) -> Response:
    """Take a grant back."""
    house, name = call.house, call.path["dataset"]
    if not await house.thread(revoke, house.office, call.path["grant"], name):
        raise not_found()
    await house.thread(record_event, house, "revoked", call.caller, name)
    return reply({"grants": list_grants(house.office, name)})


async def owners(call: Call) -> Response:
    """List the owners of a dataset."""
    call.house.listed(call.path["dataset"])
    return reply({"owners": list_owners(call.house.office, call.path["dataset"])})


async def join_owner(call: Call) -> Response:
    """Let another owner act on a dataset."""
    wanted = await call.body()
    await call.house.thread(give_ownership, call, wanted.name)
    return reply({"owners": list_owners(call.house.office, call.path["dataset"])}, 201)


def give_ownership(call: Call, owner: str) -> None:
    """Add an owner, and write it into the audit log."""
    house, name = call.house, call.path["dataset"]
    house.listed(name)
    person = find_person(house.office, name=owner)
    if person is None:
        raise Problem(422, "invalid", "There is no account of that name.")
    add_owner(house.office, name, person)
    record_event(house, "owner added", call.caller, f"{name} to {person.pseudonym}")


async def leave_owner(call: Call) -> Response:
    """Take a dataset from an owner who was added."""
    house, name = call.house, call.path["dataset"]
    if not await house.thread(remove_owner, house.office, name, call.path["person"]):
        raise not_found()
    await house.thread(record_event, house, "owner removed", call.caller, name)
    return reply({"owners": list_owners(house.office, name)})
