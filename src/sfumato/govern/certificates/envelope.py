"""A signed envelope: DSSE v1, so that what is signed is the very bytes and their type.

Contract: the signature is over the pre-authentication encoding, ``DSSEv1 SP len(type) SP type SP
len(body) SP body``; nothing is parsed before it was checked. One signature, Ed25519.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidSignature

from sfumato.errors import PromiseBroken
from sfumato.govern.certificates.keys import public_key
from sfumato.govern.ledger.chain import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )


def _encoded(kind: str, body: bytes) -> bytes:
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(body), body)


def sign(kind: str, content: Mapping[str, Any], key: Ed25519PrivateKey) -> dict[str, Any]:
    """Put JSON into an envelope and sign it."""
    body = canonical(content).encode()
    signature = key.sign(_encoded(kind, body))
    return {
        "payloadType": kind,
        "payload": base64.b64encode(body).decode(),
        "signatures": [
            {"keyid": public_key(key)["kid"], "sig": base64.b64encode(signature).decode()}
        ],
    }


def opened(envelope: Any, kind: str, keys: Mapping[str, Ed25519PublicKey]) -> dict[str, Any]:
    """Check an envelope against the keys that are trusted, and give what is in it."""
    try:
        if set(envelope) != {"payloadType", "payload", "signatures"}:
            raise KeyError  # noqa: TRY301 - one message for all that is wrong
        body = base64.b64decode(envelope["payload"], validate=True)
        [signature] = envelope["signatures"]
        given = base64.b64decode(signature["sig"], validate=True)
        named, stated = signature["keyid"], envelope["payloadType"]
        whole = (
            set(signature) == {"keyid", "sig"}
            and base64.b64encode(body).decode() == envelope["payload"]
            and base64.b64encode(given).decode() == signature["sig"]
        )
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise PromiseBroken("This is no signed envelope, or it was changed.") from None
    if stated != kind or not whole:
        raise PromiseBroken(f"The envelope holds something else than {kind}, or it was changed.")
    if named not in keys:
        raise PromiseBroken(
            f"The envelope is signed with the key {named!r}, which is not one that was named."
        )
    try:
        keys[named].verify(given, _encoded(kind, body))
    except InvalidSignature:
        raise PromiseBroken("The signature does not fit: the envelope was changed.") from None
    content: dict[str, Any] = json.loads(body)
    return content
