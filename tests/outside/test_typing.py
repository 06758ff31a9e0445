"""Type checkers find a user's slips and nothing else: mypy --strict and pyright on two scripts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

TYPED = Path(__file__).parent / "typed"
HOUSE = Path(__file__).parents[2]


def planted():
    """Return the lines that are marked as slips."""
    lines = (TYPED / "wrong.py").read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# slip")}


@cache
def find_by_mypy():
    """Return what mypy finds, by file and line."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(TYPED)]
    done = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=False)
    found = re.findall(r"typed/(\w+)\.py:(\d+): error: (.*)", done.stdout)
    return [(name, int(line), text) for name, line, text in found], done


@cache
def find_by_pyright():
    """Return what pyright finds, by file and line."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, str(TYPED)], cwd=TYPED, capture_output=True, text=True, check=False
    )
    return [
        (Path(entry["file"]).stem, entry["range"]["start"]["line"] + 1, entry["message"])
        for entry in json.loads(done.stdout)["generalDiagnostics"]
        if entry["severity"] == "error"
    ], done


@pytest.fixture(scope="module", params=[find_by_mypy, find_by_pyright])
def findings(request):
    if request.param is find_by_pyright:
        pytest.importorskip("pyright")
        if shutil.which("node") is None:
            pytest.skip("pyright needs Node.js, which is not on this machine")
    return request.param()


@pytest.mark.slow("starts two type checkers")
def test_what_is_right_is_left_alone(findings):
    found, done = findings
    assert not [entry for entry in found if entry[0] == "right"], done.stdout + done.stderr


def test_every_slip_is_found_and_nothing_else(findings):
    found, done = findings
    assert {line for name, line, _ in found if name == "wrong"} == planted(), done.stdout


def test_mypy_says_what_was_meant():
    found, _ = find_by_mypy()
    said = " ".join(text for _, _, text in found)
    for meant in ("suppression", "delimiter", "epsilon"):
        assert f'did you mean "{meant}"?' in said
