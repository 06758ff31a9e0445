"""The page about proofs names modules and tests; each of them must exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "explanation" / "proofs.md").read_text(encoding="utf-8")


def test_every_test_that_is_named_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)
    assert len(named) > 25
    for file, test in named:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {test}\(", source, re.MULTILINE), (file, test)


def test_every_module_that_is_named_exists_and_has_a_proof_to_read():
    folder = None
    rows = 0
    for line in TEXT.splitlines():
        told = re.search(r"proof in `(src/[\w/]+/)`", line)
        if told:
            folder = ROOT / told[1]
        elif folder and line.startswith("| ") and "---" not in line:
            modules = re.findall(r"`([a-z_/]+\.py)`", line.split("|")[3])
            assert modules, line
            for module in modules:
                source = (folder / module).read_text(encoding="utf-8")
                assert len(source.split('"""')[1]) > 200, module
            for part in re.findall(r"\*([^*]+)\*", line.split("|")[3]):
                assert f"*{part}" in (folder / modules[0]).read_text(encoding="utf-8"), part
            rows += 1
    assert rows > 15
