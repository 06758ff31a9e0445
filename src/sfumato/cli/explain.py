"""`sfumato explain`: what a mechanism promises, in plain words, with pictures."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.display.terminal import note, out, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.audit import ExplainCommand


@takes_request
def explain(request: ExplainCommand) -> None:
    """Explain a mechanism: its promise in plain words, its error, and two pictures.

    Example: sfumato explain laplace --epsilon 1 --sensitivity 1

    Nothing is released and no data are read. The page works offline.
    """
    from sfumato.dp.explanation import explain as study  # noqa: PLC0415 - heavy
    from sfumato.report.explain import page  # noqa: PLC0415 - the same

    found = study(
        request.noise,
        epsilon=request.epsilon,
        sensitivity=request.sensitivity,
        delta=request.delta,
        neighbours=request.neighbours,
    )
    out.print(str(found.guarantee), style="bold", markup=False)
    for sentence in found.promise:
        out.print(f"  • {sentence}", markup=False)
    out.print("What it does not promise:", style="bold")
    for sentence in found.limits:
        out.print(f"  • {sentence}", markup=False)
    show_table("Error", ("what", "value"), found.error)
    target = request.output or Path(f"explain-{request.noise}.html")
    target.write_text(page(found), encoding="utf-8")
    note(f"wrote {target}")
