"""Files that appear whole or not at all.

Contract: a text is written to a temporary file in the folder of its destination and then
renamed over it, so that a reader never sees half a file and a failure leaves the old one.
"""

from __future__ import annotations

import os
import tempfile
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
