"""A lock on one byte of an open file, which ends with its process, on every system.

A byte far beyond the end of a file can be locked, so one file holds a lock per question and never
grows. `filelock` locks whole files: a file per question would have to be made and removed again.
"""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":  # pragma: no cover - the tests run elsewhere
    import msvcrt

    def lock_byte(file: int, place: int) -> bool:
        """Take the lock of a byte if nobody has it."""
        os.lseek(file, place, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock_byte(file: int, place: int) -> None:
        """Give the lock of a byte back."""
        os.lseek(file, place, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock_byte(file: int, place: int) -> bool:
        """Take the lock of a byte if nobody has it."""
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError:
            return False
        return True

    def unlock_byte(file: int, place: int) -> None:
        """Give the lock of a byte back."""
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
