"""Commands of one kind under one word, such as `sfumato ledger show`; their list is not cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable


class Group(typer.Typer):
    """A group of commands; its list says of each the first paragraph of its help, whole."""

    def __init__(self, name: str, summary: str) -> None:
        super().__init__(
            name=name,
            help=summary,
            no_args_is_help=True,
            rich_markup_mode=None,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Add a command, with its whole first paragraph in the list."""

        def add(function: Any) -> Any:
            said = " ".join((function.__doc__ or "").strip().partition("\n\n")[0].split())
            return typer.Typer.command(self, name, short_help=said, **options)(function)

        return add
