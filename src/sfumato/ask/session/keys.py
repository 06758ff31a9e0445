"""Fingerprints as the ledger keeps them: keyed with the secret salt of the dataset.

Contract: rows of any shape have one name, and so one budget, in a ledger
(:func:`check_registered_once`). Reading entries without the salt is not enough to try out rows
against a fingerprint. The salt is drawn when a dataset is registered and kept beside the chain,
which holds its SHA-256 only; exports do not have it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from sfumato.errors import GovernanceError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sfumato.govern.ledger.ledger import Ledger


def new_salt() -> bytes:
    """Draw the salt of a dataset."""
    return secrets.token_bytes(16)


def key_fingerprint(salt: bytes, fingerprint: str) -> str:
    """Key a fingerprint part by part: private rows, and each public table after a full stop."""
    parts = fingerprint.split(".")
    return ".".join(hmac.new(salt, part.encode(), hashlib.sha256).hexdigest() for part in parts)


def private_part(fingerprint: str) -> str:
    """Give the part of a fingerprint that is about private rows, which make a block."""
    return fingerprint.partition(".")[0]


def known_rows(ledger: Ledger) -> dict[str, set[str]]:
    """Give the keyed fingerprints of the rows that each dataset of a ledger had so far.

    They are in its registration and in every charge, which has one for each block it read.
    """
    seen: dict[str, set[str]] = {}
    for entry in ledger.entries():
        if entry.dataset is not None and entry.fingerprint:
            parts = {private_part(part) for part in entry.fingerprint.split("+")}
            seen.setdefault(entry.dataset, set()).update(parts)
    return seen


def check_registered_once(
    ledger: Ledger,
    dataset: str,
    fingerprints: Iterable[str],
    compared: Collection[str] | None = None,
) -> None:
    """Refuse to register rows that this ledger knows by another name, with a budget of their own.

    A link or a copy of a file has another name, and the same rows. The refusal tells that rows are
    just so: whoever may write any rows could guess those of others by it, so ``compared`` names the
    only datasets that theirs are compared with.
    """
    rows = [private_part(fingerprint) for fingerprint in fingerprints]
    for other, parts in known_rows(ledger).items():
        salt = ledger.salt(other)
        hidden = compared is not None and other not in compared
        if other == dataset or salt is None or hidden:
            continue
        if any(key_fingerprint(salt, fingerprint) in parts for fingerprint in rows):
            raise GovernanceError(
                f"The rows of {dataset!r} are those of the dataset {other!r} in this ledger, under "
                f"another name; they have one budget. Ask about {other!r}: give name={other!r}."
            )
