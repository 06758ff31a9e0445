"""The only source of randomness for anything that is released.

Contract: ``stream()`` gives the calling thread its own AES-256-CTR key stream, keyed by the
operating system. Every byte is produced on request into memory that belongs to the caller
alone; nothing is kept back, so nothing can be shared or handed out twice. A forked child
draws a new key before its first byte, whether it reached the stream through ``stream()`` or
holds the object from before the fork. A stream refuses to serve another thread.

AES in counter mode (NIST SP 800-38A) is a pseudo-random generator: to tell its output from
fair coins is to break AES. All exactness statements of this package are about fair coins.

``insecure_seeded`` replaces the stream of one thread by a reproducible one, for tests only;
``keyed`` by one that a secret determines, for memory on a person's own device. Both hold for one
context: what other coroutines of the thread draw is as secure as before.
"""

from __future__ import annotations

import hashlib
import os
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    from cryptography.hazmat.primitives.ciphers import CipherContext

_BLOCK = 1 << 16  # bytes per call into the cipher: the zeros stay in the first-level cache
_ZEROS = memoryview(bytes(_BLOCK))
_SPARE = 16  # older releases of the cipher ask for room for one more block
_REKEY = 1 << 30  # bytes served under one key
_SECRET = 32  # bytes of a secret

_forks = 0


def _count_fork() -> None:
    global _forks  # noqa: PLW0603 - a process-wide fact, written only by the fork hook
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class Stream:
    """Random bytes and words for one thread."""

    secure = True

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._rekey()

    def _rekey(self) -> None:
        self._born = (os.getpid(), _forks)
        self._cipher = _encryptor(os.urandom(32), os.urandom(16))
        self._served = 0

    def _ready(self, amount: int) -> None:
        if self._born != (os.getpid(), _forks):
            # The forking thread is the only one that lives on in the child.
            self._thread = threading.get_ident()
            self._rekey()
        if self._thread != threading.get_ident():
            raise RuntimeError(
                "a random stream belongs to one thread: call sfumato.dp.noise.stream() in each"
            )
        if self._served > _REKEY:
            self._rekey()
        self._served += amount

    def _fill(self, out: memoryview, count: int) -> None:
        """Fill the first ``count`` bytes of a buffer that has ``_SPARE`` bytes more."""
        self._ready(count)
        for start in range(0, count, _BLOCK):
            size = min(_BLOCK, count - start)
            self._cipher.update_into(_ZEROS[:size], out[start : start + size + _SPARE])

    def bytes(self, count: int) -> bytes:
        """``count`` random bytes."""
        self._ready(count)
        if count <= _BLOCK:
            return self._cipher.update(_ZEROS[:count])
        out = bytearray(count + _SPARE)
        self._fill(memoryview(out), count)
        return bytes(out[:count])

    def bits(self, count: int) -> int:
        """Return a uniform integer of ``count`` bits, of any length."""
        whole = -(-count // 8)
        return int.from_bytes(self.bytes(whole), "little") >> (8 * whole - count)

    def uint64(self, count: int) -> npt.NDArray[np.uint64]:
        """Fill a fresh array with ``count`` uniform 64-bit words."""
        out = np.empty(count + _SPARE // 8, dtype=np.uint64)
        self._fill(out.data.cast("B"), 8 * count)
        return out[:count]


class _SeededStream(Stream):
    """A reproducible stream: same seed, same bytes. Never private."""

    secure = False
    over = False

    def lent_to(self, thread: int) -> bool:
        """Tell whether this stream now replaces that of a thread."""
        return not self.over and self._thread == thread

    def __init__(self, seed: int) -> None:
        self._seed = hashlib.sha512(f"sfumato insecure seed {seed}".encode()).digest()
        super().__init__()

    def _rekey(self) -> None:
        self._born = (os.getpid(), _forks)
        self._cipher = _encryptor(self._seed[:32], self._seed[32:48])
        self._seed = hashlib.sha512(self._seed).digest()
        self._served = 0


class _KeyedStream(_SeededStream):
    """A stream that a secret determines: the same secret, the same bytes, in every process."""

    secure = True

    def __init__(self, secret: bytes) -> None:
        self._seed = hashlib.sha512(b"sfumato secret " + secret).digest()
        Stream.__init__(self)


def _encryptor(key: bytes, nonce: bytes) -> CipherContext:
    return Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.own = Stream()


_streams = _PerThread()

# What replaces a thread's stream, innermost last. A context variable, so that a coroutine that
# waits inside a ``with`` block does not hand its known seed to the others of its thread.
_replaced: ContextVar[tuple[_SeededStream, ...]] = ContextVar("replaced", default=())


def stream() -> Stream:
    """Return the calling thread's stream."""
    for replacement in reversed(_replaced.get()):
        # A task or thread started inside the block copies its context, and may outlive it.
        if replacement.lent_to(threading.get_ident()):
            return replacement
    return _streams.own


@contextmanager
def _instead(replacement: _SeededStream) -> Iterator[Stream]:
    """Replace the stream of this thread and context until the block ends."""
    _replaced.set((*_replaced.get(), replacement))
    try:
        yield replacement
    finally:
        replacement.over = True
        _replaced.set(tuple(kept for kept in _replaced.get() if kept is not replacement))


@contextmanager
def insecure_seeded(seed: int) -> Iterator[Stream]:
    """Make this thread's noise reproducible inside a ``with`` block. For tests: NOT private.

    Whoever knows the seed can subtract the noise. Other threads, and coroutines that were not
    started inside the block, keep their secure streams; those that were lose the seed when it
    ends. A generator runs in its caller's context: one that yields inside the block seeds its
    caller until it goes on, so do not yield there.
    """
    with _instead(_SeededStream(seed)) as source:
        yield source


@contextmanager
def keyed(secret: bytes) -> Iterator[Stream]:
    """Let a secret of 32 random bytes determine this thread's noise inside a ``with`` block.

    For memory on a person's own device: the same question and value must give the same noise
    again. It is as private as the secret, which must be drawn at random and stay where it is.
    """
    if len(secret) != _SECRET:
        raise ValueError("a secret has 32 bytes")
    with _instead(_KeyedStream(secret)) as source:
        yield source
