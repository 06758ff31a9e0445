"""The list of commands, and the application made of them.

A command line names one command, so only that one is loaded; the list of all of them is kept here.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = """
A first session:

  sfumato example clinic/                      make data to play with
  sfumato inspect clinic/patients.csv -o suggested.yaml
  sfumato anonymize clinic/patients.csv -s clinic/patients.yaml -k 5 -o out/
  sfumato verify out/release.csv -s clinic/patients.yaml -k 5
"""

COMMANDS = {
    "inspect": "Look at a data set and suggest its schema: what each column is, and why.",
    "compare": "Compare algorithms, k and suppression in one table; nothing is released.",
    "anonymize": "Anonymise a file: a release, a proof that the promise holds, and a report.",
    "verify": "Check a released file against its promise; exit code 1 when it is broken.",
    "loss": "Measure what a released table lost, by any tool: LM, MD, classes, query error.",
    "apply": "Apply a saved policy to the next batch and check its promise again.",
    "overlap": (
        "Warn when two releases of overlapping data break the promise together; exit code 1 then."
    ),
    "attack": (
        "Attack a release as an adversary would, and say what would have stopped each attack."
    ),
    "audit": (
        "Look for a proof that a function is less private than it claims; exit code 1 if found."
    ),
    "ask": "Answer a question with noise that hides every person, and charge the dataset's budget.",
    "histogram": (
        "Count the rows in public bins, empty ones too, with noise that hides every person."
    ),
    "kmeans": "Publish the centres and sizes of clusters, with noise that hides every person.",
    "topk": "Publish the most frequent values of a column; a person counts once for each value.",
    "synthesize": (
        "Make a synthetic copy of a table: rows of nobody that follow noisy counts of the real "
        "ones."
    ),
    "train": "Learn a model from private rows that may be published, and write its card.",
    "cloak": "Replace the places of users by boxes that at least k of them share.",
    "hierarchy": (
        "Build a hierarchy over the values of a column: which coarser value may stand for which."
    ),
    "explain": (
        "Explain a mechanism or protocol: its promise in plain words, its error, and two pictures."
    ),
    "example": "Write made-up patients with their schema and hierarchies.",
    "certificate": (
        "Certify a release: the file's digest, the promise, and a proof that the ledger holds it."
    ),
    "serve": (
        "Serve datasets: questions under a budget, releases, surveys, people's rights, openness."
    ),
    "ledger": (
        "Show, verify, export and amend the ledger: who asked what, for what purpose, at what cost."
    ),
    "subject": (
        "Answer a person: what is held about her and where it went, a correction, to be forgotten."
    ),
    "local": "Ask people who trust nobody: their devices disguise the answers (local DP).",
}
"""In the order of the help, with what it says of each: the first paragraph of its own help.

Each is a function, or a group `app`, in the module of its name."""

OVERVIEW = frozenset({"-h", "--help", "--version", "--show-completion", "--install-completion"})
"""First words of a line that names no command, and needs no more than the list of them."""

COMPLETION = "_SFUMATO_COMPLETE"
"""What a shell sets when it asks for words to complete a line with."""

SHAPED = ("anonymize", "verify", "attack", "synthesize")
"""Commands that data of any shape have, with options of that shape."""


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Return the application for a command line: with its command alone if it begins with one.

    Where the line asks for the list of commands, they are named and none of them is loaded.
    """
    app = typer.Typer(
        name="sfumato",
        help="Release data about people without exposing any of them.",
        epilog=EXAMPLES.strip().replace("\n", "\n\n"),
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    arguments = _completed() or arguments
    first = arguments[0] if arguments else ""
    if list(arguments[:2]) == ["attack", "model"]:  # a folder of that name is written ./model
        app.add_typer(import_module("sfumato.cli.attack").models)
        return app
    if first in OVERVIEW:
        for name, summary in COMMANDS.items():
            app.command(name, help=summary, short_help=summary)(_named)
        return app
    shape = _shape_in(arguments)
    for name in (first,) if first in COMMANDS else COMMANDS:
        module = import_module(f"sfumato.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app)
        elif shape is not None and name in SHAPED:
            app.command(name)(import_module("sfumato.cli.options.shaped").for_shape(name, shape))
        else:
            app.command()(getattr(module, name))
    return app


def _completed() -> list[str]:
    """Return the line that a shell wants completed, without the program's name."""
    if COMPLETION not in os.environ:
        return []
    written = os.environ.get("_TYPER_COMPLETE_ARGS", os.environ.get("COMP_WORDS", ""))
    return written.split()[1:] or ["--help"]


def _shape_in(arguments: Sequence[str]) -> str | None:
    """Return the shape that a command line names; None for a table, whose options are the usual."""
    named = [*arguments, ""]
    for place, word in enumerate(arguments):
        flag, mark, value = word.partition("=")
        if flag == "--shape":
            chosen = value if mark else named[place + 1]
            return None if chosen in {"", "table"} else chosen
    return None


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


def _named() -> None:
    """Stand for a command that is listed and not run."""


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    # Both are taken out of a line before it comes here: they may stand after the command, too.
    json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object, of the same shape for every command."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Release data about people without exposing any of them."""
