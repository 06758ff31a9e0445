"""A folder or file filled out of sight, beside the place where it will be put; and locks.

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


def put_once(path: Path, content: bytes) -> None:
    """Put a file in place whole, for its owner alone; one that is there already stays.

    Of several who try at once one succeeds, and nobody reads a part of it, unless the file system
    has no links; so whoever reads it looks whether it is whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        with suppress(FileExistsError):
            try:
                os.link(name, path)
            except PermissionError:  # a file system without links: made, then filled
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
                with os.fdopen(os.open(path, flags, 0o600), "wb") as out:
                    out.write(content)
    finally:
        Path(name).unlink()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until nobody else changes a folder, and exclude others until the block ends."""
    if sys.platform == "win32":  # pragma: no cover - nothing is locked there, as above
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


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
