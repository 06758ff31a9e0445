"""Releases in the browser: what is promised, live progress, report, attacks, certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import FileResponse

from sfumato.errors import SfumatoError
from sfumato.govern.office.jobs import UNDER_WAY, cancel_job, list_jobs
from sfumato.govern.office.owners import owns
from sfumato.service.access import check_owns
from sfumato.service.api.releases import own_job, publish_own, released, start_release
from sfumato.service.call import HTML, go
from sfumato.service.pages.datasets import roles_of
from sfumato.service.pages.frame import page, values_of
from sfumato.service.pages.release_form import read_form, show_form
from sfumato.service.problems import Problem, not_found, problem_of
from sfumato.service.registration import record_event
from sfumato.shape import find_shape

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.service.call import Call

_REPORT = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


async def form(call: Call) -> Response:
    """Show the form."""
    roles = roles_of(call, call.path["dataset"])
    return await call.house.thread(show_form, call, roles)


async def submit(call: Call) -> Response:
    """Start the job that makes it."""
    given = values_of(await call.form())
    try:
        id_ = await call.house.thread(start_release, call, read_form(given))
    except (SfumatoError, Problem) as error:
        wrong, roles = problem_of(error).detail, roles_of(call, call.path["dataset"])
        return await call.house.thread(show_form, call, roles, 422, given=given, wrong=wrong)
    return go(f"/jobs/{id_}")


async def jobs(call: Call) -> Response:
    """List the jobs."""
    mine = [
        job for job in list_jobs(call.house.office)
        if owns(call.house.office, call.caller.id, job["dataset"])
    ]  # fmt: skip
    return page(call, "jobs.html", title="Jobs", jobs=mine)


async def job(call: Call) -> Response:
    """Show a job: live with the script, by itself every two seconds without."""
    found = own_job(call, call.path["job"])
    over = found["state"] not in UNDER_WAY
    return page(call, "job.html", title=f"Job: {found['kind']}", job=found, over=over)


async def cancel(call: Call) -> Response:
    """Cancel a job."""
    own_job(call, call.path["job"])
    await call.house.thread(cancel_job, call.house.office, call.path["job"])
    await call.house.thread(record_event, call.house, "job cancelled", call.caller)
    return go(f"/jobs/{call.path['job']}")


async def show(call: Call) -> Response:
    """Show a release: what was promised, what attacks found, and how to check it."""
    found = released(call, call.path["release"])
    mine = call.caller.entrant is not None and call.caller.is_owner
    mine = mine and owns(call.house.office, call.caller.id, found["dataset"])
    title = f"Release of {found['dataset']}"
    from sfumato.report.tables.sections import MEASURES  # noqa: PLC0415 - where it is shown

    unit = find_shape(found["facts"].get("shape", "table")).unit
    return page(
        call, "release.html", title=title, release=found, mine=mine, measures=MEASURES, unit=unit
    )


async def publish(call: Call) -> Response:
    """Let everybody have it."""
    found = await publish_own(call)
    return go(f"/releases/{found['id']}")


async def report(call: Call) -> Response:
    """Show the report, which compares with the original and so stays in the house."""
    found = released(call, call.path["release"])
    check_owns(call.house.office, call.caller, found["dataset"])
    file = (call.house.settings.path / found["file"]).with_name("report.html")
    if not file.is_file():
        raise not_found()
    headers = {"Content-Security-Policy": _REPORT, "Cache-Control": "no-store"}
    return FileResponse(file, media_type=HTML, headers=headers)
