"""Examples in docstrings are executed, and the public names of the package have some."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import sfumato as sf

SOURCE = Path(sf.__file__).parent
WITH = sorted(
    ".".join(("sfumato", *file.relative_to(SOURCE).with_suffix("").parts))
    for file in SOURCE.rglob("*.py")
    if ">>> " in file.read_text(encoding="utf-8") and file.name != "__init__.py"
)


@pytest.mark.parametrize("name", WITH)
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted
    assert not found.failed


SHOWN_ELSEWHERE = {
    "errors": {"BudgetExceeded", "SfumatoError"},
    "docs/how-to/own-definition.md": {"Definition"},
    "docs/how-to/own-shape.md": {"Shape", "register_shape"},
}
"""Public names without an example of their own, and where they are shown."""


def test_most_public_names_have_an_example():
    elsewhere = set().union(*SHOWN_ELSEWHERE.values())
    names = {name for name in sf.__all__ if callable(getattr(sf, name))} - elsewhere
    shown = {name for name in names if ">>> " in (getattr(sf, name).__doc__ or "")}
    assert 2 * len(shown) >= len(names), f"without an example: {sorted(names - shown)}"
