"""The key of an office: Ed25519, made once, in a file of its owner alone.

Contract: a public key is a JSON Web Key (RFC 8037); its id is the start of the SHA-256 of its
bytes, and the whole of that is its fingerprint, by which people compare keys.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from sfumato.errors import ParameterError
from sfumato.staging import put_once

if TYPE_CHECKING:
    from pathlib import Path


def key_at(path: Path) -> Ed25519PrivateKey:
    """Read the key of a file; it is made if there is none."""
    if not path.exists():
        made = Ed25519PrivateKey.generate()
        text = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        put_once(path, text)  # if another worker made it at this moment, both use that one
    try:
        found = load_pem_private_key(path.read_bytes(), None)
    except (ValueError, TypeError):
        raise ParameterError(f"{path} holds no key; restore it from a copy.") from None
    if not isinstance(found, Ed25519PrivateKey):
        raise ParameterError(f"{path} holds a key of another kind than Ed25519.")
    return found


def public_key(key: Ed25519PrivateKey) -> dict[str, str]:
    """Give the public half as a JSON Web Key."""
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": base64.urlsafe_b64encode(raw).decode().rstrip("="),
        "kid": fingerprint(raw)[:16],
    }


def read_public(entry: Any) -> tuple[str, Ed25519PublicKey]:
    """Read a JSON Web Key; give its id, computed from its bytes, and the key."""
    try:
        text = entry["x"]
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if entry["kty"] != "OKP" or entry["crv"] != "Ed25519":
            raise ValueError  # noqa: TRY301 - one message for all that is wrong
        return fingerprint(raw)[:16], Ed25519PublicKey.from_public_bytes(raw)
    except (KeyError, TypeError, ValueError):
        raise ParameterError(
            "This is no public key of the kind Ed25519 (a JSON Web Key)."
        ) from None


def fingerprint(raw: bytes) -> str:
    """Give the fingerprint of the bytes of a public key."""
    return hashlib.sha256(raw).hexdigest()
