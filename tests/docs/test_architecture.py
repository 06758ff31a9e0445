"""What ARCHITECTURE.md and CONTRIBUTING.md name is there, and the journeys stay short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sfumato"
NAME = re.compile(r"`([\w./-]+)`")
JOURNEYS = {"A table from CSV": 45, "A SQL text": 60, "A function to a verdict": 25}
"""The journeys, and how many modules each passed before."""


def named(line):
    """Yield what a line names that looks like a file or folder, with where it may be.

    A name without a folder is in the folder of the one before it on its line.
    """
    folder = None
    for name in NAME.findall(line):
        if not re.search(r"/|\.(py|md|yaml)$", name):
            continue
        places = [ROOT / name, SOURCE / name] + ([folder / name] if folder else [])
        found = next((place for place in places if place.exists()), None)
        if found is None and "/" in name:  # the end of a path, in running text
            found = next(iter(SOURCE.rglob(name.rstrip("/"))), None)
        if found is not None and found.name.endswith(".py"):
            folder = found.parent
        elif found is not None and found.is_dir():
            folder = found
        yield name, found


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    missing, seen = [], 0
    for line in text.splitlines():
        for name, found in named(line):
            seen += 1
            if found is None and not re.fullmatch(r"(policy|schema)\.yaml|\.\./.*|\.ci/run", name):
                missing.append(name)
    assert seen > 5
    assert not missing, f"{page} names what is not there: {missing}"


@pytest.mark.parametrize("title", JOURNEYS)
def test_a_journey_is_shorter_than_it_was(title):
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    body = text.split(f"**{title}", 1)[1].split("\n\n", 2)[1]
    steps = [line for line in body.splitlines() if re.match(r"\d+\. ", line)]
    assert [int(line.split(".")[0]) for line in steps] == list(range(1, len(steps) + 1))
    modules = [name for line in body.splitlines() for name, _ in named(line) if ".py" in name]
    assert len(steps) <= len(modules) < JOURNEYS[title]
