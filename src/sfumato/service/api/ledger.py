"""The ledger: its entries for owners; checkpoints and proofs for everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.govern.office.owners import owned
from sfumato.service.access import check_owns
from sfumato.service.call import reply
from sfumato.service.problems import Problem, not_found

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.govern.ledger.chain import Entry
    from sfumato.service.call import Call

MOST = 500


def whole_number(text: str, least: int, most: int, name: str) -> int:
    """Read a whole number of an address."""
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise Problem(422, "invalid", f"{name} is a whole number.")
    found = int(text)
    if not least <= found <= most:
        raise Problem(422, "invalid", f"{name} lies between {least:,} and {most:,}.")
    return found


def own_entries(call: Call, last: int) -> list[Entry]:
    """Read the latest entries about datasets of whoever asks; those about none are everybody's."""
    dataset, house = call.query.get("dataset") or None, call.house
    check_owns(house.office, call.caller, dataset)
    if dataset is not None:
        return house.reader.entries(dataset, last=last)
    mine = {None, "", *owned(house.office, call.caller.id)}
    return [entry for entry in house.reader.entries(None, last=last) if entry.dataset in mine]


async def entries(call: Call) -> Response:
    """List the latest entries, without any answer."""
    last = whole_number(call.query.get("last", "100"), 1, MOST, "last")
    found = await call.house.thread(own_entries, call, last)
    return reply({"entries": [{**vars(entry), "blocks": list(entry.blocks)} for entry in found]})


async def checkpoint(call: Call) -> Response:
    """Give the size and root of the public tree, signed: note it elsewhere."""
    shown = await call.house.thread(call.house.published.shown)
    return reply(shown.signed)


async def proof(call: Call) -> Response:
    """Prove that an entry is in the tree of the checkpoint that comes with the proof."""
    number = whole_number(call.path["number"], 1, 1 << 40, "number")
    shown = await call.house.thread(call.house.published.shown)
    if number > shown.levels.size:
        raise not_found()
    steps = [step.hex() for step in shown.levels.inclusion(number - 1)]
    return reply({"number": number, "leaf": shown.leaves[number - 1].hex(), "proof": steps,
                  "checkpoint": shown.signed})  # fmt: skip


async def growth(call: Call) -> Response:
    """Prove that the tree only grew since it had so many entries."""
    earlier = whole_number(call.path["size"], 1, 1 << 40, "size")
    shown = await call.house.thread(call.house.published.shown)
    until = whole_number(call.query.get("to", str(max(shown.levels.size, 1))), 1, 1 << 40, "to")
    if not earlier <= until <= shown.levels.size:
        raise not_found()
    levels = shown.levels
    if until != levels.size:
        levels = await call.house.thread(levels.first, until)
    steps = [step.hex() for step in levels.consistency(earlier)]
    return reply({"size": earlier, "to": until, "proof": steps, "checkpoint": shown.signed})
