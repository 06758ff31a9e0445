"""Releases and the jobs that make them; certificates that a stranger can check."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import FileResponse, Response, StreamingResponse

from sfumato.dp.accounting.filters import total
from sfumato.govern.certificates.certificate import certify_budget, certify_release
from sfumato.govern.limits import in_short
from sfumato.govern.office.jobs import UNDER_WAY, add_job, cancel_job, find_job
from sfumato.govern.office.owners import owns
from sfumato.govern.office.releases import find_release, list_releases, publish_release
from sfumato.service.access import check_owns, is_still_in
from sfumato.service.call import reply
from sfumato.service.problems import Problem, not_found
from sfumato.service.registration import record_event
from sfumato.service.settings import STREAMS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sfumato.requests.releases import ReleaseRequest
    from sfumato.service.call import Call

_JOB = ("id", "kind", "dataset", "state", "progress", "result", "code", "made", "changed")
_RELEASE = ("id", "dataset", "kind", "promise", "sha256", "entry", "made", "facts")


def start_release(call: Call, wanted: ReleaseRequest) -> str:
    """Add the job that makes a release; give its id."""
    house, name = call.house, call.path["dataset"]
    wanted.check(house.listed(name).facts.shape)
    body: dict[str, Any] = wanted.model_dump(mode="json", exclude={"promise"})
    if wanted.promise is not None:
        from sfumato.promise import to_json  # noqa: PLC0415 - where there is one

        body["promise"] = to_json(wanted.promise)
    id_ = add_job(house.office, wanted.kind, person=call.caller.id, dataset=name, body=body)
    record_event(house, "job started", call.caller, f"{wanted.kind} of {name}")
    return id_


async def create(call: Call) -> Response:
    """Make a release: 202 and the job that makes it."""
    wanted = await call.body()
    id_ = await call.house.thread(start_release, call, wanted)
    return reply(job_json(call, id_), 202, Location=f"/api/v1/jobs/{id_}", Retry_After="1")


def job_json(call: Call, id_: str) -> dict[str, Any]:
    """Give a job as JSON."""
    found = own_job(call, id_)
    return {name: found[name] for name in _JOB}


def own_job(call: Call, id_: str) -> dict[str, Any]:
    """Find a job about a dataset of whoever asks."""
    found = find_job(call.house.office, id_)
    if found is None:
        raise not_found()
    check_owns(call.house.office, call.caller, found["dataset"])
    return found


async def job(call: Call) -> Response:
    """Tell how a job stands."""
    return reply(job_json(call, call.path["job"]))


async def cancel(call: Call) -> Response:
    """Cancel a job."""
    found = job_json(call, call.path["job"])
    if not await call.house.thread(cancel_job, call.house.office, found["id"]):
        raise Problem(409, "over", "The job is over; there is nothing to cancel.")
    await call.house.thread(record_event, call.house, "job cancelled", call.caller, found["id"])
    return reply(job_json(call, found["id"]))


async def events(call: Call) -> Response:
    """Stream how a job stands, as server-sent events, until it is over."""
    job_json(call, call.path["job"])
    streams, who = call.house.streams, call.caller.id
    if streams.get(who, 0) >= STREAMS:
        raise Problem(429, "too-many", f"At most {STREAMS} streams are open at once.",
                      headers={"Retry-After": "5"})  # fmt: skip

    async def told() -> AsyncIterator[str]:
        streams[who] = streams.get(who, 0) + 1
        last = ""
        try:
            while is_still_in(call.house.office, call.caller):
                now = job_json(call, call.path["job"])
                text = json.dumps(now)
                if text != last:
                    yield f"data: {text}\n\n"
                    last = text
                if now["state"] not in UNDER_WAY:
                    return
                await asyncio.sleep(0.5)
        except Problem:
            return  # the dataset is hers no more
        finally:
            streams[who] -= 1

    return StreamingResponse(
        told(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


# -- releases -------------------------------------------------------------------------------


def _is_owner(call: Call, dataset: str) -> bool:
    return (
        call.caller.entrant is not None
        and call.caller.is_owner
        and owns(call.house.office, call.caller.id, dataset)
    )


def released(call: Call, id_: str) -> dict[str, Any]:
    """Find a release that whoever asks may have: published, or for an owner any."""
    found = find_release(call.house.office, id_)
    if found is None or not (found["public"] or _is_owner(call, found["dataset"])):
        raise not_found()
    return found


async def list_all(call: Call) -> Response:
    """List what was published."""
    found = list_releases(call.house.office)
    return reply({"releases": [{name: row[name] for name in _RELEASE} for row in found]})


async def file(call: Call) -> Response:
    """Give the released file."""
    found = released(call, call.path["release"])
    path = call.house.settings.path / found["file"]
    kind = "text/csv" if path.suffix == ".csv" else "application/octet-stream"
    return FileResponse(path, media_type=kind, filename=path.name)


async def manifest(call: Call) -> Response:
    """Give `release.json`: the promise, the roles of columns and what it cost."""
    found = released(call, call.path["release"])
    path = (call.house.settings.path / found["file"]).with_name("release.json")
    return FileResponse(path, media_type="application/json", filename="release.json")


async def publish(call: Call) -> Response:
    """Let everybody have a release."""
    found = await publish_own(call)
    return reply({name: found[name] for name in _RELEASE})


async def publish_own(call: Call) -> dict[str, Any]:
    """Publish a release of one's own dataset."""
    found = released(call, call.path["release"])
    check_owns(call.house.office, call.caller, found["dataset"])
    await call.house.thread(publish_release, call.house.office, found["id"])
    await call.house.thread(record_event, call.house, "published", call.caller, found["id"])
    call.house.pages.pop("openness", None)
    return found


def certificate_of(call: Call, found: dict[str, Any]) -> dict[str, Any]:
    """Certify a release: for an owner at once, for others when its entry is in the public tree."""
    house, facts = call.house, found["facts"]
    evidence = {"attacks": facts.get("attacks", []), "records": facts.get("records")}
    certify = partial(
        certify_release, house.reader.entry(found["entry"]), key=house.key, evidence=evidence
    )
    if _is_owner(call, found["dataset"]):
        return certify(leaves=house.tree.leaves())
    shown = house.published.shown()
    if found["entry"] > shown.levels.size:
        raise Problem(
            409, "not-yet", "The entry of this release is not in the public tree yet; try later.",
            headers={"Retry-After": str(house.published.wait())},
        )  # fmt: skip
    made = partial(certify, leaves=shown.leaves, at=shown.at)
    return house.published.once(("release", found["id"], shown.levels.size), made)


async def certificate(call: Call) -> Response:
    """Give the certificate of a release."""
    found = released(call, call.path["release"])
    made = await call.house.thread(certificate_of, call, found)
    named = f'attachment; filename="certificate-{found["id"]}.json"'
    return reply(json.dumps(made, indent=1), Content_Disposition=named)


async def budget_certificate(call: Call) -> Response:
    """Certify what was spent of a dataset's limit for all, under the public tree."""
    house, name = call.house, call.path["dataset"]
    house.listed(name)

    def made() -> dict[str, Any]:
        limits = [
            {"scope": "dataset", "name": "", "limit": in_short(limit),
             "spent": in_short(total(limit, spent))}
            for (_, scope, _), limit, spent in house.reader.snapshot(name, "").limits()
            if scope == "dataset"
        ]  # fmt: skip
        shown = house.published.shown()
        certify = partial(certify_budget, name, limits=limits, leaves=shown.leaves, key=house.key)
        what = ("budget", name, shown.at, shown.levels.size, json.dumps(limits))
        return house.published.once(what, partial(certify, at=shown.at))

    certificate = await house.thread(made)
    named = f'attachment; filename="budget-{name}.json"'
    return reply(json.dumps(certificate, indent=1), Content_Disposition=named)
