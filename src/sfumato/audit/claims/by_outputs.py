"""Judging a function that is proved to be deterministic: by its outputs, with certainty.

Contract: two neighbouring data sets with different outputs refute every ε, and nothing is left to
chance. Whether code is deterministic is told by :mod:`~sfumato.audit.claims.deterministic`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.audit.claims.deadline import TimeIsUp
from sfumato.audit.claims.outputs import Raised, read_objects
from sfumato.audit.claims.promises import forbidden
from sfumato.audit.claims.search import ALWAYS_RAISES, NO_PAIRS
from sfumato.audit.claims.verdict import Verdict, Witness
from sfumato.audit.claims.wider import records_tried, wider_pairs
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

    from sfumato.audit.claims.pairs import Pair, Pairs
    from sfumato.audit.claims.samples import Sampler
    from sfumato.dp.guarantees import Guarantee

NEVER_RETURNED = (
    "The function did not return once within the time limit of {:g} seconds; give it smaller data "
    "sets with pairs=[…], or more time with seconds=."
)


def judge_by_outputs(
    claim: Guarantee,
    sampler: Sampler,
    plan: Pairs,
    rng: np.random.Generator,
    confidence: float,
    ignores_data: bool,
) -> Verdict:
    """Judge a function that is proved deterministic: two different outputs refute any ε."""
    assert sampler.deadline is not None
    promised = forbidden(claim)[0]
    pairs = [] if ignores_data else plan.first(rng)
    if not pairs and not ignores_data:
        raise ParameterError(NO_PAIRS)
    seen = Seen()
    witness, tried = _first_difference(pairs, sampler, seen, own_data=bool(plan.datasets))
    if not (seen.answered or ignores_data):
        raise ParameterError(ALWAYS_RAISES.format(", ".join(sorted(seen.raised))))
    refuted = witness is not None and promised.delta < 1
    wider = None
    if witness is None and not ignores_data:
        others = [pair for kind in wider_pairs(plan, rng) for pair in kind]
        wider, _ = _first_difference(others, sampler, Seen(), own_data=False, answers_only=True)
    same_everywhere = f"The function is deterministic and gave the same output on both data sets of all {tried} pairs"  # noqa: E501 - one sentence
    return Verdict(
        claim=claim,
        refuted=refuted,
        proved=ignores_data,
        epsilon_lower_bound=math.inf if refuted else 0.0,
        delta_lower_bound=1.0 if refuted else 0.0,
        confidence=confidence,
        witness=witness,
        pairs=tried,
        looks=0,
        calls=2 * tried,
        seconds=time.monotonic() - sampler.deadline.begin,
        notes=() if refuted or ignores_data else (same_everywhere, "Not refuted is not proven"),
        records=None if ignores_data else records_tried(plan),
        wider=wider if promised.delta < 1 else None,
    )


@dataclass
class Seen:
    """Whether a deterministic function answered at all, and what it raised."""

    answered: bool = False
    raised: set[str] = field(default_factory=set)

    def note(self, data: Any, output: Any) -> None:
        """Remember an output; what is raised on no data says nothing."""
        if isinstance(output, Raised):
            self.raised.add(output.kind)
        elif data != []:
            self.answered = True


def _first_difference(
    pairs: list[Pair],
    sampler: Sampler,
    seen: Seen,
    *,
    own_data: bool,
    answers_only: bool = False,
) -> tuple[Witness | None, int]:
    """Give the first pair with two different outputs, and how many pairs were tried."""
    for tried, pair in enumerate(pairs, start=1):
        try:
            outputs = sampler.outcome(pair.first), sampler.outcome(pair.second)
        except TimeIsUp:
            assert sampler.deadline is not None
            raise ParameterError(NEVER_RETURNED.format(sampler.deadline.seconds)) from None
        for data, output in zip((pair.first, pair.second), outputs, strict=True):
            seen.note(data, output)
        if answers_only and any(isinstance(output, Raised) for output in outputs):
            continue
        codes = read_objects(outputs).whole()
        if codes[0] != codes[1]:
            event = f"the output is {outputs[0]}"
            witness = Witness(
                pair.first, pair.second, event, "atoms", outputs, (1, 0), (1, 1), certain=True,
                verified=pair.verified, own_data=own_data, epsilon_lower_bound=math.inf,
            )  # fmt: skip
            return witness, tried
    return None, len(pairs)
