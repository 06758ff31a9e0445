"""The reference cannot fall behind: an undocumented command or option fails here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from sfumato.cli.commands import application

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/command-line.md").read_text("utf-8")
COMMANDS = typer.main.get_command(application()).commands


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_in_the_reference(name):
    section = re.search(rf"^## `sfumato {name}`$(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert section, f"docs/reference/command-line.md has no section on {name}"
    command = COMMANDS[name]
    for parameter in getattr(command, "params", []):
        for option in [*parameter.opts, *parameter.secondary_opts]:
            assert option in section[1], f"{option} of {name} is not in the reference"


def test_help_teaches_by_example():
    for name, command in COMMANDS.items():
        if not hasattr(command, "commands"):
            assert "Example" in (command.help or ""), f"sfumato {name} --help shows no example"
