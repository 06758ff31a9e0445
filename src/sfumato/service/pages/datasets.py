"""Datasets, as their owners and analysts see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.govern.limits import in_short
from sfumato.govern.office.grants import datasets_granted, purposes_granted
from sfumato.govern.office.owners import owned, owns
from sfumato.govern.office.releases import list_releases
from sfumato.govern.openness import tell_held
from sfumato.requests.releases import TABLES
from sfumato.service.api.datasets import describe, visible
from sfumato.service.pages.frame import page
from sfumato.service.problems import not_found
from sfumato.service.sources import stored_schema

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.service.call import Call


async def list_all(call: Call) -> Response:
    """List the datasets that whoever asks may see."""
    house, caller = call.house, call.caller
    names = visible(call)
    held = [tell_held(house.office, house.reader, house.listed(name)) for name in names]
    return page(
        call, "datasets.html", title="Datasets", held=[facts for facts in held if facts],
        granted=datasets_granted(house.office, caller.id), rows=TABLES,
        mine=owned(house.office, caller.id) if caller.is_owner else (),
    )  # fmt: skip


def roles_of(call: Call, name: str) -> dict[str, str]:
    """Read the roles of columns from the schema beside the rows."""
    try:
        schema = stored_schema(call.house.settings, name)
    except SfumatoError:
        return {}
    return {} if schema is None else {n: kind.role for n, kind in schema.attributes.items()}


def left_for(call: Call, name: str, purpose: str | None) -> dict[str, str]:
    """Tell what is left of each limit that applies to whoever asks."""
    found = call.house.reader.remaining(name, call.caller.pseudonym, purpose)
    return {scope: in_short(rest) for scope, rest in found.items()}


async def show(call: Call) -> Response:
    """Show a dataset: columns, rules, and what is left."""
    house, name = call.house, call.path["dataset"]
    held = tell_held(house.office, house.reader, house.listed(name))
    if held is None:
        raise not_found()
    granted = purposes_granted(house.office, call.caller.id, name)
    is_owner = call.caller.is_owner and owns(house.office, call.caller.id, name)
    left: dict[str, Any] = {purpose: left_for(call, name, purpose or None) for purpose in granted}
    return page(
        call, "dataset.html", title=held.listed.facts.title or name, held=held,
        facts=describe(call, name), roles=roles_of(call, name), granted=granted, left=left,
        mine=is_owner,
        releases=list_releases(house.office, name, public=not is_owner),
    )  # fmt: skip
