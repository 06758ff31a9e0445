"""`sfumato audit`: look for a proof that a function is not private as claimed."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options.common import QuietOption
from sfumato.cli.terminal import SearchProgress, note, out, show_table
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.audit.claims.verdict import Verdict


def audit(
    function: Annotated[str, typer.Argument(help="The function, as module:name.")],
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="ε of the claim.")],
    delta: Annotated[str | None, typer.Option("--delta", help="δ of the claim.")] = None,
    neighbours: Annotated[
        str,
        typer.Option(
            "--neighbours", help="unbounded (one record more or less) or bounded (replaced)."
        ),
    ] = "unbounded",
    records: Annotated[
        str | None,
        typer.Option(
            "--records", metavar="JSON", help="Records to make data sets of, as a JSON list."
        ),
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option("--answers", help="The function takes so many query answers, no records."),
    ] = None,
    batched: Annotated[
        bool, typer.Option("--batched", help="The function takes (dataset, n) and gives n outputs.")
    ] = False,
    arithmetic: Annotated[
        str | None,
        typer.Option(
            "--arithmetic",
            help="float: rounding errors of outputs count; real: they are ignored; if absent, they "
            "count with --batched, and are only reported without.",
        ),
    ] = None,
    timing: Annotated[
        bool, typer.Option("--timing", help="Let events depend on how long a call takes.")
    ] = False,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Measuring runs on each data set.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            help="Time to use, for as many runs as it allows; if absent, two minutes at most.",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Confidence of the verdict.")
    ] = 0.99,
    processes: Annotated[
        int | None,
        typer.Option("--processes", help="Processes to run in; chosen by speed if absent."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", help="The same seed makes the same choices; Python's and numpy's too."
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Look for a proof that a function is less private than it claims; exit code 1 if found.

    Example: sfumato audit my_statistics:noisy_count --epsilon 1

    The function takes a list of records and returns anything. Neighbouring lists and an event
    are searched for whose probabilities the claim forbids, and measured on fresh runs.
    """
    from sfumato.audit.claims.check import check  # noqa: PLC0415 - heavy
    from sfumato.cli.options.promises import imported  # noqa: PLC0415 - the same
    from sfumato.dp.guarantees import ApproxDP, PureDP  # noqa: PLC0415 - the same
    from sfumato.dp.neighbours import Neighbours  # noqa: PLC0415 - the same

    relation = Neighbours.of(neighbours)
    claim = (
        PureDP(epsilon, neighbours=relation)  # type: ignore[arg-type]  # decimals as typed
        if delta is None
        else ApproxDP(epsilon, delta, neighbours=relation)  # type: ignore[arg-type]  # the same
    )
    with SearchProgress("checking", enabled=not quiet) as progress:
        verdict = check(
            imported("sfumato audit", function),
            claim,
            records=_records(records),
            inputs="records" if answers is None else "answers",
            size=answers or 10,
            batched=batched or None,
            samples=samples,
            seconds=seconds,
            confidence=confidence,
            arithmetic=arithmetic,  # type: ignore[arg-type]  # checked there
            timing=timing,
            processes=processes,
            seed=seed,
            progress=lambda share, words: progress(share, math.inf, words),
        )
    if not quiet:
        _show(function, verdict)
    raise typer.Exit(1 if verdict.refuted else 0)


def _records(text: str | None) -> list[Any] | None:
    if text is None:
        return None
    try:
        records = json.loads(text)
    except json.JSONDecodeError:
        records = None
    if not isinstance(records, list):
        raise ParameterError("--records wants a JSON list, as in --records '[0, 1, 5]'.")
    return records


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
