"""What the owner fixed about a dataset: unit, rules, purposes, limits, policy, blocks.

Contract: the first registration of a dataset holds. The same one later changes nothing; another
one is refused and told what differs. The owner changes limits, purposes, policy and public tables
by an amendment, which is an entry of the ledger; unit and rules (bounds, public keys: any JSON)
never change, because what was answered rests on them. A limit that is raised because of what the
answers said is the owner's decision and outside the theorem of the filter, which knows limits
that were fixed before.

A dataset may have a salt, a secret with which its fingerprints are keyed. It is kept beside the
chain, is in no entry and no export; the rules hold its SHA-256.

A block is a set of rows that were added later, with totals of its own under the same limits. That
is sound only if no person has rows in two blocks, so only where the unit is a row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, text, update

from sfumato.dp.neighbours import Neighbours, Row, Unit
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.ledger.append import append, lock_head
from sfumato.govern.ledger.chain import AMENDED, BLOCK_ADDED, REGISTERED, Entry, canonical, key_of
from sfumato.govern.ledger.faults import reached
from sfumato.govern.ledger.statements import Statement
from sfumato.govern.ledger.tables import blocks, registrations
from sfumato.govern.limits import Limits
from sfumato.govern.policies import Free, SpendingPolicy, policy_from_json
from sfumato.message import Message, Ways
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.govern.ledger.append import Head

MAIN = "main"
"""The block of the rows that a dataset was registered with."""

SALT_HASH = "salt_sha256"
"""The rule that holds the hash of the salt."""

UTC = "UTC"

_NAMES = Statement(text("SELECT dataset FROM sfumato_registrations"))
_BODY = Statement(text("SELECT body FROM sfumato_registrations WHERE dataset = :dataset"))
_SALT = Statement(text("SELECT salt FROM sfumato_registrations WHERE dataset = :dataset"))
_BLOCKS = Statement(text("SELECT block FROM sfumato_blocks WHERE dataset = :dataset"))


@dataclass(frozen=True)
class Registration(Shown):
    """What the owner of a dataset fixed before anybody asked.

    ``public`` describes the public tables by name; None stands for one whose rows are registered
    by the next session that names it.
    """

    dataset: str
    limits: Limits
    unit: str = "row"
    rules: Mapping[str, Any] = field(default_factory=dict)
    purposes: tuple[str, ...] = ()
    policy: SpendingPolicy = field(default_factory=Free)
    public: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.dataset or not isinstance(self.dataset, str):
            raise ParameterError("A dataset is registered under a name.")
        given: object = self.purposes
        if isinstance(given, str) or not all(self.purposes):
            raise ParameterError("Purposes are a list of names, such as purposes=('care',).")
        object.__setattr__(self, "purposes", tuple(sorted(set(self.purposes))))
        stray = set(self.limits.purposes) - set(self.purposes)
        if stray:
            raise ParameterError(
                f"There is a limit for the purpose {min(stray)!r}, which the dataset does not name."
            )
        try:
            object.__setattr__(self, "rules", json.loads(canonical(dict(self.rules))))
            object.__setattr__(self, "public", json.loads(canonical(dict(self.public))))
        except (TypeError, ValueError):
            raise ParameterError(
                "The rules and public tables of a dataset are plain JSON."
            ) from None

    @property
    def unit_hidden(self) -> PrivacyUnit | None:
        """The unit that a session has registered; None where it was registered by hand."""
        entry = self.rules.get("unit")
        return None if entry is None else Row() if entry == "row" else Unit(**entry)

    @property
    def time_zone(self) -> str:
        """The time zone in which an instant has its day."""
        return zone_of(self.rules)

    def to_json(self) -> dict[str, Any]:
        """Give the registration as plain JSON."""
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "rules": self.rules,
            "purposes": list(self.purposes),
            "limits": self.limits.to_json(),
            "policy": self.policy.to_json(),
            "public": self.public,
        }


def zone_of(rules: Mapping[str, Any]) -> str:
    """Give the time zone that the rules of a dataset name; UTC where they name none."""
    return str(rules.get("time_zone", UTC))


@lru_cache(maxsize=256)
def registration_from(body: str) -> Registration:
    """Read the canonical text of a registration."""
    entry = json.loads(body)
    return Registration(
        dataset=entry["dataset"],
        unit=entry["unit"],
        rules=entry["rules"],
        purposes=tuple(entry["purposes"]),
        limits=Limits.from_json(entry["limits"]),
        policy=policy_from_json(entry["policy"]),
        public=entry["public"],
    )


def find(connection: Connection, dataset: str) -> Registration | None:
    """Read the registration of a dataset that is in force."""
    body = _BODY.first(connection, dataset=dataset)
    return None if body is None else registration_from(body)


def names(connection: Connection) -> list[str]:
    """Name the datasets that are registered."""
    return [str(name) for (name,) in _NAMES.run(connection)]


def needed(connection: Connection, dataset: str) -> Registration:
    """Read the registration of a dataset, which must exist."""
    found = find(connection, dataset)
    if found is None:
        raise GovernanceError(f"The dataset {dataset!r} is not registered in this ledger.")
    return found


def salt_hash(salt: bytes) -> str:
    """Hash a salt as it is kept, in hexadecimal; it is one of too many to be found by trying."""
    return key_of(salt.hex())


def find_salt(connection: Connection, dataset: str) -> bytes | None:
    """Read the secret with which the fingerprints of a dataset are keyed."""
    kept = _SALT.first(connection, dataset=dataset)
    return None if kept is None else bytes.fromhex(kept)


def register(
    connection: Connection,
    wanted: Registration,
    salt: bytes | None = None,
    fingerprint: str | None = None,
) -> None:
    """Register a dataset and the rows it has, or see that it is registered just so."""
    if salt is not None and wanted.rules.get(SALT_HASH) != salt_hash(salt):
        raise ParameterError(f"The rule {SALT_HASH!r} is the SHA-256 of the salt.")
    head = lock_head(connection)
    found = find(connection, wanted.dataset)
    if found is not None:
        _same(found, wanted)
        return
    check_other_names(wanted.dataset, names(connection))
    reached("register-checked")
    entry = Entry(
        REGISTERED,
        dataset=wanted.dataset,
        blocks=(MAIN,),
        fingerprint=fingerprint,
        details={"registration": wanted.to_json()},
    )
    append(connection, head, entry)
    reached("register-appended")
    body = canonical(wanted.to_json())
    kept = None if salt is None else salt.hex()
    connection.execute(insert(registrations).values(dataset=wanted.dataset, body=body, salt=kept))
    connection.execute(insert(blocks).values(dataset=wanted.dataset, block=MAIN))
    reached("register-counted")


def check_other_names(wanted: str, known: Iterable[str]) -> None:
    """Refuse a name that differs from a registered one by capitals alone, as in no question."""
    for name in known:
        if name != wanted and name.casefold() == wanted.casefold():
            raise GovernanceError(
                f"A dataset {name!r} is registered in this ledger, and {wanted!r} differs from it "
                f"by capitals alone. Ask about {name!r}, or choose another name."
            )


def amend(
    connection: Connection,
    dataset: str,
    changes: Mapping[str, Any],
    reason: str | None,
    known: Registration | None = None,
) -> Registration:
    """Change limits, purposes, policy or public tables, and record it."""
    head = lock_head(connection)
    old = needed(connection, dataset)
    stated = [name for name in changes if name != "public"]  # tables are added, and undo nothing
    moved = [n for n in stated if known is not None and getattr(known, n) != getattr(old, n)]
    if moved:
        raise GovernanceError(
            f"The {' and the '.join(moved)} of {dataset!r} were changed by somebody else "
            "meanwhile; look at what they are now, and amend again."
        )
    if "limits" in changes and changes["limits"].relation != old.limits.relation:
        raise GovernanceError(
            f"The budget of {dataset!r} is about {old.limits.relation} neighbours, and so is what "
            "was answered; a ledger holds one relation of a dataset, and limits are amended "
            "within it."
        )
    if "limits" in changes and old.unit_hidden is not None:
        changes["limits"].check_unit(Neighbours(old.limits.relation, old.unit_hidden))
    public = {**old.public, **changes.get("public", {})}
    return _amended(connection, head, replace(old, **{**changes, "public": public}), reason)


def add_public(connection: Connection, dataset: str, tables: Mapping[str, Any]) -> Registration:
    """Describe public tables that an amendment has named; what is described stays so."""
    head = lock_head(connection)
    old = needed(connection, dataset)
    for name, table in tables.items():
        if name not in old.public or old.public[name] not in (None, table):
            raise GovernanceError(
                f"The public table {name!r} of {dataset!r} is not registered, or with other rows; "
                "its owner changes that by Ledger.amend."
            )
    new = replace(old, public={**old.public, **tables})
    return old if new == old else _amended(connection, head, new, None)


def _amended(
    connection: Connection, head: Head, new: Registration, reason: str | None
) -> Registration:
    details: dict[str, Any] = {"registration": new.to_json()}
    if reason is not None:
        details["reason"] = reason
    append(connection, head, Entry(AMENDED, dataset=new.dataset, details=details))
    connection.execute(
        update(registrations)
        .where(registrations.c.dataset == new.dataset)
        .values(body=canonical(new.to_json()))
    )
    return new


def add_block(connection: Connection, dataset: str, block: str, fingerprint: str | None) -> None:
    """Add a block of new rows; one that exists is left as it is."""
    head = lock_head(connection)
    registration = needed(connection, dataset)
    if block in known_blocks(connection, dataset):
        return
    if not block:
        raise ParameterError("A block has a name.")
    if registration.unit != "row":
        raise GovernanceError(
            f"The privacy unit of {dataset!r} is {registration.unit!r}, which may have rows in the "
            "old block and in the new one; blocks with budgets of their own need the unit 'row'."
        )
    entry = Entry(BLOCK_ADDED, dataset=dataset, blocks=(block,), fingerprint=fingerprint)
    append(connection, head, entry)
    connection.execute(insert(blocks).values(dataset=dataset, block=block))


def known_blocks(connection: Connection, dataset: str) -> frozenset[str]:
    """Name the blocks of a dataset."""
    return frozenset(row[0] for row in _BLOCKS.run(connection, dataset=dataset))


def _same(found: Registration, wanted: Registration) -> None:
    old, new = found.to_json(), wanted.to_json()
    different = [name for name in old if old[name] != new[name]]
    if different:
        told = [_told(name, found) for name in different]
        raise GovernanceError(
            Message(
                "The dataset {!r} is registered with other {} ({}). Leave out what is registered. "
                "What its owner fixed is changed by {} (limits, purposes, policy, public) or not "
                "at all (unit, rules).",
                found.dataset,
                " and ".join(different),
                "; ".join(words for words in told if words),
                Ways("Ledger.amend", "sfumato ledger amend"),
            )
        )


def _told(name: str, found: Registration) -> str:
    """Say what is registered, so that it can be stated again or left out; no rows are in it."""
    if name == "rules":
        named = sorted({*found.rules.get("bounds", ()), *found.rules.get("keys", ())})
        return f"bounds or values are registered for {', '.join(named) or 'no column'}"
    if name in {"limits", "policy", "unit"}:
        return f"{name}: {getattr(found, name)}"
    return f"{name}: {', '.join(getattr(found, name)) or 'none'}"
