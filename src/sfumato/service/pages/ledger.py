"""The ledger and the audit log, for owners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.govern.certificates.checkpoints import make_checkpoint
from sfumato.govern.certificates.keys import public_key
from sfumato.govern.office.events import list_events
from sfumato.service.api.ledger import own_entries
from sfumato.service.pages.frame import page

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.service.call import Call

SHOWN = 100


async def show(call: Call) -> Response:
    """Show the latest entries, the checkpoint, and how to keep it."""
    house = call.house
    entries = await house.thread(own_entries, call, SHOWN)
    checkpoint = await house.thread(lambda: make_checkpoint(house.tree.leaves()))
    return page(
        call, "ledger.html", title="Ledger", entries=entries[::-1], key=public_key(house.key),
        checkpoint=checkpoint,
    )  # fmt: skip


async def log(call: Call) -> Response:
    """Show the audit log."""
    return page(call, "log.html", title="Audit log", events=list_events(call.house.office))
