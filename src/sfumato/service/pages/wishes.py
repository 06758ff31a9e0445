"""Requests for budget: made by analysts, answered by owners."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.dp.guarantees import ZCDP
from sfumato.dp.rounding import stated
from sfumato.errors import ParameterError, SfumatoError
from sfumato.govern.office.people import find_person
from sfumato.govern.office.wishes import (
    GRANTED,
    OPEN,
    REFUSED,
    add_wish,
    answer_wish,
    find_wish,
)
from sfumato.requests.service import WishRequest
from sfumato.service.access import check_owns
from sfumato.service.api.account import seen_wishes
from sfumato.service.call import go
from sfumato.service.pages.frame import page, values_of
from sfumato.service.problems import Problem, not_found, problem_of
from sfumato.service.registration import record_event

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.service.call import Call


def _page(call: Call, status: int = 200, wrong: str = "") -> Response:
    rows = seen_wishes(call)
    return page(call, "wishes.html", status, title="Requests for budget", rows=rows, wrong=wrong)


async def show(call: Call) -> Response:
    """List the requests."""
    return _page(call)


async def wish(call: Call) -> Response:
    """Ask for a larger limit."""
    given = values_of(await call.form())
    try:
        wanted = WishRequest.of({field: given.get(field, "") for field in ("amount", "reason")})
        stated(wanted.amount)
        await call.house.thread(
            add_wish, call.house.office, call.caller.id, call.path["dataset"], wanted.amount,
            wanted.reason,
        )  # fmt: skip
    except SfumatoError as error:
        return _page(call, 422, str(error))
    return go("/requests")


def _grant(call: Call, row: dict[str, Any], answer: str) -> None:
    """Raise the limit of the analyst by an amendment of the ledger."""
    house = call.house
    known = house.reader.registration(row["dataset"])
    person = find_person(house.office, id=row["person"])
    if known is None or person is None:
        raise ParameterError("The dataset or the account is gone.")
    limits = known.limits
    amount: dict[str, Any] = {
        "rho" if isinstance(limits.dataset, ZCDP) else "epsilon": row["amount"]
    }
    raised = {**limits.analysts, person.pseudonym: replace(limits.dataset, **amount)}
    reason = f"request of {person.pseudonym}: {answer or 'granted'}"
    amended = replace(limits, analysts=raised)
    house.ledger.amend(row["dataset"], limits=amended, reason=reason, known=known)


async def answer(call: Call) -> Response:
    """Grant or refuse a request, with a reason."""
    given = values_of(await call.form())
    row = find_wish(call.house.office, call.path["wish"])
    if row is None:
        raise not_found()
    check_owns(call.house.office, call.caller, row["dataset"])
    granted = given.get("decision") == "grant"
    try:
        if row["state"] != OPEN:
            raise ParameterError("The request was answered before.")
        if granted:
            await call.house.thread(_grant, call, row, given.get("answer", ""))
        await call.house.thread(
            answer_wish, call.house.office, row["id"], GRANTED if granted else REFUSED,
            given.get("answer", ""),
        )  # fmt: skip
        await call.house.thread(
            record_event, call.house, f"request {'granted' if granted else 'refused'}", call.caller,
            row["dataset"],
        )  # fmt: skip
    except (SfumatoError, Problem) as error:
        return _page(call, 422, problem_of(error).detail)
    return go("/requests")
