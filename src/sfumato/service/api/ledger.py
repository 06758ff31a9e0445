"""The ledger: its entries for owners; checkpoints and proofs for everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.govern.certificates import merkle
from sfumato.govern.certificates.checkpoints import make_checkpoint, prove, sign_checkpoint
from sfumato.service.call import reply
from sfumato.service.problems import Problem, not_found

if TYPE_CHECKING:
    from starlette.responses import Response

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


async def entries(call: Call) -> Response:
    """List the latest entries, without any answer."""
    last = whole_number(call.query.get("last", "100"), 1, MOST, "last")
    dataset = call.query.get("dataset") or None
    found = await call.house.thread(call.house.reader.entries, dataset, last=last)
    return reply({"entries": [{**vars(one), "blocks": list(one.blocks)} for one in found]})


async def checkpoint(call: Call) -> Response:
    """Give the size and root of the tree now, signed: note it elsewhere."""
    leaves = await call.house.thread(call.house.tree.leaves)
    return reply(sign_checkpoint(make_checkpoint(leaves), call.house.key))


async def proof(call: Call) -> Response:
    """Prove that an entry is in the tree of the checkpoint that comes with the proof."""
    leaves = await call.house.thread(call.house.tree.leaves)
    number = whole_number(call.path["number"], 1, 1 << 40, "number")
    if number > len(leaves):
        raise not_found()
    signed = sign_checkpoint(make_checkpoint(leaves), call.house.key)
    return reply({"number": number, "leaf": leaves[number - 1].hex(),
                  "proof": prove(leaves, number), "checkpoint": signed})  # fmt: skip


async def growth(call: Call) -> Response:
    """Prove that the tree only grew since it had so many entries."""
    leaves = await call.house.thread(call.house.tree.leaves)
    earlier = whole_number(call.path["size"], 1, 1 << 40, "size")
    if earlier > len(leaves):
        raise not_found()
    signed = sign_checkpoint(make_checkpoint(leaves), call.house.key)
    steps = [step.hex() for step in merkle.consistency(leaves, earlier)]
    return reply({"size": earlier, "proof": steps, "checkpoint": signed})
