"""Hierarchies as files: the leaf-to-root CSV that ARX uses, and nested YAML trees.

Contract: reading finds the delimiter, accepts UTF-8 with or without a byte-order mark and
quoted cells, and checks that the file is a tree; messages name file and row. A schema may say
where the files that it names may lie (`Reach`). Writing appears whole or not at all and reads back
as it was.
"""

from __future__ import annotations

import csv
import io
import os
import stat
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from sfumato.data.atomic import write_text_atomically
from sfumato.data.hierarchies.nested_trees import rows_of_tree, tree_of_rows
from sfumato.data.yaml_files import dump_yaml, parse_yaml
from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[str, ...]

Reach = Literal["anywhere", "beneath", "nowhere"]
"""Where a file lies that a schema names: where its author may read anyway, beneath the folder of
the schema (of a server, whose authors are others), or nowhere: the schema holds all itself."""

MOST_BENEATH = 64 << 20
"""Bytes of a file beneath a folder."""

YAML_ENDINGS = (".yaml", ".yml")
ENDINGS = (".csv", ".tsv", ".txt", *YAML_ENDINGS)
DELIMITERS = (";", "\t", "|", ",")
"""In the order of trust: a comma may stand inside a label such as `[30,40)`."""


def read_rows(
    path: Path, *, root: str, delimiter: str | None = None, beneath: Path | None = None
) -> Sequence[Sequence[str]]:
    """Read the rows `leaf, …, root` of a file; a nested tree with several tops gets a `root`.

    `beneath` is a folder that the file has to lie in, however it is named.
    """
    text = _text(path, beneath)
    if path.suffix.lower() in YAML_ENDINGS:
        tree = parse_yaml(text, HierarchyError, f"Hierarchy {path}")
        return rows_of_tree(tree, root=root, source=str(path))
    rows = _rows(text, delimiter, path) if delimiter else _sniffed(text, path)
    if rows and len(rows[0]) < 2:
        raise HierarchyError(
            f"Hierarchy {path}, row 1: there is one level; a row goes from a value to the root, as "
            "in 'flu;*'."
        )
    return rows


def _text(path: Path, beneath: Path | None) -> str:
    try:
        content = path.read_bytes() if beneath is None else _bytes_beneath(path, beneath)
        return content.decode("utf-8-sig")
    except OSError as error:
        raise HierarchyError(f"Hierarchy {path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise HierarchyError(
            f"Hierarchy {path} is not UTF-8 text; save it in that encoding."
        ) from None


def _bytes_beneath(path: Path, folder: Path) -> bytes:
    """Read a regular file beneath a folder, opened step by step from there.

    What is opened is what is looked at: no link is followed on the way, nothing is waited for, and
    a device or pipe is refused. Whether a path elsewhere is there is not told.
    """
    usual = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        *folders, last = PurePath(os.path.relpath(path, folder)).parts
        if ".." in (*folders, last):
            raise _outside(path)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for step, kind in (*((name, os.O_DIRECTORY) for name in folders), (last, 0)):
            try:
                found = os.open(step, usual | kind, dir_fd=held)
            finally:
                os.close(held)
            held = found
        with os.fdopen(held, "rb") as file:
            is_file = stat.S_ISREG(os.fstat(held).st_mode)
            if not is_file or os.fstat(held).st_size > MOST_BENEATH:
                raise _outside(path)
            return file.read(MOST_BENEATH)
    except (OSError, ValueError):
        raise _outside(path) from None


def _outside(path: Path) -> HierarchyError:
    return HierarchyError(
        f"The hierarchy file {path.name} is no file of at most {MOST_BENEATH >> 20} MiB beneath "
        "the folder of its schema; links are not followed."
    )


def _sniffed(text: str, path: Path) -> list[list[str]]:
    """Return the rows by the first delimiter that gives every row the same two or more cells."""
    for delimiter in DELIMITERS:
        rows = _rows(text, delimiter, path)
        widths = {len(row) for row in rows}
        if len(widths) == 1 and min(widths) > 1:
            return rows
    first = text.partition("\n")[0]
    likely = max(DELIMITERS, key=first.count)
    return _rows(text, likely, path)


def _rows(text: str, delimiter: str, path: Path) -> list[list[str]]:
    if len(delimiter) != 1:
        raise HierarchyError(f"A delimiter must be one character, but {delimiter!r} was given.")
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
    except csv.Error as error:
        raise HierarchyError(f"Hierarchy {path} cannot be read as CSV ({error}).") from None
    while rows and all(len(row) > 1 and row[-1] == "" for row in rows):
        rows = [row[:-1] for row in rows]  # a delimiter at the end of every line
    return rows


def write_rows(rows: Sequence[Row], path: str | Path, *, delimiter: str = ";") -> None:
    """Write the CSV, or the nested tree where the file ends in .yaml or .yml."""
    write_text_atomically(path, text_of_rows(rows, Path(path).suffix, delimiter=delimiter))


def text_of_rows(rows: Sequence[Row], ending: str = ".csv", *, delimiter: str = ";") -> str:
    """Return the content of a hierarchy file with this ending."""
    if ending.lower() in YAML_ENDINGS:
        tree = tree_of_rows(rows)
        if tree is None:
            raise HierarchyError(
                "This hierarchy lists its leaves in an order that a nested tree cannot say; write "
                "it to a .csv file instead."
            )
        return dump_yaml(tree)
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
