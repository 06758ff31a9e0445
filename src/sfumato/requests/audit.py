"""What can be asked about a function that claims to be private: `sfumato audit`, `explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from sfumato.errors import ParameterError
from sfumato.requests.files import Quiet
from sfumato.requests.request import Amount, Request, Texts, argument, option


def _records(text: str) -> list[Any]:
    try:
        records = json.loads(text)
    except json.JSONDecodeError:
        records = None
    if not isinstance(records, list):
        raise ParameterError("--records wants a JSON list, as in --records '[0, 1, 5]'.")
    return records


class AuditCommand(Request):
    """`sfumato audit`: the claim, and how hard to look for a proof against it."""

    function: Annotated[str, argument(help="The function, as module:name.")]
    epsilon: Annotated[Amount, option("--epsilon", "-e", help="ε of the claim.")]
    delta: Annotated[Amount | None, option("--delta", help="δ of the claim.")] = None
    neighbours: Annotated[
        str,
        option("--neighbours", help="unbounded (one record more or less) or bounded (replaced)."),
    ] = "unbounded"
    records: Annotated[
        list[Any] | None,
        option("--records", metavar="JSON", help="Records to make data sets of, as a JSON list."),
        Texts(_records, several=False),
    ] = None
    answers: Annotated[
        int | None,
        option("--answers", help="The function takes so many query answers, no records."),
    ] = None
    batched: Annotated[
        bool, option("--batched", help="The function takes (dataset, n) and gives n outputs.")
    ] = False
    arithmetic: Annotated[
        str | None,
        option(
            "--arithmetic",
            help="float: rounding errors of outputs count; real: they are ignored; if absent, they "
            "count with --batched, and are only reported without.",
        ),
    ] = None
    timing: Annotated[
        bool, option("--timing", help="Let events depend on how long a call takes.")
    ] = False
    samples: Annotated[int | None, option("--samples", help="Measuring runs on each data set.")] = (
        None
    )
    seconds: Annotated[
        float | None,
        option(
            "--seconds",
            help="Time to use, for as many runs as it allows; if absent, two minutes at most.",
        ),
    ] = None
    confidence: Annotated[float, option("--confidence", help="Confidence of the verdict.")] = 0.99
    processes: Annotated[
        int | None, option("--processes", help="Processes to run in; chosen by speed if absent.")
    ] = None
    seed: Annotated[
        int | None,
        option("--seed", help="The same seed makes the same choices; Python's and numpy's too."),
    ] = None
    quiet: Quiet = False


class ExplainCommand(Request):
    """`sfumato explain`: a mechanism, and where its page is written."""

    noise: Annotated[
        str,
        argument(
            help="Noise: laplace (real numbers), geometric (whole ones), gaussian or "
            "discrete-gaussian (with --delta). A choice: exponential, permute-and-flip, noisy-max, "
            "above-threshold, randomized-response. A local protocol: warner, grr, sue, oue, olh, "
            "subset, hadamard, projective, rappor, duchi, piecewise, hybrid, square-wave, "
            "heavy-hitters."
        ),
    ]
    epsilon: Annotated[Amount, option("--epsilon", "-e", help="ε, the privacy loss allowed.")]
    sensitivity: Annotated[
        Amount, option("--sensitivity", help="How far one unit moves the answer.")
    ] = "1"
    delta: Annotated[Amount | None, option("--delta", help="δ, for gaussian noise.")] = None
    size: Annotated[
        int, option("--size", help="How many candidates there are, or values of a protocol.")
    ] = 4
    neighbours: Annotated[
        str,
        option("--neighbours", help="unbounded (one unit more or less) or bounded (replaced)."),
    ] = "unbounded"
    output: Annotated[
        Path | None, option("--output", "-o", help="The page; explain-NOISE.html if absent.")
    ] = None
