"""Every Python and shell example in the README and the docs runs as written.

Blocks fenced as `python` run one after the other in one namespace per page; blocks fenced as
`console` run their `$ sfumato …` lines. A page runs in an empty folder, after the files
that the tutorial's first step makes. A block fenced as `python no-run` or `text` is not run.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from sfumato import examples
from sfumato.cli import run

ROOT = Path(__file__).resolve().parents[2]
MADE = ROOT / "docs" / "names"  # by `make docs`, from docstrings
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent != MADE),
]
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page):
    return [(m[1].strip(), m[2]) for m in BLOCK.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples.patients(2_000, 1).write(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    for number, (language, code) in enumerate(blocks(page), start=1):
        if language == "python":
            exec(compile(code, f"{page.name}, block {number}", "exec", dont_inherit=True), names)
        elif language == "console":
            run_console(code)
    assert Path.cwd() == tmp_path


def run_console(code):
    for line in code.replace("\\\n", " ").splitlines():
        if line.startswith("$ sfumato "):
            arguments = shlex.split(
                os.path.expandvars(line.removeprefix("$ sfumato ")), comments=True
            )
            assert run(arguments) == 0, line


def test_links_between_pages_lead_somewhere():
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken += [f"{page.relative_to(ROOT)} → {target}"]
    assert not broken


def test_an_index_lists_every_page():
    docs = ROOT / "docs"
    pages = {page for page in docs.rglob("*.md") if page.parent != MADE}
    listed = {
        (index.parent / target).resolve()
        for index in [page for page in pages if page.name == "index.md"]
        for target in re.findall(r"\]\(([^)#\s]+)\)", index.read_text(encoding="utf-8"))
    }
    assert {str(page.relative_to(docs)) for page in pages - listed} == {"index.md"}
