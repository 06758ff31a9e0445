"""Passwords: Argon2id, one at a time, so that trying many costs the one who tries.

Contract: :func:`hash_password` gives text in the PHC form; :func:`check_password` takes as long for
an account that does not exist as for one that does. At most ``AT_ONCE`` are computed at a time,
because each takes 19 MiB (OWASP's recommendation: m = 19 MiB, t = 2, p = 1).
"""

from __future__ import annotations

import secrets
import threading
from functools import lru_cache

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from sfumato.errors import ParameterError

SHORTEST, LONGEST = 10, 256
AT_ONCE = 2
_queue = threading.BoundedSemaphore(AT_ONCE)


def hash_password(password: str) -> str:
    """Hash a password with a salt of its own."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise ParameterError(f"A password has {SHORTEST} to {LONGEST} characters.")
    with _queue:
        made = Argon2id(
            salt=secrets.token_bytes(16), length=32, iterations=2, lanes=1, memory_cost=19456
        ).derive_phc_encoded(password.encode())
    return str(made)


def check_password(kept: str | None, password: str) -> bool:
    """Tell whether a password is the one that was kept; None stands for no account."""
    given = password[: LONGEST + 1].encode("utf-8", "surrogatepass")
    with _queue:
        try:
            Argon2id.verify_phc_encoded(given, kept or _nobodys())
        except InvalidKey:
            return False
    return kept is not None


@lru_cache(maxsize=1)
def _nobodys() -> str:
    """Give the hash of a password that nobody has."""
    made = Argon2id(
        salt=secrets.token_bytes(16), length=32, iterations=2, lanes=1, memory_cost=19456
    ).derive_phc_encoded(secrets.token_bytes(32))
    return str(made)
