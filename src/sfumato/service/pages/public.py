"""What everybody may see: the openness page, style and script."""

from __future__ import annotations

import gzip
import time
from typing import TYPE_CHECKING

from starlette.responses import Response

from sfumato.govern.office.releases import list_releases
from sfumato.govern.office.surveys import list_surveys
from sfumato.govern.openness import list_held
from sfumato.service.access import NOBODY
from sfumato.service.call import HTML
from sfumato.service.pages.frame import render, static_files
from sfumato.service.problems import not_found

if TYPE_CHECKING:
    from sfumato.service.access import Caller
    from sfumato.service.call import Call
    from sfumato.service.house import House

FRESH = 1.0
"""Seconds for which the openness page is kept."""


def _told(house: House, caller: Caller) -> str:
    return render(
        house, caller, "openness.html", at="/", title="Public register",
        held=list_held(house.office, house.reader), releases=list_releases(house.office),
        surveys=[row for row in list_surveys(house.office) if row["state"] == "open"],
    )  # fmt: skip


async def openness(call: Call) -> Response:
    """Tell everybody what is held, why, and under which guarantees; kept for a second."""
    house = call.house
    if call.caller is not NOBODY:
        text = await house.thread(_told, house, call.caller)
        return Response(text, 200, {"Cache-Control": "no-store"}, HTML)
    kept = house.pages.get("openness")
    if kept is None or time.monotonic() - kept[0] > FRESH:
        text = await house.thread(_told, house, NOBODY)
        shared = {"Cache-Control": "public, max-age=5", "Vary": "Accept-Encoding, Cookie"}
        plain = Response(text, 200, shared, HTML)
        packed = gzip.compress(text.encode(), 6)
        small = Response(packed, 200, shared | {"Content-Encoding": "gzip"}, HTML)
        kept = (time.monotonic(), plain, small)
        house.pages["openness"] = kept
    found: Response = kept[2] if b"gzip" in call.headers.get(b"accept-encoding", b"") else kept[1]
    return found


async def static(call: Call) -> Response:
    """Give style or script; its name changes with its content, so it is kept for ever."""
    found = static_files().get(call.path["file"])
    if found is None:
        raise not_found()
    content, packed, kind = found
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if b"gzip" in call.headers.get(b"accept-encoding", b""):
        return Response(packed, 200, headers | {"Content-Encoding": "gzip"}, kind)
    return Response(content, 200, headers, kind)
