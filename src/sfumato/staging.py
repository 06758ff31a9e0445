"""A folder filled out of sight, beside the place where it will be put.

Whoever fills it holds a lock on it for as long as the process lives, however it ends. So a
folder without a lock was left behind by a process that was killed, and the next one that
comes to the same place removes it: what is in it was never released.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

if sys.platform != "win32":
    import fcntl


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside the target; it is removed unless it was renamed into place."""
    prefix = f".{target.name}.staged."
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target.parent, prefix)
    folder, lock = _locked_folder(target.parent, prefix)
    try:
        mask = os.umask(0)
        os.umask(mask)
        folder.chmod(0o777 & ~mask)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked_folder(parent: Path, prefix: str) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        try:
            lock = _lock(folder)
        except (BlockingIOError, FileNotFoundError):
            continue  # somebody took it for abandoned before it was locked
        except OSError:
            return folder, None  # a file system without locks
        if lock is None or folder.exists():
            return folder, lock
        os.close(lock)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for found in parent.iterdir():
        if not found.name.startswith(prefix) or found.is_symlink() or not found.is_dir():
            continue
        with suppress(OSError):
            lock = _lock(found)
            if lock is not None:
                shutil.rmtree(found, ignore_errors=True)
                os.close(lock)


def _lock(folder: Path) -> int | None:
    """Return a handle that holds a lock on a folder; None on systems without such locks."""
    if sys.platform == "win32":  # nothing is locked, so nothing is taken for abandoned
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle
