"""Who may have what: decided per route, from the route's own line, and deny by default.

Contract: :func:`admit` gets the route that was found (never a path) and whoever came in, and
raises unless the route's access admits them. What a dataset holds is hidden from those without a
grant by the same 404 as a dataset that does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from sfumato.govern.office.entry import enter_by_session, enter_by_token
from sfumato.govern.office.grants import purposes_granted
from sfumato.govern.office.owners import owns
from sfumato.service.problems import not_allowed, not_found, not_known

if TYPE_CHECKING:
    from sfumato.govern.office.entry import Entrant
    from sfumato.govern.office.office import Office


class Access(StrEnum):
    """Who is admitted to a route."""

    PUBLIC = "public"
    """Everybody; also somebody who holds a secret that is part of the address."""
    PERSON = "person"
    """Whoever has an account; the handler looks whether the thing is theirs."""
    GRANTED = "granted"
    """An analyst with a grant for the dataset of the path."""
    DATASET = "dataset"
    """The same, or one of its owners."""
    OWNER = "owner"
    """An owner; where the path names a dataset, one of its owners."""
    OPERATOR = "operator"
    """Whoever can read the server's folder, and so its operator's token."""


@dataclass(frozen=True)
class Caller:
    """Whoever asks: nobody, an account, or the operator."""

    entrant: Entrant | None = None
    secret: str = ""
    operator: bool = False

    @property
    def role(self) -> str:
        """The role of the account; 'public' without one."""
        if self.operator:
            return "operator"
        return "public" if self.entrant is None else self.entrant.person.role

    @property
    def id(self) -> str:
        """The account."""
        assert self.entrant is not None
        return self.entrant.person.id

    @property
    def name(self) -> str:
        """The name of the account."""
        return "" if self.entrant is None else self.entrant.person.name

    @property
    def pseudonym(self) -> str:
        """How the chain calls the account."""
        return "" if self.entrant is None else self.entrant.person.pseudonym

    @property
    def is_owner(self) -> bool:
        """Whether an owner came in, by a way that lets her act as one."""
        return self.role == "owner" and self.may("own")

    def may(self, scope: str) -> bool:
        """Tell whether a token carries a scope; a session carries all that its role allows."""
        assert self.entrant is not None
        return self.entrant.via == "session" or scope in self.entrant.scopes


NOBODY = Caller()


def check_owns(office: Office, caller: Caller, dataset: str | None) -> None:
    """Let an owner act on what belongs to a dataset of hers; others read that there is nothing."""
    if not (caller.is_owner and owns(office, caller.id, dataset)):
        raise not_found()


def is_still_in(office: Office, caller: Caller) -> bool:
    """Tell whether the session or token by which somebody came in has not ended meanwhile."""
    if caller.entrant is None:
        return caller.operator
    enter = enter_by_token if caller.entrant.via == "token" else enter_by_session
    return enter(office, caller.secret) is not None


def admit(
    office: Office, access: Access, caller: Caller, dataset: str | None
) -> tuple[str, ...] | None:
    """Let whoever asks through, or raise; give the purposes that were granted, if it was that."""
    if access is Access.PUBLIC:
        return None
    if access is Access.OPERATOR and caller.operator:
        return None
    if caller.entrant is None:
        raise not_known()
    if access is Access.OPERATOR:
        raise not_found()
    if access is Access.PERSON:
        return None
    if access is Access.OWNER:
        if not caller.is_owner:
            raise not_allowed("This is for owners; a token for it has the scope 'own'.")
        if not owns(office, caller.id, dataset):
            raise not_found()
        return None
    if access is Access.DATASET and caller.is_owner and owns(office, caller.id, dataset):
        return None
    return _admit_granted(office, access, caller, dataset)


def _admit_granted(
    office: Office, access: Access, caller: Caller, dataset: str | None
) -> tuple[str, ...]:
    """Let an analyst through who has a grant."""
    granted = () if dataset is None else purposes_granted(office, caller.id, dataset)
    if not granted:
        raise not_found()
    if access is Access.GRANTED and not caller.may("ask"):
        raise not_allowed("This token has no scope 'ask'.")
    return granted
