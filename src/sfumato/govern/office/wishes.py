"""Requests of analysts for more budget, and their fate.

Contract: an analyst states how much and why; the owner answers once, by an amendment of the ledger
or by a refusal, with a reason that the analyst reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from sfumato.errors import ParameterError
from sfumato.govern.office.office import new_id, now
from sfumato.govern.office.tables import people, wishes

if TYPE_CHECKING:
    from sfumato.govern.office.office import Office

OPEN, GRANTED, REFUSED = "open", "granted", "refused"
MOST_OPEN = 5


def add_wish(office: Office, person: str, dataset: str, amount: str, reason: str) -> str:
    """Ask for a larger limit of one's own; give the id of the request."""
    mine = [wish for wish in list_wishes(office, person=person) if wish["state"] == OPEN]
    if len(mine) >= MOST_OPEN:
        raise ParameterError(f"You have {MOST_OPEN} open requests; wait until one is answered.")
    id_ = new_id()
    office.add(
        wishes, id=id_, person=person, dataset=dataset, amount=amount, reason=reason[:1000],
        state=OPEN, made=now(),
    )  # fmt: skip
    return id_


def find_wish(office: Office, id_: str) -> dict[str, Any] | None:
    """Read a request."""
    return office.row(select(wishes).where(wishes.c.id == id_))


def answer_wish(office: Office, id_: str, state: str, answer: str) -> bool:
    """Close a request; tell whether it was open."""
    return bool(
        office.change(
            update(wishes)
            .where(wishes.c.id == id_, wishes.c.state == OPEN)
            .values(state=state, answer=answer[:1000], closed=now())
        )
    )


def list_wishes(
    office: Office, *, person: str | None = None, dataset: str | None = None
) -> list[dict[str, Any]]:
    """List requests, the latest first, with the names of those who made them."""
    query = (
        select(wishes, people.c.name, people.c.pseudonym)
        .join(people, people.c.id == wishes.c.person)
        .order_by(wishes.c.made.desc())
        .limit(200)
    )
    if person is not None:
        query = query.where(wishes.c.person == person)
    if dataset is not None:
        query = query.where(wishes.c.dataset == dataset)
    return office.rows(query)
