"""A kept template must never differ from a compiled one, nor be needed."""

from __future__ import annotations

import sys

import pytest
from jinja2 import Environment

from sfumato.report import page_templates


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(page_templates, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return tmp_path


def page(**facts):
    return page_templates.page_template("page.html", twice=lambda x: 2 * x).render(facts)


def kept(folder):
    return list(folder.glob("__pycache__/*"))


def test_a_kept_template_is_used_and_follows_its_text(folder, monkeypatch):
    (folder / "page.html").write_text("{{ twice(n) }} & {{ who }}")
    assert page(n=3, who="<b>") == "6 & &lt;b&gt;"
    assert len(kept(folder)) == 1
    with monkeypatch.context() as without:
        without.setattr(Environment, "_generate", None)  # what compiles
        assert page(n=4, who="") == "8 & "
    (folder / "page.html").write_text("now {{ n }}")
    assert page(n=5) == "now 5"
    assert len(kept(folder)) == 1


def test_damaged_bytecode_is_ignored(folder):
    (folder / "page.html").write_text("{{ n }}")
    assert page(n=1) == "1"
    [file] = kept(folder)
    whole = file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"x" + whole):
        file.write_bytes(damaged)
        assert page(n=2) == "2"


def test_nothing_is_kept_where_python_keeps_nothing(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (folder / "page.html").write_text("{{ n }}")
    assert page(n=1) == "1"
    assert kept(folder) == []


def test_a_place_that_cannot_be_written_is_no_obstacle(folder):
    (folder / "__pycache__").write_text("in the way")
    (folder / "page.html").write_text("{{ n }}")
    assert page(n=1) == "1"
    assert page(n=2) == "2"


def test_a_process_compiles_a_template_once():
    first = page_templates.page_template("evidence.html", some=len)
    assert page_templates.page_template("evidence.html", some=len) is first
    assert page_templates.page_template("evidence.html", some=max) is not first
