"""The list of commands says of each what its own help says, though it loads none of them."""

from __future__ import annotations

import os
import subprocess
import sys

import typer

from sfumato.cli.commands import COMMANDS, application


def first_paragraph(command):
    return " ".join(command.help.partition("\n\n")[0].split())


def test_the_list_says_what_each_command_says():
    whole = typer.main.get_command(application()).commands
    assert {name: first_paragraph(command) for name, command in whole.items()} == COMMANDS
    assert list(whole) == list(COMMANDS)


def test_the_list_is_shown_without_loading_a_command():
    listed = typer.main.get_command(application(["--help"])).commands
    assert list(listed) == list(COMMANDS)
    code = (
        "import sys; from sfumato.cli import run; run(['--help']);"
        "print({'numpy', 'pydantic', 'duckdb', 'sfumato.cli.anonymize'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
    assert "anonymize" in done.stdout


def test_an_empty_line_shows_the_same_list():
    empty, asked = (
        subprocess.run(
            [sys.executable, "-m", "sfumato", *line], capture_output=True, text=True, check=False
        )
        for line in ([], ["--help"])
    )
    assert (empty.stdout or empty.stderr).split() == asked.stdout.split()


def test_options_of_promises_are_told_without_numpy():
    """Every definition is read for its option, and none computes anything yet."""
    code = (
        "import sys; from sfumato.cli import run; run(['anonymize', '--help']);"
        "print({'numpy', 'duckdb'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
    assert "--k-map" in done.stdout or "-k" in done.stdout


def test_a_shell_can_complete_commands_and_options():
    def completed(line, word):
        asked = {"_SFUMATO_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(word)}
        return subprocess.run(
            [sys.executable, "-c", "from sfumato.cli import main; main()"],
            env={**os.environ, **asked}, capture_output=True, text=True, check=False,
        ).stdout.split()  # fmt: skip

    assert completed("sfumato anon", 1) == ["anonymize"]
    assert "--suppression" in completed("sfumato anonymize --sup", 2)
