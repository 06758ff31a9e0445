"""Grants: which analyst may ask about which dataset, for which purpose.

Contract: nothing is granted unless a row says so. A grant names one purpose of the dataset, or none
where the dataset names none. What a grant allows is checked again by the ledger, which knows the
purposes that are in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, text

from sfumato.govern.ledger.statements import Statement
from sfumato.govern.office.office import new_id, now
from sfumato.govern.office.tables import grants, people

if TYPE_CHECKING:
    from sfumato.govern.office.office import Office

_PURPOSES = Statement(
    text(
        "SELECT purpose FROM sfumato_office_grants WHERE person = :person AND dataset = :dataset "
        "ORDER BY made"
    )
)


def grant(office: Office, person: str, dataset: str, purpose: str | None) -> None:
    """Let somebody ask about a dataset for a purpose; again changes nothing."""
    if (purpose or "") not in purposes_granted(office, person, dataset):
        office.add(
            grants, id=new_id(), person=person, dataset=dataset, purpose=purpose or "", made=now()
        )


def revoke(office: Office, id_: str, dataset: str) -> bool:
    """Take a grant back; tell whether there was one."""
    found = delete(grants).where(grants.c.id == id_, grants.c.dataset == dataset)
    return office.change(found) > 0


def purposes_granted(office: Office, person: str, dataset: str) -> tuple[str, ...]:
    """List the purposes for which somebody may ask; '' is that of a dataset which names none."""
    rows = office.quick.peek(_PURPOSES, person=person, dataset=dataset)
    return tuple(str(row[0]) for row in rows)


def datasets_granted(office: Office, person: str) -> tuple[str, ...]:
    """List the datasets somebody may ask about."""
    query = select(grants.c.dataset).where(grants.c.person == person).distinct()
    return tuple(sorted(row["dataset"] for row in office.rows(query)))


def list_grants(office: Office, dataset: str) -> list[dict[str, Any]]:
    """List who may ask about a dataset."""
    query = (
        select(grants.c.id, grants.c.purpose, grants.c.made, people.c.name, people.c.pseudonym)
        .join(people, people.c.id == grants.c.person)
        .where(grants.c.dataset == dataset, people.c.ended.is_(None))
        .order_by(people.c.name)
    )
    return office.rows(query)
