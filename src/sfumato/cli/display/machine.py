"""What a command says to a program: one JSON object on standard output, of one shape.

    {"command": "verify", "exit_code": 0, "ok": true, "result": …, "tables": [{"title": …,
     "rows": [{column: cell}]}], "lines": […], "notes": […], "error": null}

`result` holds plain values where a command has them (numbers stay numbers) and null elsewhere;
`tables` and `lines` are what a person would have read. `--json` asks for it, before the command or
after it; `sfumato local perturb --json` alone means the form of its reports, and takes ours before.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

FLAG = "--json"
QUIET = frozenset({"-q", "--quiet"})
OWN_QUIET = frozenset(
    {"anonymize", "apply", "attack", "audit", "cloak", "compare", "local", "synthesize", "verify"}
)
"""Commands that know silence themselves, and show no progress then; in `local`, -q asks."""

WIDE = 10_000
"""Columns of a terminal that breaks no line."""


@dataclass
class Said:
    """What a command has said so far."""

    result: Any = None
    tables: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str | None = None

    def table(self, title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Keep a table, its cells as they were shown."""
        names = [name or "mark" for name in header]
        lines = [dict(zip(names, map(str, row), strict=True)) for row in rows]
        self.tables.append({"title": title, "rows": lines})

    def whole(self, command: str, code: int, text: str) -> str:
        """Return the one object; a text that is JSON itself is the result."""
        result, lines = self.result, [line.rstrip() for line in text.splitlines() if line.strip()]
        if result is None and text.lstrip()[:1] in {"{", "["}:
            with suppress(ValueError):
                result, lines = json.loads(text), []
        told = {
            "command": command,
            "exit_code": code,
            "ok": code == 0,
            "result": result,
            "tables": self.tables,
            "lines": lines,
            "notes": self.notes,
            "error": self.error,
        }
        return json.dumps(told, ensure_ascii=False, indent=1, default=str) + "\n"


class _Listening:
    """Who listens: a program, whose `said` is kept, or a person."""

    said: Said | None = None


listening = _Listening()


def split_flags(arguments: Sequence[str]) -> tuple[bool, bool, list[str]]:
    """Tell whether JSON and whether silence is wanted of any command, and what remains."""
    words = list(arguments)
    silent = False
    asked = False
    while words and (words[0] == FLAG or words[0] in QUIET):
        flag = words.pop(0)
        asked, silent = asked or flag == FLAG, silent or flag in QUIET
    own = words[:2] == ["local", "perturb"]
    if not own and FLAG in words:
        words = [word for word in words if word != FLAG]
        asked = True
    if words and words[0] not in OWN_QUIET and QUIET.intersection(words):
        words = [word for word in words if word not in QUIET]
        silent = True
    return asked, silent, words


@contextmanager
def captured(out: Console) -> Iterator[tuple[Said, io.StringIO]]:
    """Keep what is said on standard output, for as long as the block lasts."""
    before, width = listening.said, out._width  # noqa: SLF001 - what was set, not what was found
    said, text = Said(), io.StringIO()
    listening.said, out.width = said, WIDE
    try:
        with redirect_stdout(text):
            yield said, text
    finally:
        listening.said, out._width = before, width  # noqa: SLF001 - as above


def write(text: str) -> None:
    """Hand the object over."""
    sys.stdout.write(text)
