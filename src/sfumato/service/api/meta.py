"""About the server itself: is it alive, is it ready, what does it offer, which keys it has."""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

from starlette.responses import Response

from sfumato import __version__
from sfumato.govern.certificates.keys import public_key
from sfumato.service.call import JSON, reply

if TYPE_CHECKING:
    from sfumato.service.call import Call

_STARTED = time.time()


async def health(_call: Call) -> Response:
    """Tell that the process answers."""
    return reply({"alive": True, "version": __version__})


async def ready(call: Call) -> Response:
    """Tell whether the ledger can be read."""
    await call.house.thread(call.house.reader.head)  # how many entries it has tells of questions
    return reply({"ready": True})


async def metrics(call: Call) -> Response:
    """Give figures for the operator, in the text form that Prometheus reads.

    None is about one dataset: how long its questions take is an exact function of its rows.
    """
    head = await call.house.thread(call.house.reader.head)
    used = resource.getrusage(resource.RUSAGE_SELF)
    lines = [
        f"sfumato_entries {head.number}",
        f"sfumato_questions_under_way {len(call.house.running)}",
        f"sfumato_up_seconds {time.time() - _STARTED:.0f}",
        f"sfumato_cpu_seconds {used.ru_utime + used.ru_stime:.2f}",
        f"sfumato_memory_bytes {used.ru_maxrss * 1024}",
    ]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


async def keys(call: Call) -> Response:
    """List the public keys with which certificates are signed."""
    return reply({"keys": [public_key(call.house.key)]})


async def openapi(call: Call) -> Response:
    """Describe the API, as OpenAPI 3.1."""
    from sfumato.service.openapi import document  # noqa: PLC0415 - where it is read

    if "openapi" not in call.house.pages:
        call.house.pages["openapi"] = document()
    return Response(call.house.pages["openapi"], media_type=JSON)
