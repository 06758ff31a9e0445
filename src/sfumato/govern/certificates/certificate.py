"""Certificates: a signed statement about a release or a budget, with its proof in the ledger.

Contract: an in-toto Statement (v1) in an envelope (DSSE). About a release it states the SHA-256 of
the file, the promise, the roles of its columns, what was checked, what it cost, risk and attacks,
the entry of the ledger, a proof that the
entry is under a root, and the signed checkpoint with that root. About a budget it states what was
spent of which limit, under the checkpoint of that moment. :mod:`.check` needs nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.govern.certificates.checkpoints import make_checkpoint, prove, sign_checkpoint
from sfumato.govern.certificates.envelope import sign
from sfumato.govern.certificates.keys import public_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from sfumato.govern.certificates.checkpoints import Checkpoint
    from sfumato.govern.ledger.chain import Entry

KIND = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
RELEASE, BUDGET = "urn:sfumato:release:v1", "urn:sfumato:budget:v1"


STATED = ("shape", "roles", "linkable", "people", "checked")
"""What the entry says of the file beside its promise: enough to check the promise from the file."""


def certify_release(
    entry: Entry,
    *,
    leaves: list[bytes],
    key: Ed25519PrivateKey,
    evidence: Mapping[str, Any] | None = None,
    at: datetime | None = None,
) -> dict[str, Any]:
    """Certify a release that the ledger has recorded, under the tree of now or of a moment."""
    name = str(entry.details.get("file", "release")).rpartition("/")[2]
    predicate = {
        "dataset": entry.dataset,
        "purpose": entry.purpose,
        "promise": entry.details.get("promise"),
        "promise_in_words": entry.guarantee,
        **{name: entry.details[name] for name in STATED if name in entry.details},
        "loss": entry.details.get("loss", {}),
        "evidence": dict(evidence or {}),
        "entry": _plain(entry),
        "proof": prove(leaves, entry.number),
    }
    subject = {"name": name, "digest": {"sha256": entry.fingerprint}}
    return _certificate(subject, RELEASE, predicate, make_checkpoint(leaves, at), key)


def certify_budget(
    dataset: str,
    *,
    limits: list[dict[str, Any]],
    leaves: list[bytes],
    key: Ed25519PrivateKey,
    at: datetime | None = None,
) -> dict[str, Any]:
    """Certify what was spent of the limits of a dataset, under the tree of now or of a moment."""
    checkpoint = make_checkpoint(leaves, at)
    predicate = {"dataset": dataset, "date": checkpoint.time, "limits": limits}
    subject = {"name": f"budget of {dataset}", "digest": {"sha256": checkpoint.root}}
    return _certificate(subject, BUDGET, predicate, checkpoint, key)


def _certificate(
    subject: Mapping[str, Any],
    about: str,
    predicate: Mapping[str, Any],
    checkpoint: Checkpoint,
    key: Ed25519PrivateKey,
) -> dict[str, Any]:
    statement = {
        "_type": STATEMENT,
        "subject": [dict(subject)],
        "predicateType": about,
        "predicate": {
            **predicate,
            "checkpoint": sign_checkpoint(checkpoint, key),
            "key": public_key(key),
        },
    }
    return sign(KIND, statement, key)


def _plain(entry: Entry) -> dict[str, Any]:
    return {**vars(entry), "blocks": list(entry.blocks)}
