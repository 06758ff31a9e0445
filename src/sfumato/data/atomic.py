"""Files that appear whole or not at all, and folders that do not outlive their process.

Contract: a text is written to a temporary file in the folder of its destination and then
renamed over it, so that a reader never sees half a file and a failure leaves the old one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from functools import cache
from pathlib import Path

from sfumato.errors import DataError, OutputError


def write_text_atomically(
    path: str | Path, text: str, *, replace: bool = True, private: bool = False
) -> None:
    """Write `text` as UTF-8; with `replace=False` an existing file is an error.

    A `private` file is never readable by other users, not for a moment.
    """
    target = Path(path)
    if not replace:
        refuse_existing(target, "replace")
    try:
        _write_and_rename(target, text, private=private)
    except OSError as error:
        raise OutputError(
            f"{target} cannot be written ({error.strerror}); choose a folder that exists and "
            "may be written to."
        ) from None


def refuse_existing(path: Path, option: str) -> None:
    """Raise where the file exists, naming the option that would replace it."""
    if path.exists():
        raise DataError(
            f"{path} exists already and is left as it is; choose another name, or use {option} "
            "to replace it."
        )


def _write_and_rename(target: Path, text: str, *, private: bool) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if not private:
            _allow_as_usual(Path(name))
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _allow_as_usual(path: Path) -> None:
    """Give the permissions a plain `open` would have given: mkstemp keeps others out."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


_PREFIX, _OWNER = "sfumato-", "owner"


class PrivateFolder:
    """A folder that only this user can read and that goes with the process, however that ends.

    A file in it is locked while the process lives. One that was killed leaves rows behind; the next
    that makes a folder finds the lock free and erases them.
    """

    def __init__(self) -> None:
        _erase_abandoned()
        self._held: int | None = None
        while True:
            self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
            self._held = _locked(Path(self._folder.name) / _OWNER, wait=True)
            if Path(self._folder.name).is_dir():  # nobody took it for an abandoned one meanwhile
                break
        self.name = self._folder.name
        self._end = weakref.finalize(self, _let_go, self._folder, self._held)

    def cleanup(self) -> None:
        """Erase the folder."""
        self._end()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.cleanup()


def _let_go(folder: tempfile.TemporaryDirectory[str], held: int | None) -> None:
    folder.cleanup()
    if held is not None:
        os.close(held)


def _locked(file: Path, *, wait: bool) -> int | None:
    """Lock a file until it is closed; None where that is not possible, or another has it."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return None
    held = None
    try:
        held = os.open(file, os.O_RDWR | (os.O_CREAT if wait else 0), 0o600)
        fcntl.flock(held, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if held is not None:
            os.close(held)
        return None
    return held


@cache
def _erase_abandoned() -> None:
    """Erase, once in a process, folders of processes of this user that ended without doing so."""
    for owner in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_OWNER}"):
        try:
            is_ours = not owner.is_symlink() and owner.parent.stat().st_uid == os.getuid()
        except (OSError, AttributeError):
            continue
        held = _locked(owner, wait=False) if is_ours and not owner.parent.is_symlink() else None
        if held is not None:
            shutil.rmtree(owner.parent, ignore_errors=True)
            os.close(held)
