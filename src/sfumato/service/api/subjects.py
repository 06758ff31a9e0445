"""People who ask what is held about them: the request, its state, and what the owner does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.govern.office import subjects
from sfumato.govern.office.events import begin_request
from sfumato.govern.office.jobs import add_job
from sfumato.govern.office.owners import owns
from sfumato.service.access import check_owns
from sfumato.service.call import reply
from sfumato.service.problems import Problem, not_found
from sfumato.service.registration import record_event

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.requests.service import SubjectRequest
    from sfumato.service.call import Call


def take_request(call: Call, wanted: SubjectRequest) -> str:
    """Take a request, unless too many come from one address; give its code."""
    office = call.house.office
    if not begin_request(office, call.address):
        raise Problem(429, "too-many", "Too many requests were made from here; try again later.")
    return subjects.add_request(office, wanted.kind, wanted.dataset, wanted.told)


async def create(call: Call) -> Response:
    """Take a request; the code is told once. An unknown dataset is taken like a known one."""
    code = await call.house.thread(take_request, call, await call.body())
    place = f"/api/v1/subjects/requests/{code}"
    return reply({"code": code, "state": subjects.RECEIVED}, 201, Location=place)


async def status(call: Call) -> Response:
    """Tell how a request stands; unknown, unconfirmed and refused ones read alike."""
    return reply(await call.house.thread(subjects.status, call.house.office, call.path["code"]))


async def read(call: Call) -> Response:
    """Give what was found to whoever has the code, once."""
    found = await call.house.thread(subjects.read_once, call.house.office, call.path["code"])
    if found is None:
        raise not_found()
    return reply(found)


async def list_all(call: Call) -> Response:
    """List the requests, never what was found."""
    return reply({"requests": own_requests(call)})


def own_requests(call: Call) -> list[dict[str, Any]]:
    """Find the requests about datasets of whoever asks; those about none are every owner's."""
    office = call.house.office
    found = subjects.list_requests(office)
    return [row for row in found if owns(office, call.caller.id, row["dataset"])]


def own_request(call: Call, id_: str) -> dict[str, Any]:
    """Find a request about a dataset of whoever asks."""
    found = subjects.find_request(call.house.office, id_)
    if found is None:
        raise not_found()
    check_owns(call.house.office, call.caller, found["dataset"])
    return found


def confirm_request(call: Call, id_: str, person: str, corrections: dict[str, str]) -> float | None:
    """Confirm who somebody is, and have her request answered; tell when a change takes effect."""
    house = call.house
    request = own_request(call, id_)
    listed = house.listed(request["dataset"])
    if request["kind"] == "correct" and not corrections:
        raise Problem(422, "invalid", "A correction says which columns have which right values.")
    if not listed.facts.held or not listed.facts.subject:
        raise Problem(
            422, "invalid",
            "The rows of this dataset do not lie here, or no column names a person; answer the "
            "request where they are, and refuse it here.",
        )  # fmt: skip
    due = subjects.confirm(house.office, id_, period=house.settings.deletions)
    if due is None:
        raise Problem(409, "over", "The request was confirmed or refused before.")
    looks = request["kind"] == "access"
    add_job(
        house.office, "lookup" if looks else "change", person=call.caller.id, dataset=listed.name,
        body={"request": id_, "person": person, "corrections": corrections},
        at=None if looks else due,
    )  # fmt: skip
    record_event(house, f"subject confirmed ({request['kind']})", call.caller, listed.name)
    return None if looks else due


async def confirm(call: Call) -> Response:
    """Confirm who somebody is; her request is then answered, changes at the next fixed time."""
    wanted = await call.body()
    due = await call.house.thread(
        confirm_request, call, call.path["request"], wanted.person, wanted.corrections
    )
    return reply({"id": call.path["request"], "state": subjects.CONFIRMED, "due": due})


async def refuse(call: Call) -> Response:
    """Refuse a request of somebody who could not be confirmed."""
    own_request(call, call.path["request"])
    await call.house.thread(subjects.refuse, call.house.office, call.path["request"])
    await call.house.thread(record_event, call.house, "subject refused", call.caller)
    return reply({"id": call.path["request"], "state": subjects.REFUSED, "due": None})
