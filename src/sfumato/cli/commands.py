"""The list of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato import __version__
from sfumato.cli import EXAMPLES
from sfumato.cli.anonymize import anonymize
from sfumato.cli.apply import apply
from sfumato.cli.attack import attack
from sfumato.cli.audit import audit
from sfumato.cli.example import example
from sfumato.cli.explain import explain
from sfumato.cli.hierarchy import hierarchy
from sfumato.cli.inspect import inspect
from sfumato.cli.local import app as local
from sfumato.cli.overlap import overlap
from sfumato.cli.verify import verify

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


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Release data about people without exposing any of them."""


for command in (
    inspect,
    anonymize,
    verify,
    apply,
    overlap,
    attack,
    audit,
    hierarchy,
    explain,
    example,
):
    app.command()(command)

app.add_typer(local)
