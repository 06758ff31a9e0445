"""Surveys: made by owners, answered by devices, estimated from reports that hide everybody."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from sfumato.govern.office.people import find_person
from sfumato.govern.office.surveys import (
    SurveyRules,
    add_survey,
    close_survey,
    find_survey,
    list_surveys,
)
from sfumato.local.collect.survey import Survey, plain_number
from sfumato.local.collect.survey_files import write_survey
from sfumato.local.wire.recipe import client_script, recipe
from sfumato.service.call import reply
from sfumato.service.collecting import gate_of
from sfumato.service.problems import Problem, not_found
from sfumato.service.registration import record_event

LARGE = 4
"""From here on, ε is warned about: a true answer may be 55 times as likely as another one."""

BEYOND = 7
"""Standard errors beyond 0 or 1 that no honest survey reaches (once in 10^11)."""

if TYPE_CHECKING:
    from sfumato.requests.service import SurveyRequest
    from sfumato.service.call import Call
    from sfumato.service.collecting import Gate


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
        rules=SurveyRules(wanted.together, tuple(wanted.embed)),
    )
    record_event(house, "survey made", call.caller, survey.id)
    return survey


async def create(call: Call) -> Response:
    """Make a survey."""
    wanted = await call.body()
    survey = await call.house.thread(make_survey, call, wanted)
    shown = {"id": survey.id, "protocol": survey.protocol_name, "told": survey.told,
             "warnings": warnings_of(survey)}  # fmt: skip
    return reply(shown | {"page": f"/s/{survey.id}"}, 201, Location=f"/s/{survey.id}")


def warnings_of(survey: Survey) -> list[str]:
    """Say where the ε of a survey hides little."""
    if survey.epsilon < LARGE:
        return []
    told = (
        f"With ε = {plain_number(survey.epsilon)} a report hides little: one answer may be e^ε, "
        f"that is {math.exp(min(float(survey.epsilon), 700)):,.0f}, times as likely as another. "
        "Surveys use 0.5 to 2."
    )
    return [told]


async def recipe_of(call: Call) -> Response:
    """Give what a device needs to answer without our page: coins, address, all answers."""
    gate = await _gate(call)
    survey = gate.survey
    found = {"recipe": recipe(survey), "answers": list(survey.answers), "told": survey.told,
             "send_to": survey.send_to, "together": gate.rules.together}  # fmt: skip
    return reply(found)


async def client(call: Call) -> Response:  # noqa: ARG001 - the same for all
    """Give the script that disguises answers, for pages of others."""
    shared = {"Cross-Origin-Resource-Policy": "cross-origin", "Cache-Control": "max-age=300"}
    return Response(client_script(), 200, shared, "text/javascript; charset=utf-8")


async def _gate(call: Call) -> Gate:
    id_ = call.path["survey"]
    gate: Gate | None = call.house.pages.get("gates", {}).get(id_)
    return await call.house.thread(gate_of, call.house, id_) if gate is None else gate


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
    gate = await _gate(call)
    data = await call.bytes()
    entrant = call.caller.entrant
    by_program = entrant is not None and entrant.via == "token"  # no page sends it in their name
    if by_program and call.caller.is_owner and _is_own(call, {"owner": gate.owner}):
        return reply((await gate.receive_gathered(data)).record())
    return reply((await gate.receive(data)).record())


async def withdraw(call: Call) -> Response:
    """Take a report back; closed surveys, too. Nobody learns whether a code was one."""
    wanted = await call.body()
    await withdraw_report(call, call.path["survey"], wanted.code)
    return reply({"state": "withdrawn"})


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
        return {"reports": 0, "answers": [], "warnings": []}
    found = gate.collector.estimate()
    bounds = found.interval(0.95).tolist()
    shares, errors = found.frequencies.tolist(), found.standard_error.tolist()
    listed = zip(found.values, shares, errors, bounds, strict=True)
    beyond = [
        str(value) for value, share, error in zip(found.values, shares, errors, strict=True)
        if max(share - 1, -share) > BEYOND * error
    ]  # fmt: skip
    return {
        "reports": found.n,
        "warnings": [
            f"The share of {name!r} lies beyond 0 to 100 % by more than chance can do: reports "
            "were forged, or made by another recipe."
            for name in beyond
        ],
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
