"""Uploads: a file of rows, streamed to disk, and the roles that its columns seem to have."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from typing import TYPE_CHECKING

from sfumato.govern.office.office import new_id
from sfumato.service.call import reply, too_large
from sfumato.service.held import suggest_roles
from sfumato.service.problems import Problem
from sfumato.service.settings import SLOWEST, UPLOAD
from sfumato.service.sources import new_upload, upload_at
from sfumato.shape import TABLE, find_shape

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.responses import Response

    from sfumato.service.call import Call


async def create(call: Call) -> Response:
    """Take a file: the body is its bytes, and `?name=people.csv` says what it is."""
    id_ = new_id()
    file = new_upload(call.house.settings, id_, call.query.get("name", "rows.csv"))
    try:
        await stream_to(call, file)
    except BaseException:
        shutil.rmtree(file.parent, ignore_errors=True)
        raise
    return reply({"upload": f"upload:{id_}"}, 201, Location=f"/api/v1/uploads/{id_}/suggestions")


async def stream_to(call: Call, file: Path) -> None:
    """Write the body to a file as it comes, piece by piece."""
    size, more = 0, True
    out = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        while more:
            try:
                async with asyncio.timeout(SLOWEST):
                    message = await call.receive()
            except TimeoutError:
                raise Problem(408, "too-slow", "The body took too long to arrive.") from None
            if message["type"] == "http.disconnect":
                raise Problem(400, "gone", "The body never came to its end.")
            piece = message.get("body", b"")
            size += len(piece)
            if size > UPLOAD:
                raise too_large(UPLOAD)
            os.write(out, piece)
            more = message.get("more_body", False)
    finally:
        os.close(out)


async def suggestions(call: Call) -> Response:
    """Suggest a role for every column or label of an upload, with the reason."""
    file = upload_at(call.house.settings, call.path["upload"])
    shape = find_shape(call.query.get("shape", TABLE)).name
    found = await call.house.thread(suggest_roles, file, shape)
    if found is None:
        return reply({"schema_text": "", "columns": []})
    columns = [
        {"name": column.name, "role": column.role, "reason": column.reason}
        for column in found.columns
    ]
    return reply(json.dumps({"schema_text": found.text(), "columns": columns}))
