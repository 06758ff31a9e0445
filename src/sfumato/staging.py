"""A folder or file filled out of sight, beside the place where it will be put; and locks.

Whoever fills it holds a lock on it for as long as the process lives, however it ends. So a
folder without a lock was left behind by a process that was killed, and the next one that
comes to the same place removes it: what is in it was never released.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filelock import FileLock

LOCK = ".lock"
"""How the name of the file goes on whose lock says that somebody is at work."""
_TRIES = 5


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
        _give_back(lock)


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
    from filelock import FileLock  # noqa: PLC0415 - takes a while to load

    with FileLock(folder / LOCK, mode=0o600):
        yield


def _locked_folder(parent: Path, prefix: str) -> tuple[Path, FileLock | None]:
    """Make a folder whose lock was taken before, so that nobody thinks it abandoned.

    Names are drawn, so nearly never does somebody else hold one; where every try seems so, no lock
    can be made there at all (in ``/proc``, say), and the folder itself says why.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - takes a while to load

    for _ in range(_TRIES):
        folder = parent / f"{prefix}{secrets.token_hex(6)}"
        lock: FileLock | None = FileLock(f"{folder}{LOCK}", timeout=0, mode=0o600)
        assert lock is not None
        try:
            lock.acquire()
        except Timeout:
            continue  # somebody drew the same name
        except (OSError, NotImplementedError):
            lock = None  # a file system without locks
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            _give_back(lock)
            continue
        return folder, lock
    folder = parent / f"{prefix}{secrets.token_hex(6)}"
    folder.mkdir(mode=0o700)
    return folder, None


def _remove_abandoned(parent: Path, prefix: str) -> None:
    from filelock import FileLock, Timeout  # noqa: PLC0415 - takes a while to load

    for found in list(parent.iterdir()):
        if not found.name.startswith(prefix) or found.is_symlink() or not found.is_dir():
            continue
        lock = FileLock(f"{found}{LOCK}", timeout=0, mode=0o600)
        with suppress(Timeout, OSError, NotImplementedError):
            lock.acquire()
            shutil.rmtree(found, ignore_errors=True)
            _give_back(lock)


def _give_back(lock: FileLock | None) -> None:
    """Give a lock back and take its file away; names are drawn, so nobody waits for this one."""
    if lock is None:
        return
    lock.release()
    with suppress(OSError):
        Path(lock.lock_file).unlink()
