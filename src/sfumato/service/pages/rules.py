"""The owner's rules: amendments with a reason, grants, and mistakes that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.govern.ledger.chain import AMENDED, REGISTERED, canonical
from sfumato.govern.ledger.registrations import registration_from
from sfumato.govern.office.catalogue import add_mistake, list_mistakes
from sfumato.govern.office.grants import list_grants, revoke
from sfumato.govern.office.owners import list_owners, remove_owner
from sfumato.govern.office.people import list_people
from sfumato.requests.service import AmendRequest
from sfumato.service.api.datasets import give_grant, give_ownership
from sfumato.service.call import go
from sfumato.service.pages.frame import listed, page, values_of
from sfumato.service.problems import Problem, problem_of
from sfumato.service.registration import amend as amend_rules
from sfumato.service.registration import record_event

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.govern.ledger.registrations import Registration
    from sfumato.service.call import Call


def _history(call: Call, name: str) -> list[dict[str, Any]]:
    """List amendments, the old rules and the new side by side."""
    found, before = [], None
    for entry in call.house.reader.entries(name):
        if entry.kind in {REGISTERED, AMENDED}:
            after = registration_from(canonical(entry.details["registration"]))
            rows = [
                (what, _told(before, what), _told(after, what))
                for what in ("limits", "policy", "purposes")
                if before is None or getattr(before, what) != getattr(after, what)
            ]  # fmt: skip
            reason = entry.details.get("reason", "")
            time = f"{entry.time[:16].replace('T', ' ')} UTC"
            found.append({"time": time, "kind": entry.kind, "rows": rows, "reason": reason})
            before = after
    return found[::-1]


def _told(rules: Registration | None, what: str) -> str:
    found = "" if rules is None else getattr(rules, what)
    return ", ".join(found) if isinstance(found, tuple) else str(found)


def _page(call: Call, status: int = 200, **facts: Any) -> Response:
    house, name, me = call.house, call.path["dataset"], call.caller.id
    house.listed(name)
    may = [
        person
        for person in list_people(house.office)
        if person.role == "analyst" or person.id == me
    ]
    shown: dict[str, Any] = {"wrong": "", "given": {}} | facts
    registration = house.reader.registration(name)
    return page(
        call, "rules.html", status, title=f"Rules of {name}", name=name,
        registration=registration, grants=list_grants(house.office, name),
        people=may, owners=list_owners(house.office, name),
        others=[person for person in list_people(house.office) if person.role == "owner"],
        mistakes=list_mistakes(house.office, name), history=_history(call, name), **shown,
    )  # fmt: skip


async def form(call: Call) -> Response:
    """Show the rules in force, and forms to change them."""
    return _page(call)


async def amend(call: Call) -> Response:
    """Amend, or show what is wrong."""
    given = values_of(await call.form())
    told = {
        field: given[field]
        for field in ("title", "why", "contact", "retention")
        if given.get(field)
    }
    told_numbers = {field: given[field] for field in ("tick", "deadline") if given.get(field)}
    owner = {
        "budget": {field: given[field] for field in ("budget", "budget_delta") if given.get(field)},
        "shares": {
            "limit_analyst": listed(given.get("limit_analyst", "")),
            "policy": given.get("policy") or None,
        },
    }  # fmt: skip
    try:
        numbers = {field: float(value) for field, value in told_numbers.items()}
        whole: dict[str, Any] = {"reason": given.get("reason", ""), "owner": owner}
        if told or numbers:
            whole["told"] = {**told, **numbers}
        if given.get("purposes"):
            whole["purposes"] = listed(given["purposes"])
        wanted = AmendRequest.of(whole)
        await call.house.thread(amend_rules, call.house, call.caller, call.path["dataset"], wanted)
    except (SfumatoError, Problem) as error:
        return _page(call, 422, wrong=problem_of(error).detail, given=given)
    except ValueError:
        return _page(call, 422, wrong="The tick and the deadline are numbers.", given=given)
    return go(f"/datasets/{call.path['dataset']}/rules")


async def grant(call: Call) -> Response:
    """Let an analyst ask."""
    given = values_of(await call.form())
    try:
        await call.house.thread(
            give_grant, call, given.get("analyst", ""), given.get("purpose") or None
        )
    except (SfumatoError, Problem) as error:
        return _page(call, 422, wrong=problem_of(error).detail)
    return go(f"/datasets/{call.path['dataset']}/rules")


async def end_grant(call: Call) -> Response:
    """Take a grant back."""
    house, name = call.house, call.path["dataset"]
    await house.thread(revoke, house.office, call.path["grant"], name)
    await house.thread(record_event, house, "revoked", call.caller, name)
    return go(f"/datasets/{name}/rules")


async def join_owner(call: Call) -> Response:
    """Let another owner act on the dataset."""
    given = values_of(await call.form())
    try:
        await call.house.thread(give_ownership, call, given.get("owner", ""))
    except (SfumatoError, Problem) as error:
        return _page(call, 422, wrong=problem_of(error).detail)
    return go(f"/datasets/{call.path['dataset']}/rules")


async def leave_owner(call: Call) -> Response:
    """Take the dataset from an owner who was added."""
    house, name = call.house, call.path["dataset"]
    await house.thread(remove_owner, house.office, name, call.path["person"])
    await house.thread(record_event, house, "owner removed", call.caller, name)
    return go(f"/datasets/{name}/rules")


async def mistake(call: Call) -> Response:
    """Tell everybody of a mistake."""
    given = values_of(await call.form())
    name = call.path["dataset"]
    call.house.listed(name)
    try:
        await call.house.thread(add_mistake, call.house.office, name, given.get("told", ""))
    except SfumatoError as error:
        return _page(call, 422, wrong=str(error))
    call.house.pages.pop("openness", None)
    return go(f"/datasets/{name}/rules")
