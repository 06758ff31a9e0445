"""The list of commands, and the application made of them.

A command line names one command, so only that one is loaded; the help needs all of them.
"""

from __future__ import annotations

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

COMMANDS = (
    "inspect",
    "anonymize",
    "verify",
    "apply",
    "overlap",
    "attack",
    "audit",
    "ask",
    "histogram",
    "kmeans",
    "topk",
    "synthesize",
    "train",
    "cloak",
    "hierarchy",
    "explain",
    "example",
    "ledger",
    "certificate",
    "local",
    "serve",
)
"""In the order of the help; each is a function, or a group `app`, in the module of its name."""

SHAPED = ("anonymize", "verify", "attack", "synthesize")
"""Commands that data of any shape have, with options of that shape."""


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Return the application for a command line: with its command alone if it begins with one."""
    app = typer.Typer(
        name="sfumato",
        help="Release data about people without exposing any of them.",
        epilog=EXAMPLES.strip().replace("\n", "\n\n"),
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    first = arguments[0] if arguments else ""
    if list(arguments[:2]) == ["attack", "model"]:  # a folder of that name is written ./model
        app.add_typer(import_module("sfumato.cli.attack").models)
        return app
    shape = _shape_in(arguments)
    for name in (first,) if first in COMMANDS else COMMANDS:
        module = import_module(f"sfumato.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app)
        elif shape is not None and name in SHAPED:
            app.command(name)(import_module("sfumato.cli.shaped").for_shape(name, shape))
        else:
            app.command()(getattr(module, name))
    return app


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


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Release data about people without exposing any of them."""
