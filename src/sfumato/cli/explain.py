"""`sfumato explain`: what a mechanism promises, in plain words, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.terminal import note, out, show_table

_NOISE_HELP = "laplace (real numbers), geometric (whole numbers) or gaussian (with --delta)."


def explain(
    noise: Annotated[str, typer.Argument(help=_NOISE_HELP)],
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="ε, the privacy loss allowed.")],
    sensitivity: Annotated[
        str, typer.Option("--sensitivity", help="How far one unit moves the answer.")
    ] = "1",
    delta: Annotated[str | None, typer.Option("--delta", help="δ, for gaussian noise.")] = None,
    neighbours: Annotated[
        str,
        typer.Option(
            "--neighbours", help="unbounded (one unit more or less) or bounded (replaced)."
        ),
    ] = "unbounded",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page; explain-NOISE.html if absent.")
    ] = None,
) -> None:
    """Explain a mechanism: its promise in plain words, its error, and two pictures.

    Example: sfumato explain laplace --epsilon 1 --sensitivity 1

    Nothing is released and no data are read. The page works offline.
    """
    from sfumato.dp.explanation import explain as study  # noqa: PLC0415 - heavy
    from sfumato.report.explain import page  # noqa: PLC0415 - the same

    found = study(
        noise, epsilon=epsilon, sensitivity=sensitivity, delta=delta, neighbours=neighbours
    )
    out.print(str(found.guarantee), style="bold", markup=False)
    for sentence in found.promise:
        out.print(f"  • {sentence}", markup=False)
    out.print("What it does not promise:", style="bold")
    for sentence in found.limits:
        out.print(f"  • {sentence}", markup=False)
    show_table("Error", ("what", "value"), found.error)
    target = output or Path(f"explain-{noise}.html")
    target.write_text(page(found), encoding="utf-8")
    note(f"wrote {target}")
