"""People's rights in the browser: ask, correct, be forgotten; and what the owner does about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.govern.office import subjects
from sfumato.govern.office.catalogue import find_dataset, list_datasets
from sfumato.requests.service import SubjectRequest, WithdrawalRequest
from sfumato.service.api.subjects import confirm_request, own_request, own_requests, take_request
from sfumato.service.api.surveys import withdraw_report
from sfumato.service.call import go
from sfumato.service.pages.frame import page, values_of
from sfumato.service.problems import Problem, problem_of
from sfumato.service.registration import record_event

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.service.call import Call


def _page(call: Call, status: int = 200, **facts: Any) -> Response:
    shown: dict[str, Any] = {"code": None, "state": None, "found": None, "wrong": "",
                             "withdrawn": False} | facts  # fmt: skip
    return page(
        call, "me.html", status, title="What is held about you",
        datasets=list_datasets(call.house.office), **shown,
    )  # fmt: skip


async def form(call: Call) -> Response:
    """Offer the three requests, and the look at one that was made."""
    return _page(call)


async def submit(call: Call) -> Response:
    """Take a request; show the code once."""
    given = values_of(await call.form())
    try:
        wanted = SubjectRequest.of(
            {field: given.get(field, "") for field in ("kind", "dataset", "told")}
        )
        code = await call.house.thread(take_request, call, wanted)
    except (SfumatoError, Problem) as error:
        told = problem_of(error)
        return _page(call, told.status, wrong=told.detail)
    return _page(call, 201, code=code)


async def status(call: Call) -> Response:
    """Tell how a request stands; the code comes in the body, so that it is in no log."""
    given = values_of(await call.form())
    code = given.get("code", "")
    found = await call.house.thread(subjects.status, call.house.office, code)
    return _page(call, state=found, code=code)


async def read(call: Call) -> Response:
    """Show what was found, once."""
    given = values_of(await call.form())
    found = await call.house.thread(subjects.read_once, call.house.office, given.get("code", ""))
    if found is None:
        return _page(call, 404, wrong="There is nothing to read under this code, or it was read.")
    return _page(call, found=found)


async def withdraw(call: Call) -> Response:
    """Take a report of a survey back, by the code that the device showed."""
    given = values_of(await call.form())
    try:
        wanted = WithdrawalRequest.of({"code": given.get("withdrawal", "")})
        await withdraw_report(call, given.get("survey", ""), wanted.code)
    except (SfumatoError, Problem) as error:
        return _page(call, 422, wrong=problem_of(error).detail)
    return _page(call, withdrawn=True)


# -- the owner ------------------------------------------------------------------------------


def _column(call: Call, dataset: str) -> str:
    """Name the column by which a person is found in a dataset."""
    found = find_dataset(call.house.office, dataset)
    return "" if found is None else found.facts.subject


def _requests(call: Call, status: int = 200, wrong: str = "") -> Response:
    return page(
        call, "subjects.html", status, title="Requests of people", wrong=wrong,
        rows=[row | {"column": _column(call, row["dataset"])} for row in own_requests(call)],
    )  # fmt: skip


async def requests(call: Call) -> Response:
    """List the requests for the owner."""
    return _requests(call)


def _corrections(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _check(call: Call, id_: str, given: dict[str, str]) -> None:
    if not given.get("person"):
        raise Problem(422, "invalid", "Say how the dataset names the person.")
    request = subjects.find_request(call.house.office, id_)
    if request is None or find_dataset(call.house.office, request["dataset"]) is None:
        raise Problem(422, "invalid", "There is no dataset of that name; refuse it.")


async def decide(call: Call) -> Response:
    """Confirm who somebody is, or refuse."""
    given = values_of(await call.form())
    id_ = call.path["request"]
    try:
        if given.get("decision") == "confirm":
            _check(call, id_, given)
            await call.house.thread(
                confirm_request, call, id_, given["person"],
                _corrections(given.get("corrections", "")),
            )  # fmt: skip
        else:
            own_request(call, id_)
            await call.house.thread(subjects.refuse, call.house.office, id_)
            await call.house.thread(record_event, call.house, "subject refused", call.caller)
    except (SfumatoError, Problem) as error:
        return _requests(call, 422, problem_of(error).detail)
    return go("/subjects")
