"""Registering a dataset in the browser: send a file, look at the roles, set the rules."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from starlette.requests import Request as FormRequest

from sfumato.errors import SfumatoError
from sfumato.govern.office.office import new_id
from sfumato.requests.service import DatasetRequest
from sfumato.requests.texts import pairs_of
from sfumato.service.call import go, too_large
from sfumato.service.held import is_table, suggest_roles
from sfumato.service.pages.frame import listed, page, values_of
from sfumato.service.problems import Problem, problem_of
from sfumato.service.registration import register
from sfumato.service.settings import UPLOAD
from sfumato.service.sources import SUFFIXES, new_upload, upload_at
from sfumato.shape import find_shape

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Message

    from sfumato.service.call import Call

_EMPTY = {
    "name": "", "source": "", "schema_text": "", "title": "", "why": "", "contact": "",
    "retention": "", "subject": "", "purposes": "", "unit": "", "rows": "", "budget": "1",
    "budget_delta": "1e-6", "limit_analyst": "", "policy": "free", "tick": "0.25",
    "deadline": "60", "shape": "table", "reading": "", "time_zone": "",
}  # fmt: skip


SHAPES = {
    "table": "a table: a row per record",
    "sets": "sets: baskets, clicks, diagnoses",
    "hybrid": "rows with sets or places in them",
    "trees": "trees: nested JSON or XML",
    "graph": "a graph: an edge per line",
    "trajectories": "traces: where and when",
}
"""What data may be like, as the page says it."""

_UNITS = {
    "sets": "transaction, if empty", "trees": "tree, if empty; or subtree",
    "graph": "edge, if empty; or node", "trajectories": "trip, if empty; or person",
}  # fmt: skip


def _page(call: Call, status: int = 200, **facts: Any) -> Response:
    shown: dict[str, Any] = {"given": _EMPTY, "columns": (), "wrong": ""} | facts
    shown["wrong"] = call.house.settings.told(shown["wrong"])
    options = find_shape(shown["given"]["shape"]).options.get("read")
    known = {} if options is None else options.model_fields
    return page(
        call, "register.html", status, title="Register a dataset", shapes=SHAPES,
        accepted=",".join(sorted(SUFFIXES)), units=_UNITS,
        readable={name: field.description for name, field in known.items()}, **shown,
    )  # fmt: skip


async def form(call: Call) -> Response:
    """Show the form."""
    return _page(call)


async def upload(call: Call) -> Response:
    """Take a file from a form, and show the roles that its columns seem to have."""
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await call.piece()
        size += len(message.get("body", b""))
        if size > UPLOAD:
            raise too_large(UPLOAD)
        return message

    async with FormRequest(call.scope, limited).form(max_files=1, max_fields=10) as sent:
        file, shape = sent.get("file"), str(sent.get("shape") or "table")
        if file is None or isinstance(file, str) or not file.filename:
            return _page(call, 422, wrong="Choose a file of rows.")
        id_ = new_id()
        try:
            target = new_upload(call.house.settings, id_, file.filename)
            with target.open("wb") as out:
                await call.house.thread(shutil.copyfileobj, file.file, out)
            found = await call.house.thread(suggest_roles, target, find_shape(shape).name)
        except SfumatoError as error:
            shutil.rmtree(call.house.settings.path / "uploads" / id_, ignore_errors=True)
            return _page(call, 422, wrong=str(error))
    stem = "".join(c if c.isalnum() else "_" for c in file.filename.rpartition(".")[0])
    given = _EMPTY | {"source": f"upload:{id_}", "name": stem[:63], "shape": shape}
    if found is None:
        return _page(call, given=given)
    if is_table(shape):  # the person whom the rows seem to be about, for the owner to confirm
        given["unit"] = found.schema.unit
        named = [column.name for column in found.columns if column.role == "identifier"]
        given["subject"] = named[0] if named else ""
    return _page(call, given=given | {"schema_text": found.text()}, columns=found.columns)


def _reading(text: str) -> dict[str, str]:
    """Read lines of the form NAME=VALUE."""
    return pairs_of("How the file is read", [line for line in text.splitlines() if line.strip()],
                    "NAME=VALUE in each line")  # fmt: skip


def _wanted(given: dict[str, str]) -> DatasetRequest:
    """Read the form as the model that the API reads."""
    told = ("title", "why", "contact", "retention", "subject", "tick", "deadline")
    limit = given.get("limit_analyst", "")
    whole = {
        "name": given.get("name", ""),
        "shape": given.get("shape") or "table",
        "reading": _reading(given.get("reading", "")),
        "source": given.get("source", ""),
        "schema_text": given.get("schema_text", ""),
        "purposes": listed(given.get("purposes", "")),
        "time_zone": given.get("time_zone", "").strip(),
        "told": {field: given[field] for field in told if given.get(field)},
        "unit": {field: given[field] for field in ("unit", "rows") if given.get(field)},
        "owner": {
            "budget": {field: given[field] for field in ("budget", "budget_delta")
                       if given.get(field)},
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
                shape = find_shape(given.get("shape") or "table").name
                found = await call.house.thread(suggest_roles, file, shape)
                columns = () if found is None else found.columns
            except SfumatoError:
                columns = ()
        problem = problem_of(error)
        return _page(call, 422, given=_EMPTY | given, wrong=problem.detail, columns=columns)
    call.house.pages.pop("openness", None)
    return go(f"/datasets/{wanted.name}")
