"""Ways in: sessions of browsers, tokens of programs, links that work once.

Contract: each is a secret of 256 bits of which a SHA-256 is kept, with an end; each can be revoked
and is then gone. A token has scopes and is told by its first letters and its id. Looking one up
takes one read; when it was last used is noted at most once a minute, without waiting for the disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, text, update

from sfumato.errors import ParameterError
from sfumato.govern.ledger.statements import Statement
from sfumato.govern.office.office import digest, new_id, new_secret, now
from sfumato.govern.office.people import Person
from sfumato.govern.office.tables import links, sessions, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.govern.office.office import Office

SESSION = 12 * 3600.0
"""Seconds after which a browser logs in again."""

OWNERS = '{"role": "owner", "name": "owner"}'
"""What a link of the operator is about: whoever opens it first becomes an owner."""

PREFIX = "sfm_"
SCOPES = ("ask", "own")
"""What a token may be used for: to ask, or to do what an owner does."""

_NOTED = 60.0
_FOUND = Statement(
    text(
        "SELECT p.id, p.name, p.role, p.pseudonym, s.ends, s.used, '' AS scopes "
        "FROM sfumato_office_sessions s JOIN sfumato_office_people p ON p.id = s.person "
        "WHERE s.digest = :digest AND p.ended IS NULL"
    )
)
_TOKEN = Statement(
    text(
        "SELECT p.id, p.name, p.role, p.pseudonym, t.ends, t.used, t.scopes "
        "FROM sfumato_office_tokens t JOIN sfumato_office_people p ON p.id = t.person "
        "WHERE t.digest = :digest AND p.ended IS NULL"
    )
)


@dataclass(frozen=True)
class Entrant:
    """Whoever came in, and how."""

    person: Person
    via: str
    scopes: tuple[str, ...] = ()
    stale: bool = False


def open_session(office: Office, person: str, agent: str = "") -> str:
    """Open a session of a browser; give its secret."""
    secret, at = new_secret(), now()
    office.change(
        delete(sessions).where(sessions.c.ends < at),
        insert(sessions).values(
            digest=digest(secret), person=person, agent=agent[:200], made=at, used=at,
            ends=at + SESSION,
        ),
    )  # fmt: skip
    return secret


def enter_by_session(office: Office, secret: str) -> Entrant | None:
    """Find whose session this is, if it has not ended."""
    return _entered(office, _FOUND, "session", secret)


def enter_by_token(office: Office, secret: str) -> Entrant | None:
    """Find whose token this is, if it has not ended."""
    return _entered(office, _TOKEN, "token", secret) if secret.startswith(PREFIX) else None


def _entered(office: Office, statement: Statement, via: str, secret: str) -> Entrant | None:
    rows = office.quick.peek(statement, digest=digest(secret))
    if not rows:
        return None
    id_, name, role, pseudonym, ends, used, scopes = rows[0]
    at = now()
    if ends is not None and ends < at:
        return None
    stale = used is None or at - used > _NOTED
    return Entrant(Person(id_, name, role, pseudonym), via, tuple(scopes.split()), stale)


def note_use(office: Office, via: str, secret: str) -> None:
    """Note that a session or token was used just now."""
    table = sessions if via == "session" else tokens
    office.change(
        update(table).where(table.c.digest == digest(secret)).values(used=now()), quick=True
    )


def list_sessions(office: Office, person: str) -> list[dict[str, Any]]:
    """List the sessions of a person, without their secrets; each has a handle to end it by."""
    query = select(sessions).where(sessions.c.person == person).order_by(sessions.c.made.desc())
    return [row | {"handle": row["digest"][:16]} for row in office.rows(query)]


def end_session(office: Office, secret: str) -> None:
    """End one session."""
    office.change(delete(sessions).where(sessions.c.digest == digest(secret)))


def end_session_by_handle(office: Office, person: str, handle: str) -> None:
    """End a session of a person by its handle."""
    begins = sessions.c.digest.startswith(handle, autoescape=True)
    if len(handle) == 16:
        office.change(delete(sessions).where(sessions.c.person == person, begins))


def make_token(
    office: Office, person: Person, label: str, scopes: Sequence[str], days: int
) -> tuple[str, str]:
    """Make a token; give its id, and its secret, which is told once."""
    allowed = SCOPES if person.role == "owner" else ("ask",)
    if not scopes or set(scopes) - set(allowed):
        raise ParameterError(f"The scopes of a token are among {', '.join(allowed)}.")
    if not 1 <= days <= 366:
        raise ParameterError("A token lasts 1 to 366 days.")
    id_, secret = new_id(), PREFIX + new_secret()
    office.add(
        tokens, digest=digest(secret), id=id_, person=person.id, label=label[:80],
        scopes=" ".join(sorted(set(scopes))), made=now(), ends=now() + days * 86400,
    )  # fmt: skip
    return id_, secret


def list_tokens(office: Office, person: str) -> list[dict[str, Any]]:
    """List the tokens of a person, without their secrets."""
    shown = [tokens.c[name] for name in ("id", "label", "scopes", "made", "used", "ends")]
    query = select(*shown).where(tokens.c.person == person).order_by(tokens.c.made.desc())
    return office.rows(query)


def end_token(office: Office, person: str, id_: str) -> bool:
    """Revoke a token of a person; tell whether there was one."""
    found = delete(tokens).where(tokens.c.person == person, tokens.c.id == id_)
    return office.change(found) > 0


def make_link(office: Office, kind: str, about: str, *, hours: float) -> str:
    """Make a link that works once; give its secret."""
    secret = new_secret()
    office.add(
        links, digest=digest(secret), kind=kind, about=about, made=now(), ends=now() + hours * 3600
    )
    return secret


def see_link(office: Office, kind: str, secret: str) -> str | None:
    """Tell what a link is about, without using it up."""
    query = select(links).where(links.c.digest == digest(secret), links.c.kind == kind)
    row = office.row(query)
    return None if row is None or row["ends"] < now() else str(row["about"])


def end_links(office: Office, kind: str, about: str) -> None:
    """End all links about something."""
    office.change(delete(links).where(links.c.kind == kind, links.c.about == about))


def use_link(office: Office, kind: str, secret: str) -> str | None:
    """Use a link up; of several who try at once, one gets what it is about."""
    about = see_link(office, kind, secret)
    if about is None:
        return None
    used = office.change(
        delete(links).where(links.c.digest == digest(secret), links.c.kind == kind)
    )
    return about if used else None
