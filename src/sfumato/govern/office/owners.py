"""Whose a dataset is: whoever registered it, and those whom its owners added.

Contract: an owner acts on her own datasets; what others own reads as if it did not exist. A dataset
that nobody owns any more (its owners' accounts were erased, or the operator registered it) is
every owner's, so that it is never without somebody who answers for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, text

from sfumato.errors import ParameterError
from sfumato.govern.ledger.statements import Statement
from sfumato.govern.office.catalogue import list_datasets
from sfumato.govern.office.office import new_id, now
from sfumato.govern.office.tables import owners

if TYPE_CHECKING:
    from sfumato.govern.office.office import Office
    from sfumato.govern.office.people import Person

_OWNERS = Statement(
    text(
        "SELECT p.id, p.name, p.pseudonym FROM sfumato_office_people p WHERE p.ended IS NULL AND "
        "p.role = 'owner' AND (p.id IN (SELECT owner FROM sfumato_office_datasets WHERE "
        "name = :dataset) OR p.id IN (SELECT person FROM sfumato_office_owners WHERE "
        "dataset = :dataset)) ORDER BY p.name"
    )
)


def list_owners(office: Office, dataset: str) -> list[dict[str, Any]]:
    """List the owners of a dataset; none means that it is every owner's."""
    rows = office.quick.peek(_OWNERS, dataset=dataset)
    return [{"id": id_, "name": name, "pseudonym": pseudonym} for id_, name, pseudonym in rows]


def owns(office: Office, person: str, dataset: str | None) -> bool:
    """Tell whether an owner may act on a dataset."""
    if dataset is None:
        return True
    found = list_owners(office, dataset)
    return not found or any(owner["id"] == person for owner in found)


def owned(office: Office, person: str) -> list[str]:
    """Name the datasets that an owner may act on."""
    return [listed.name for listed in list_datasets(office) if owns(office, person, listed.name)]


def add_owner(office: Office, dataset: str, person: Person) -> None:
    """Let another owner act on a dataset; again changes nothing."""
    if person.role != "owner":
        raise ParameterError("Only the account of an owner can own a dataset.")
    if not any(owner["id"] == person.id for owner in list_owners(office, dataset)):
        office.add(owners, id=new_id(), dataset=dataset, person=person.id, made=now())


def remove_owner(office: Office, dataset: str, person: str) -> bool:
    """Take a dataset from an owner who was added; whoever registered it stays."""
    gone = delete(owners).where(owners.c.dataset == dataset, owners.c.person == person)
    return office.change(gone) > 0
