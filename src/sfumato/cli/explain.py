"""`sfumato explain`: what a mechanism promises, in plain words, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.display.terminal import note, out, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.audit import ExplainCommand

if TYPE_CHECKING:
    from sfumato.dp.explanation import Explanation


@takes_request
def explain(request: ExplainCommand) -> None:
    """Explain a mechanism or protocol: its promise in plain words, its error, and two pictures.

    Example: sfumato explain laplace --epsilon 1 --sensitivity 1

    Example: sfumato explain exponential --epsilon 0.5 --size 10

    Example: sfumato explain oue --epsilon 1 --size 8

    Nothing is released and no data are read. The page works offline.
    """
    from sfumato.report.explain import page  # noqa: PLC0415 - heavy

    found = _study(request)
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


def _study(request: ExplainCommand) -> Explanation:
    """Find whoever explains it: local protocols, or the mechanisms of a curator."""
    from sfumato.local.explanation import PROTOCOLS  # noqa: PLC0415 - help stays quick
    from sfumato.local.explanation import explain as explain_protocol  # noqa: PLC0415 - the same

    if request.noise in PROTOCOLS:
        return explain_protocol(request.noise, epsilon=request.epsilon, size=request.size)
    from sfumato.dp.explanation import explain as explain_mechanism  # noqa: PLC0415 - the same

    return explain_mechanism(
        request.noise,
        epsilon=request.epsilon,
        sensitivity=request.sensitivity,
        delta=request.delta,
        neighbours=request.neighbours,
        size=request.size,
    )
