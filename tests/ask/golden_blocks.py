"""The golden pairs in the folder beside: a question, and what is expected of it."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "golden"


def blocks():
    for file in sorted(FOLDER.glob("*.sql")):
        for block in file.read_text(encoding="utf-8").split("\n\n"):
            question, *expected = block.strip("\n").split("\n")
            yield pytest.param(question, [line[2:] for line in expected], id=question[:60])
