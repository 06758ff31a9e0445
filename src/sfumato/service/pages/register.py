"""Registering a dataset in the browser: send a file, look at the roles, set the rules."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from starlette.requests import Request as FormRequest

from sfumato.data.tables.suggestions import inspect
from sfumato.errors import SfumatoError
from sfumato.govern.office.office import new_id
from sfumato.requests.service import DatasetRequest
from sfumato.service.call import go, too_large
from sfumato.service.pages.frame import listed, page, values_of
from sfumato.service.problems import Problem, problem_of
from sfumato.service.registration import register
from sfumato.service.settings import UPLOAD
from sfumato.service.sources import new_upload, upload_at

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Message

    from sfumato.service.call import Call

_EMPTY = {
    "name": "", "source": "", "schema_text": "", "title": "", "why": "", "contact": "",
    "retention": "", "subject": "", "purposes": "", "unit": "row", "rows": "", "budget": "1",
    "budget_delta": "1e-6", "limit_analyst": "", "policy": "free", "tick": "0.25",
    "deadline": "60",
}  # fmt: skip


def _page(call: Call, status: int = 200, **facts: Any) -> Response:
    shown: dict[str, Any] = {"given": _EMPTY, "columns": (), "wrong": ""} | facts
    return page(call, "register.html", status, title="Register a dataset", **shown)


async def form(call: Call) -> Response:
    """Show the form."""
    return _page(call)


async def upload(call: Call) -> Response:
    """Take a file from a form, and show the roles that its columns seem to have."""
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await call.receive()
        size += len(message.get("body", b""))
        if size > UPLOAD:
            raise too_large(UPLOAD)
        return message

    async with FormRequest(call.scope, limited).form(max_files=1, max_fields=10) as sent:
        file = sent.get("file")
        if file is None or isinstance(file, str) or not file.filename:
            return _page(call, 422, wrong="Choose a file of rows.")
        id_ = new_id()
        try:
            target = new_upload(call.house.settings, id_, file.filename)
            with target.open("wb") as out:
                await call.house.thread(shutil.copyfileobj, file.file, out)
            found = await call.house.thread(inspect, target)
        except SfumatoError as error:
            shutil.rmtree(call.house.settings.path / "uploads" / id_, ignore_errors=True)
            return _page(call, 422, wrong=str(error))
    stem = "".join(c if c.isalnum() else "_" for c in file.filename.rpartition(".")[0])
    given = _EMPTY | {"source": f"upload:{id_}", "schema_text": found.text(), "name": stem[:63]}
    return _page(call, given=given, columns=found.columns)


def _wanted(given: dict[str, str]) -> DatasetRequest:
    """Read the form as the model that the API reads."""
    told = ("title", "why", "contact", "retention", "subject", "tick", "deadline")
    limit = given.get("limit_analyst", "")
    whole = {
        "name": given.get("name", ""),
        "source": given.get("source", ""),
        "schema_text": given.get("schema_text", ""),
        "purposes": listed(given.get("purposes", "")),
        "told": {one: given[one] for one in told if given.get(one)},
        "unit": {one: given[one] for one in ("unit", "rows") if given.get(one)},
        "owner": {
            "budget": {one: given[one] for one in ("budget", "budget_delta") if given.get(one)},
            "shares": {"policy": given.get("policy") or None,
                       "limit_analyst": [limit] if limit else []},
        },
    }  # fmt: skip
    return DatasetRequest.of(whole)


async def submit(call: Call) -> Response:
    """Register, or show what is wrong beside what was typed."""
    given = values_of(await call.form())
    try:
        wanted = _wanted(given)
        await call.house.thread(register, call.house, call.caller, wanted)
    except (SfumatoError, Problem) as error:
        columns: Any = ()
        if given.get("source", "").startswith("upload:"):
            try:
                file = upload_at(call.house.settings, given["source"].removeprefix("upload:"))
                columns = (await call.house.thread(inspect, file)).columns
            except SfumatoError:
                columns = ()
        problem = problem_of(error)
        return _page(call, 422, given=_EMPTY | given, wrong=problem.detail, columns=columns)
    call.house.pages.pop("openness", None)
    return go(f"/datasets/{wanted.name}")
