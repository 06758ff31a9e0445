"""Fingerprints as the ledger keeps them: keyed with the secret salt of the dataset.

Contract: whoever reads entries, but not the salt, cannot try out rows against a fingerprint. The
salt is drawn when a dataset is registered and kept beside the chain, which holds its SHA-256 only;
exports do not have it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets


def new_salt() -> bytes:
    """Draw the salt of a dataset."""
    return secrets.token_bytes(16)


def key_fingerprint(salt: bytes, fingerprint: str) -> str:
    """Key a fingerprint part by part: private rows, and each public table after a full stop."""
    parts = fingerprint.split(".")
    return ".".join(hmac.new(salt, part.encode(), hashlib.sha256).hexdigest() for part in parts)
