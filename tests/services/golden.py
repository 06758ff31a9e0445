"""Texts that may not change unseen: a file of expected ones, and a short diff where one differs.

A file of texts has sections, each a line ``=== name`` and the lines of its text. `pytest --renew`
(without -n) writes the files anew from what the code says now; what has changed in them is read
as a change of what people get, and committed on purpose.
"""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "=== "
SHOWN = 30
"""Lines of a diff that a failure shows."""

renewing = False
"""Whether `--renew` was given."""


def read(file: Path) -> dict[str, str]:
    """Give the texts of a file by name."""
    texts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in file.read_text(encoding="utf-8").split("\n") if file.exists() else ():
        if line.startswith(HEAD):
            lines = texts.setdefault(line.removeprefix(HEAD), [])
        else:
            lines.append(line)
    return {name: "\n".join(lines).rstrip("\n") for name, lines in texts.items()}


def keep(file: Path, names: set[str]) -> None:
    """Leave in a file only the texts of these names."""
    write(file, {name: text for name, text in read(file).items() if name in names})


def write(file: Path, whole: dict[str, str]) -> None:
    """Write all texts of a file, in the order of their names."""
    parts = [f"{HEAD}{name}\n{whole[name]}\n" for name in sorted(whole)]
    file.write_text("\n".join(parts), encoding="utf-8", newline="\n")


def plain(text: str) -> str:
    """Say a text in lines of the file: ends of lines that are not plain are spelled out."""
    lines = text.replace("\r\n", "␍\n").split("\n")
    return "\n".join(f" {x}" if x.startswith(HEAD) else x for x in lines).rstrip("\n")


def as_json(value: object) -> str:
    """Spell a value of lists and mappings, with the order of keys kept."""
    return json.dumps(value, indent=1, ensure_ascii=False, default=str)


def check(file: Path, texts: dict[str, str]) -> None:
    """Compare texts with those of the same names in the file, or renew them there."""
    texts = {name: plain(text) for name, text in texts.items()}
    if renewing:
        write(file, read(file) | texts)
        return
    expected = read(file)
    changed = [name for name, text in texts.items() if expected.get(name) != text]
    if changed:
        told = "\n\n".join(_difference(name, expected.get(name), texts[name]) for name in changed)
        pytest.fail(
            f"{len(changed)} of {len(texts)} outputs are not as {file.name} has them: "
            f"{', '.join(changed)}\nIf that is meant, write them anew by pytest --renew.\n\n{told}",
            pytrace=False,
        )


def _difference(name: str, before: str | None, now: str) -> str:
    """Show the first lines of what differs."""
    if before is None:
        return f"{name}: is not in the file"
    lines = list(difflib.unified_diff(
        before.split("\n"), now.split("\n"), f"{name} (expected)", f"{name} (now)", "", "", 1, ""
    ))  # fmt: skip
    more = [f"… and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
    return "\n".join([line[:300] for line in lines[:SHOWN]] + more)
