"""`sfumato audit`: look for a proof that a function is not private as claimed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.display.terminal import SearchProgress, note, out, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.objects import import_object
from sfumato.requests.audit import AuditCommand

if TYPE_CHECKING:
    from sfumato.audit.claims.verdict import Verdict
    from sfumato.dp.guarantees import Guarantee


@takes_request
def audit(request: AuditCommand) -> None:
    """Look for a proof that a function is less private than it claims; exit code 1 if found.

    Example: sfumato audit my_statistics:noisy_count --epsilon 1

    The function takes a list of records and returns anything. Neighbouring lists and an event
    are searched for whose probabilities the claim forbids, and measured on fresh runs.
    """
    from sfumato.audit.claims.check import check  # noqa: PLC0415 - heavy

    arithmetic: Any = request.arithmetic  # checked there
    with SearchProgress("checking", enabled=not request.quiet) as progress:
        verdict = check(
            import_object("sfumato audit", request.function),
            _claim(request),
            records=request.records,
            inputs="records" if request.answers is None else "answers",
            size=request.answers or 10,
            batched=request.batched or None,
            samples=request.samples,
            seconds=request.seconds,
            confidence=request.confidence,
            arithmetic=arithmetic,
            timing=request.timing,
            processes=request.processes,
            seed=request.seed,
            progress=lambda share, words: progress(share, math.inf, words),
        )
    if not request.quiet:
        _show(request.function, verdict)
    raise typer.Exit(1 if verdict.refuted else 0)


def _claim(request: AuditCommand) -> Guarantee:
    from sfumato.dp.guarantees import ApproxDP, PureDP  # noqa: PLC0415 - heavy
    from sfumato.dp.neighbours import Neighbours  # noqa: PLC0415 - the same

    relation = Neighbours.of(request.neighbours)
    epsilon: Any = request.epsilon  # decimals as typed
    delta: Any = request.delta
    if delta is None:
        return PureDP(epsilon, neighbours=relation)
    return ApproxDP(epsilon, delta, neighbours=relation)


def _show(function: str, verdict: Verdict) -> None:
    out.print(verdict.headline, style="bold", markup=False)
    if verdict.witness is not None and (verdict.refuted or verdict.epsilon_lower_bound > 0):
        witness = verdict.witness
        rows: list[tuple[str, str]] = [
            ("D", witness.show(witness.first)),
            ("D′", witness.show(witness.second)),
            ("an output on D", witness.show(witness.outputs[0])),
            ("an output on D′", witness.show(witness.outputs[1])),
            ("event", witness.show_event()),
        ]
        if witness.guesses is not None:
            rows += [("right and wrong guesses", "{:,} and {:,}".format(*witness.guesses))]
        elif not witness.certain:
            rows += [
                (f"runs with the event on {name}", f"{k:,} of {n:,}")
                for name, k, n in zip(("D", "D′"), witness.counts, witness.runs, strict=True)
            ]
        show_table(f"{function}: the strongest evidence", ("what", "found"), rows)
    if verdict.wider is not None:
        note(f"With wider records: {verdict.wider}")
    for sentence in verdict.notes:
        note(sentence)
