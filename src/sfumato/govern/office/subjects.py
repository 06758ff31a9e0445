"""Requests of the people whom data are about: what is held, a correction, to be forgotten.

Contract (GDPR, articles 15 to 17): whoever asks gets a code and can ask by it how the request
stands. The owner confirms who it is outside of the system; until then, and for a code that nobody
has, the state reads the same. What is found is kept sealed with a key that only the code has, is
read once, and is erased. The ledger gets a hash that is keyed with a secret of the office, and
counts; no name.

Corrections and deletions take effect together at fixed times (``due``), so that the moment at
which an answer changes does not tell whose request it was.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy import case, select, update

from sfumato.errors import ParameterError
from sfumato.govern.office.office import digest, new_id, new_secret, now
from sfumato.govern.office.tables import subjects

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sfumato.govern.office.office import Office

KINDS = ("access", "correct", "forget")
RECEIVED, CONFIRMED, ANSWERED, READ, REFUSED = (
    "received",
    "confirmed",
    "answered",
    "read",
    "refused",
)
WAITING = "received"
"""What an unknown code, an unconfirmed request and a refused one all read."""


def add_request(office: Office, kind: str, dataset: str, told: str) -> str:
    """Take a request of a person; give the code by which she asks how it stands."""
    if kind not in KINDS:
        raise ParameterError(f"A request is one of {', '.join(KINDS)}.")
    if not 1 <= len(told.strip()) <= 2000:
        raise ParameterError("Say in 1 to 2,000 characters who you are and how you are reached.")
    code = new_secret()
    office.add(
        subjects, digest=digest(code), id=new_id(), kind=kind, dataset=dataset,
        told=told.strip(), key=seal_key(code), state=RECEIVED, made=now(),
    )  # fmt: skip
    return code


def seal_key(code: str) -> str:
    """Derive the key under which an answer is sealed; kept until it is sealed, then erased."""
    derived = hashlib.blake2b(code.encode(), person=b"sfumato-subject", digest_size=32).digest()
    return base64.urlsafe_b64encode(derived).decode()


def list_requests(office: Office) -> list[dict[str, Any]]:
    """List requests for the owner, never what was found: open ones first, the oldest first.

    So nobody who sends many pushes a request out of the list that came before.
    """
    shown = [subjects.c[name] for name in ("id", "kind", "dataset", "told", "state", "made",
                                           "closed", "due")]  # fmt: skip
    is_open, made = subjects.c.state == RECEIVED, subjects.c.made
    order = (case((is_open, 0), else_=1), case((is_open, made), else_=-made))
    return office.rows(select(*shown).order_by(*order).limit(200))


def find_request(office: Office, id_: str) -> dict[str, Any] | None:
    """Read a request by the id that the owner sees."""
    return office.row(select(subjects).where(subjects.c.id == id_))


def confirm(office: Office, id_: str, *, period: float) -> float | None:
    """Note that it is she, once; tell when a change would take effect, which is noted for those."""
    due = math.floor(now() / period + 1) * period
    changed = office.change(
        update(subjects)
        .where(subjects.c.id == id_, subjects.c.state == RECEIVED)
        .values(state=CONFIRMED, due=case((subjects.c.kind == "access", None), else_=due))
    )
    return due if changed else None


def reopen(connection: Connection, id_: str) -> None:
    """Have a request wait for the owner again, because its job came to nothing."""
    connection.execute(
        update(subjects)
        .where(subjects.c.id == id_, subjects.c.state == CONFIRMED)
        .values(state=RECEIVED, due=None)
    )


def refuse(office: Office, id_: str) -> None:
    """Close a request of somebody who could not be confirmed; what she told is erased."""
    office.erase(
        update(subjects)
        .where(subjects.c.id == id_, subjects.c.state == RECEIVED)
        .values(state=REFUSED, told="", key=None, closed=now())
    )


def answer(office: Office, id_: str, found: dict[str, Any]) -> None:
    """Seal what was found with the key of the code, and erase the key and what was told."""
    row = find_request(office, id_)
    if row is None or row["key"] is None:
        return
    sealed = Fernet(row["key"]).encrypt(json.dumps(found).encode()).decode()
    office.erase(
        update(subjects)
        .where(subjects.c.id == id_)
        .values(state=ANSWERED, answer=sealed, key=None, told="", closed=now())
    )


def status(office: Office, code: str) -> dict[str, Any]:
    """Tell how a request stands; unknown, unconfirmed and refused codes read alike."""
    row = office.row(select(subjects).where(subjects.c.digest == digest(code)))
    state = WAITING if row is None else row["state"]
    seal_key(code)  # the same work for every code
    return {
        "state": WAITING if state == REFUSED else state,
        "due": None if row is None else row["due"],
    }


def read_once(office: Office, code: str) -> dict[str, Any] | None:
    """Give what was found to whoever has the code, once; then it is erased."""
    row = office.row(select(subjects).where(subjects.c.digest == digest(code)))
    if row is None or row["answer"] is None:
        return None
    taken = office.erase(
        update(subjects)
        .where(subjects.c.digest == digest(code), subjects.c.answer.is_not(None))
        .values(answer=None, state=READ)
    )
    if not taken:
        return None
    try:
        found: dict[str, Any] = json.loads(Fernet(seal_key(code)).decrypt(row["answer"].encode()))
    except InvalidToken:
        return None
    return found


def keyed(secret: bytes, person: str) -> str:
    """Hash who a request is about, with a secret of the office, for the ledger."""
    return hmac.new(secret, person.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
