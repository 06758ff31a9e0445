"""The threat model names the tests that hold it; each of them must exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "threat-model.md"


def test_every_test_that_is_named_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 25
    gone = [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / file).is_file()
        or not re.search(rf"^def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert not gone


def test_every_line_of_the_table_names_a_test():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [
        line
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("|") and line.strip("|- ") and not below.startswith("|---")
    ]
    assert len(rows) > 100
    assert all("::test_" in row for row in rows)
