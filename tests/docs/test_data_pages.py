"""The pages about schemas and hierarchies: their YAML is valid, and nothing is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.data.hierarchies.rule_table import RULES, find_rule
from sfumato.data.schema import Attribute

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE
    )


@pytest.mark.parametrize("page", ["how-to/hierarchies.md", "reference/schema.md"])
def test_schemas_shown_are_valid(page, tmp_path):
    (tmp_path / "job.csv").write_text("nurse;*\n")
    shown = [block for block in blocks(page, "yaml") if "attributes:" in block]
    assert shown
    for block in shown:
        (tmp_path / "s.yaml").write_text(block)
        schema = sf.Schema.read(tmp_path / "s.yaml")
        assert "job" in schema.quasi_names


def test_trees_shown_are_valid(tmp_path):
    (tmp_path / "t.yaml").write_text(blocks("reference/hierarchy-files.md", "yaml")[0])
    assert sf.Hierarchy.read(tmp_path / "t.yaml").size == 8


def test_every_rule_option_and_key_is_documented():
    page = (DOCS / "reference/schema.md").read_text()
    for name in RULES:
        kind = find_rule(name)
        line = next(line for line in page.splitlines() if line.startswith(f"| `{name}` "))
        for option in kind.model_fields:
            assert f"`{option}`" in line, (name, option)
    for name, field in Attribute.model_fields.items():
        assert f"| `{field.validation_alias or name}` |" in page
