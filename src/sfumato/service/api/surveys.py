"""Surveys: made by owners, answered by devices, estimated from reports that hide everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.govern.office.people import find_person
from sfumato.govern.office.surveys import add_survey, close_survey, find_survey, list_surveys
from sfumato.local.collect.survey import Survey
from sfumato.local.collect.survey_files import write_survey
from sfumato.service.call import reply
from sfumato.service.collecting import gate_of
from sfumato.service.problems import Problem, not_found
from sfumato.service.registration import record_event

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.requests.service import SurveyRequest
    from sfumato.service.call import Call


def make_survey(call: Call, wanted: SurveyRequest) -> Survey:
    """Make a survey whose page sends its reports here."""
    house = call.house
    survey = Survey.of(
        wanted.id, wanted.question, wanted.answers, epsilon=wanted.epsilon,
        asked_by=wanted.asked_by, about=wanted.about, remember=wanted.remember,
        send_to=f"/api/v1/surveys/{wanted.id}/reports",
    )  # fmt: skip
    file = house.settings.path / "surveys" / f"{survey.id}.yaml"
    if find_survey(house.office, survey.id) is not None:
        raise Problem(422, "invalid", "There is a survey of this id already; choose another.")
    file.parent.mkdir(exist_ok=True)
    write_survey(survey, file)
    add_survey(
        house.office,
        survey.id,
        owner=call.caller.id,
        file=str(file.relative_to(house.settings.path)),
    )
    record_event(house, "survey made", call.caller, survey.id)
    return survey


async def create(call: Call) -> Response:
    """Make a survey."""
    wanted = await call.body()
    survey = await call.house.thread(make_survey, call, wanted)
    shown = {"id": survey.id, "protocol": survey.protocol_name, "told": survey.told}
    return reply(shown | {"page": f"/s/{survey.id}"}, 201, Location=f"/s/{survey.id}")


def own_surveys(call: Call) -> list[dict[str, Any]]:
    """List the surveys of whoever asks; those whose owner is gone are every owner's."""
    return [row for row in list_surveys(call.house.office) if _is_own(call, row)]


def own_survey(call: Call) -> dict[str, Any]:
    """Find the survey of the path, if it is of whoever asks."""
    found = find_survey(call.house.office, call.path["survey"])
    if found is None or not _is_own(call, found):
        raise not_found()
    return found


def _is_own(call: Call, row: dict[str, Any]) -> bool:
    if row["owner"] == call.caller.id:
        return True
    return find_person(call.house.office, id=row["owner"]) is None


async def list_all(call: Call) -> Response:
    """List the surveys of whoever asks."""
    rows = own_surveys(call)
    return reply({"surveys": [{"id": row["id"], "state": row["state"]} for row in rows]})


async def report(call: Call) -> Response:
    """Take reports, binary or JSON, many per body; the receipt says what became of them."""
    id_ = call.path["survey"]
    gate = call.house.pages.get("gates", {}).get(id_)
    if gate is None:
        gate = await call.house.thread(gate_of, call.house, id_)
    receipt = await gate.receive(await call.bytes())
    return reply(receipt.record(), Access_Control_Allow_Origin="*")


async def withdraw(call: Call) -> Response:
    """Take a report back; closed surveys, too. Nobody learns whether a code was one."""
    wanted = await call.body()
    await withdraw_report(call, call.path["survey"], wanted.code)
    return reply({"state": "withdrawn"}, Access_Control_Allow_Origin="*")


async def withdraw_report(call: Call, id_: str, code: str) -> None:
    """Erase the reports that were sent with a code."""
    if find_survey(call.house.office, id_) is None:
        raise not_found()
    gate = await call.house.thread(gate_of, call.house, id_)
    await call.house.thread(gate.collector.withdraw, code)


def estimates(call: Call, id_: str) -> dict[str, Any]:
    """Estimate the share of every answer from all reports so far."""
    gate = gate_of(call.house, id_)
    if not len(gate.collector):
        return {"reports": 0, "answers": []}
    found = gate.collector.estimate()
    bounds = found.interval(0.95).tolist()
    shares, errors = found.frequencies.tolist(), found.standard_error.tolist()
    listed = zip(found.values, shares, errors, bounds, strict=True)
    return {
        "reports": found.n,
        "answers": [
            {"answer": str(value), "share": share, "standard_error": error, "interval": pair}
            for value, share, error, pair in listed
        ],
    }


async def estimate(call: Call) -> Response:
    """Give the estimates with their intervals, as they are now."""
    return reply(await call.house.thread(estimates, call, own_survey(call)["id"]))


async def close(call: Call) -> Response:
    """Take no more reports."""
    return reply({"id": await close_own(call), "state": "closed"})


async def close_own(call: Call) -> str:
    """Close a survey of one's own; give its id."""
    id_: str = own_survey(call)["id"]
    await call.house.thread(close_survey, call.house.office, id_)
    call.house.pages.get("gates", {}).pop(id_, None)
    call.house.pages.pop("openness", None)
    return id_
