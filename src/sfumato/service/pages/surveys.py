"""Surveys in the browser: a new one, the page that devices get, estimates as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from sfumato.errors import SfumatoError
from sfumato.govern.office.surveys import find_survey
from sfumato.local.collect.survey_page import content_policy, render_page
from sfumato.requests.service import SurveyRequest
from sfumato.service.api.surveys import (
    close_own,
    estimates,
    make_survey,
    own_survey,
    own_surveys,
    warnings_of,
)
from sfumato.service.call import HTML, go
from sfumato.service.collecting import gate_of
from sfumato.service.pages.frame import page, values_of
from sfumato.service.problems import Problem, not_found, problem_of

if TYPE_CHECKING:
    from sfumato.service.call import Call

_EMPTY = {"id": "", "question": "", "answers": "", "epsilon": "1", "asked_by": "", "about": "",
          "together": "1", "embed": ""}  # fmt: skip


def _page(call: Call, status: int = 200, **facts: Any) -> Response:
    shown: dict[str, Any] = {"given": _EMPTY, "wrong": ""} | facts
    rows = own_surveys(call)
    return page(call, "surveys.html", status, title="Surveys", surveys=rows, **shown)


async def show(call: Call) -> Response:
    """List the surveys, and offer a new one."""
    return _page(call)


async def submit(call: Call) -> Response:
    """Make a survey."""
    given = values_of(await call.form())
    whole: dict[str, Any] = {field: given.get(field, "") for field in _EMPTY if field != "answers"}
    whole["answers"] = [
        line.strip() for line in given.get("answers", "").splitlines() if line.strip()
    ]
    whole["embed"] = given.get("embed", "").split()
    whole["remember"] = given.get("remember") == "yes"
    try:
        survey = await call.house.thread(make_survey, call, SurveyRequest.of(whole))
    except (SfumatoError, Problem) as error:
        return _page(call, 422, given=_EMPTY | given, wrong=problem_of(error).detail)
    call.house.pages.pop("openness", None)
    return go(f"/surveys/{survey.id}")


async def estimate(call: Call) -> Response:
    """Show the estimates with their intervals, as of now."""
    row = own_survey(call)
    gate = await call.house.thread(gate_of, call.house, row["id"])
    found = await call.house.thread(estimates, call, row["id"])
    response = page(
        call, "survey.html", title=f"Survey {row['id']}", survey=gate.survey, state=row["state"],
        found=found, warnings=[*warnings_of(gate.survey), *found["warnings"]],
        host=call.header("host"), scheme=call.scope.get("scheme", "http"),
    )  # fmt: skip
    if row["state"] == "open":
        response.headers["Refresh"] = "10"
    return response


async def close(call: Call) -> Response:
    """Take no more reports."""
    return go(f"/surveys/{await close_own(call)}")


async def device(call: Call) -> Response:
    """Give the page that asks; the answer is disguised in the browser, before anything is sent."""
    row = find_survey(call.house.office, call.path["survey"])
    if row is None or row["state"] != "open":
        raise not_found()
    gate = await call.house.thread(gate_of, call.house, row["id"])
    text = await call.house.thread(render_page, gate.survey)
    shown_in = " ".join(gate.rules.embed) or "'none'"
    policy = f"{content_policy(gate.survey)}; frame-ancestors {shown_in}"
    return Response(text, 200, {"Content-Security-Policy": policy}, HTML)
