"""The options that state a promise, given to every command that takes one.

`@takes_promise` puts them in the place of the command's parameter `promise`, which receives
them as one definition, or None where nothing was stated.
"""

from __future__ import annotations

from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options.promises import K_HELP, L_HELP, T_HELP, promise_from

if TYPE_CHECKING:
    from collections.abc import Callable

_SEVERAL, _WHOLE, _TEXT = list[str] | None, int | None, str | None
_OPTIONS: dict[str, Any] = {
    "k": Annotated[_SEVERAL, typer.Option("-k", "--k", metavar="K", help=K_HELP)],
    "diversity": Annotated[_SEVERAL, typer.Option("-l", "--l", metavar="L:ATTR", help=L_HELP)],
    "closeness": Annotated[_SEVERAL, typer.Option("-t", "--t", metavar="T:ATTR", help=T_HELP)],
    "likeness": Annotated[
        _SEVERAL,
        typer.Option("--beta", metavar="B:ATTR", help="β-likeness of a sensitive attribute."),
    ],
    "disclosure": Annotated[
        _SEVERAL,
        typer.Option(
            "--delta-disclosure", metavar="D:ATTR", help="δ-disclosure of a sensitive attribute."
        ),
    ],
    "k_map": Annotated[
        _WHOLE,
        typer.Option(
            "--k-map", help="k-map: every class fits at least k people of the population."
        ),
    ],
    "presence": Annotated[
        _TEXT,
        typer.Option(
            "--presence",
            metavar="LOW,HIGH",
            help="δ-presence: the share of the population of a class that is in the data.",
        ),
    ],
    "own": Annotated[
        _SEVERAL,
        typer.Option(
            "--definition",
            metavar="MODULE:NAME",
            help="Your own definition, an object in a Python module; may be repeated.",
        ),
    ],
}
"""By the parameter of `promise_from` that each of them is."""


def takes_promise(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `promise` of a command by the options that state one."""

    @wraps(command)
    def stated(**given: Any) -> None:
        parts = {name: given.pop(name) for name in _OPTIONS}
        command(promise=promise_from(**parts), **given)

    shown: list[Parameter] = []
    plain = signature(command, eval_str=True)
    for parameter in plain.parameters.values():
        if parameter.name != "promise":
            shown.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        shown += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=option)
            for name, option in _OPTIONS.items()
        ]
    stated.__signature__ = plain.replace(parameters=shown)  # type: ignore[attr-defined]
    stated.__annotations__ = {p.name: p.annotation for p in shown}
    return stated
