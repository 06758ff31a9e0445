"""Releases in the browser: what is promised, live progress, report, attacks, certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import FileResponse

from sfumato.errors import SfumatoError
from sfumato.govern.office.jobs import UNDER_WAY, cancel_job, find_job, list_jobs
from sfumato.govern.office.releases import publish_release
from sfumato.requests.service import ReleaseRequest
from sfumato.service.api.releases import released, start_release
from sfumato.service.call import HTML, go
from sfumato.service.pages.datasets import roles_of
from sfumato.service.pages.frame import listed, page, values_of
from sfumato.service.problems import Problem, not_found, problem_of
from sfumato.service.registration import record_event

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.service.call import Call

_EMPTY = {
    "kind": "anonymize", "k": "5", "l": "", "t": "", "sensitive": "", "algorithm": "optimal",
    "suppression": "0.02", "purpose": "", "epsilon": "", "delta": "", "columns": "", "many": "10",
    "target": "",
}  # fmt: skip
_REPORT = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


def _form(call: Call, status: int = 200, **facts: Any) -> Response:
    name = call.path["dataset"]
    call.house.listed(name)
    registration = call.house.reader.registration(name)
    shown: dict[str, Any] = {"given": _EMPTY, "wrong": ""} | facts
    return page(
        call, "release_form.html", status, title=f"Release {name}", name=name,
        roles=roles_of(call, name), purposes=() if registration is None else registration.purposes,
        **shown,
    )  # fmt: skip


async def form(call: Call) -> Response:
    """Show the form."""
    return _form(call)


def _promise(given: dict[str, str]) -> list[dict[str, Any]]:
    """Read the promise of the form as the parts that a release carries."""
    parts: list[dict[str, Any]] = []
    if given.get("k"):
        parts.append({"definition": "KAnonymity", "k": _whole(given["k"])})
    if given.get("l"):
        parts.append({"definition": "DistinctLDiversity", "l": _whole(given["l"]),
                      "sensitive": given.get("sensitive", "")})  # fmt: skip
    if given.get("t"):
        parts.append({"definition": "TCloseness", "t": float(given["t"]),
                      "sensitive": given.get("sensitive", "")})  # fmt: skip
    return parts


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Problem(422, "invalid", "k and l are whole numbers.") from None


async def submit(call: Call) -> Response:
    """Start the job that makes it."""
    given = values_of(await call.form())
    kind = given.get("kind", "anonymize")
    whole: dict[str, Any] = {"kind": kind, "purpose": given.get("purpose") or None}
    try:
        if kind == "anonymize":
            whole |= {"promise": _promise(given), "algorithm": given.get("algorithm") or None,
                      "suppression": given.get("suppression") or 0}  # fmt: skip
        else:
            whole |= {"epsilon": given.get("epsilon") or None, "delta": given.get("delta") or None,
                      "columns": listed(given.get("columns", "")), "k": given.get("many") or 10,
                      "target": given.get("target") or None}  # fmt: skip
        wanted = ReleaseRequest.of(whole)
        id_ = await call.house.thread(start_release, call, wanted)
    except (SfumatoError, Problem, ValueError) as error:
        return _form(call, 422, given=_EMPTY | given, wrong=problem_of(error).detail)
    return go(f"/jobs/{id_}")


async def jobs(call: Call) -> Response:
    """List the jobs."""
    return page(call, "jobs.html", title="Jobs", jobs=list_jobs(call.house.office))


async def job(call: Call) -> Response:
    """Show a job: live with the script, by itself every two seconds without."""
    found = find_job(call.house.office, call.path["job"])
    if found is None:
        raise not_found()
    over = found["state"] not in UNDER_WAY
    response = page(call, "job.html", title=f"Job: {found['kind']}", job=found, over=over)
    if not over:
        response.headers["Refresh"] = "2"
    return response


async def cancel(call: Call) -> Response:
    """Cancel a job."""
    await call.house.thread(cancel_job, call.house.office, call.path["job"])
    await call.house.thread(record_event, call.house, "job cancelled", call.caller)
    return go(f"/jobs/{call.path['job']}")


async def show(call: Call) -> Response:
    """Show a release: what was promised, what attacks found, and how to check it."""
    found = released(call, call.path["release"])
    return page(call, "release.html", title=f"Release of {found['dataset']}", release=found)


async def publish(call: Call) -> Response:
    """Let everybody have it."""
    found = released(call, call.path["release"])
    await call.house.thread(publish_release, call.house.office, found["id"])
    await call.house.thread(record_event, call.house, "published", call.caller, found["id"])
    call.house.pages.pop("openness", None)
    return go(f"/releases/{found['id']}")


async def report(call: Call) -> Response:
    """Show the report, which compares with the original and so stays in the house."""
    found = released(call, call.path["release"])
    file = (call.house.settings.path / found["file"]).with_name("report.html")
    if not file.is_file():
        raise not_found()
    headers = {"Content-Security-Policy": _REPORT, "Cache-Control": "no-store"}
    return FileResponse(file, media_type=HTML, headers=headers)
