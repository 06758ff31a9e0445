"""Uploads: a file of rows, streamed to disk, and the roles that its columns seem to have."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, BinaryIO

from sfumato.govern.office.office import new_id
from sfumato.service.call import reply, too_large
from sfumato.service.held import suggest_roles
from sfumato.service.settings import UPLOAD
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
    with await call.house.thread(_new_file, file) as out:
        while more:
            message = await call.piece()
            piece = message.get("body", b"")
            size += len(piece)
            if size > UPLOAD:
                raise too_large(UPLOAD)
            await call.house.thread(out.write, piece)
            more = message.get("more_body", False)


def _new_file(file: Path) -> BinaryIO:
    return os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


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
