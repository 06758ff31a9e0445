"""People who may come in: owners and analysts, by name here and by pseudonym in the chain.

Contract: the pseudonym of a person is drawn once and stands in every entry of the ledger; the
name stands here alone and can be erased (:func:`end_person`) without a hash of the chain breaking.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError

from sfumato.errors import ParameterError
from sfumato.govern.office.office import new_id, now
from sfumato.govern.office.passwords import check_password, hash_password
from sfumato.govern.office.tables import grants, people, sessions, tokens

if TYPE_CHECKING:
    from sfumato.govern.office.office import Office

ROLES = ("owner", "analyst")
_NAME = re.compile(r"[^\W_][\w .@+-]{0,63}")


@dataclass(frozen=True)
class Person:
    """Somebody with an account."""

    id: str
    name: str
    role: str
    pseudonym: str


def add_person(office: Office, name: str, role: str, password: str | None = None) -> Person:
    """Add somebody; without a password nobody can log in until a link has set one."""
    check_name(office, name)
    if role not in ROLES:
        raise ParameterError(f"A role is one of {', '.join(ROLES)}.")
    kept = None if password is None else hash_password(password)
    made = Person(new_id(), name, role, f"{role}-{secrets.token_hex(6)}")
    try:
        office.add(people, **vars(made), password=kept, made=now())
    except IntegrityError:
        raise _taken() from None
    except Exception as error:
        if find_person(office, name=name) is not None:
            raise _taken() from None
        raise error from None
    return made


def check_name(office: Office, name: str) -> None:
    """Refuse a name that cannot be one, or that somebody has."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            "A name is 1 to 64 letters, digits, spaces and . @ + - _, and begins with a letter or "
            "digit."
        )
    if find_person(office, name=name) is not None:
        raise _taken()


def _taken() -> ParameterError:
    return ParameterError("There is an account of this name already; choose another.")


def find_person(office: Office, **known: str) -> Person | None:
    """Find somebody by id or by name."""
    query = select(people).where(people.c.ended.is_(None))
    for name, value in known.items():
        query = query.where(people.c[name] == value)
    row = office.row(query)
    return None if row is None else person_of(row)


def list_people(office: Office) -> list[Person]:
    """List everybody with an account."""
    query = select(people).where(people.c.ended.is_(None)).order_by(people.c.name)
    return [person_of(row) for row in office.rows(query)]


def person_of(row: dict[str, Any]) -> Person:
    """Read a row."""
    return Person(row["id"], row["name"] or "", row["role"], row["pseudonym"])


def log_in(office: Office, name: str, password: str) -> Person | None:
    """Give whoever has this name and password; an unknown name takes as long as a wrong one."""
    row = office.row(select(people).where(people.c.name == name, people.c.ended.is_(None)))
    kept = None if row is None else row["password"]
    return person_of(row) if check_password(kept, password) and row is not None else None


def set_password(office: Office, person: str, password: str) -> None:
    """Set a password, and end all sessions that were opened with another."""
    office.change(
        delete(sessions).where(sessions.c.person == person),
        update(people).where(people.c.id == person).values(password=hash_password(password)),
    )


def end_person(office: Office, person: str) -> None:
    """Erase a name and all ways in; the pseudonym stays in the chain, and means nobody then."""
    office.change(
        delete(sessions).where(sessions.c.person == person),
        delete(tokens).where(tokens.c.person == person),
        delete(grants).where(grants.c.person == person),
        update(people)
        .where(people.c.id == person)
        .values(name=f"former {new_id()}", password=None, ended=now()),
    )
