"""Is this function as private as it claims? ``check`` looks for a proof that it is not.

Contract: for a callable and a claim, neighbouring data sets are tried until an event is found
whose probabilities the claim forbids, or the runs are used up. The verdict's statements hold with
the stated confidence, jointly, whatever the function is, as long as its runs are independent
(proof in :mod:`~sfumato.audit.claims.search`). A deterministic function is judged by its outputs,
with certainty, where its code proves that it is one (:mod:`~sfumato.audit.claims.deterministic`).

Not refuted means: no violation large enough to show in so many runs was found on these data sets.
It is no proof of privacy.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.audit.claims.deterministic import read_code
from sfumato.audit.claims.mechanism_pairs import pairs_of
from sfumato.audit.claims.outputs import Raised, read_objects
from sfumato.audit.claims.pairs import POOL, Pairs
from sfumato.audit.claims.promises import claim_of, forbidden
from sfumato.audit.claims.sampling import Sampler, sampler_of
from sfumato.audit.claims.search import ALWAYS_RAISES, NO_PAIRS, Measurement, Search
from sfumato.audit.claims.verdict import Verdict, Witness
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sfumato.dp.guarantees import Guarantee

SAMPLES_BATCHED = 4_000_000
SAMPLES_ONE_BY_ONE = 200_000
"""Measuring runs on each data set, unless the user says otherwise."""

SECONDS = 120.0


def check(
    func: Any,
    claim: Guarantee | None = None,
    *,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    datasets: Iterable[Sequence[Any]] | None = None,
    records: Iterable[Any] | None = None,
    inputs: Literal["records", "answers"] = "records",
    size: int = 10,
    arguments: Mapping[str, Any] | None = None,
    batched: bool | None = None,
    samples: int | None = None,
    seconds: float = SECONDS,
    confidence: float = 0.99,
    arithmetic: Literal["float", "real"] = "float",
    timing: bool = False,
    processes: int | None = None,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
) -> Verdict:
    """Look for two neighbouring data sets and an event that disprove a claim of privacy.

    ``func`` takes a list of records and gives any output; an exception is an output too. A
    mechanism with ``guarantee``, ``release`` and ``simulate`` needs no claim of its own.
    Data sets are made of ``records`` (0 and 1 unless given), or are neighbours of your
    ``datasets``, or your own ``pairs``. With ``inputs="answers"`` the function takes ``size``
    answers of queries of sensitivity 1 instead. ``arguments`` are passed on to it.

    ``samples`` limits the measuring runs on each data set, ``seconds`` all of it. With
    ``arithmetic="real"`` floating-point outputs stand for the real numbers of a textbook, and
    their low bits are not looked at. ``timing=True`` lets events depend on how long a call takes.
    The seed decides our choices, never the function's randomness. ``progress`` is told the share
    of the time used and a few words.
    """
    begin = time.monotonic()
    stated = claim_of(func, claim)
    _check_parameters(samples, seconds, confidence, size, arithmetic, inputs)
    extra = dict(arguments or {})
    sampler = sampler_of(func, arguments=extra, batched=batched, timing=timing, processes=processes)
    mechanism = hasattr(func, "release") and hasattr(func, "simulate")
    if mechanism and pairs is None:
        pairs = pairs_of(func)
    plan = Pairs(
        stated.neighbours,
        records=_pool(records),
        datasets=tuple(datasets or ()),
        given=None if pairs is None else tuple((a, b) for a, b in pairs),
        answers=size if inputs == "answers" else None,
        values=mechanism,
    )
    rng = np.random.default_rng(seed)
    facts = read_code(func, extra)
    if facts.deterministic and not batched and not timing:
        return _by_outputs(stated, sampler, plan, rng, confidence, begin, facts.ignores_data)
    runs = samples or (SAMPLES_BATCHED if sampler.vectorised else SAMPLES_ONE_BY_ONE)
    search = Search(
        sampler, plan, forbidden(stated), 1 - confidence, runs, seconds,
        arithmetic == "float", rng, progress,
    )  # fmt: skip
    try:
        search.run()
    finally:
        sampler.close()
    return _verdict(stated, search, confidence, begin)


def _verdict(claim: Guarantee, search: Search, confidence: float, begin: float) -> Verdict:
    promised = search.promised[0]
    masses = tuple(found.masses for found in search.found if found.masses is not None)
    order = sorted(search.found, key=lambda found: (found.refutes, found.epsilon))
    best = order[-1]
    return Verdict(
        claim=claim,
        refuted=search.refuted,
        proved=False,
        epsilon_lower_bound=max(found.epsilon for found in search.found),
        delta_lower_bound=max((one.delta(promised.epsilon) for one in masses), default=0.0),
        confidence=confidence,
        witness=_witness(best, search.sampler, own_data=bool(search.pairs.datasets)),
        pairs=search.tried,
        looks=search.looks,
        calls=search.sampler.calls,
        seconds=time.monotonic() - begin,
        notes=_notes(best, search),
        measured=masses,
    )


def _witness(found: Measurement, sampler: Sampler, *, own_data: bool) -> Witness:
    """Put the data set on which the event is likelier first."""
    forward = found.event.on_first
    one, two = found.pair.first, found.pair.second
    first, second = (one, two) if forward else (two, one)
    turn = (lambda x: x) if forward else (lambda x: (x[1], x[0]))
    event = str(found.event)
    if found.opposite is not None:
        event = f"{event}, which speaks for D, or {found.opposite}, which speaks for D′"
    return Witness(
        first,
        second,
        event,
        found.event.score.family,
        (sampler.outcome(first), sampler.outcome(second)),
        turn(found.counts),
        turn(found.runs),
        guesses=found.guesses,
        verified=found.pair.verified,
        own_data=own_data,
        test=found.event,
        runner=sampler,
    )


def _notes(best: Measurement, search: Search) -> tuple[str, ...]:
    notes = []
    if best.refutes and best.event.score.family == "low bits":
        notes.append(
            "Only the low bits of floating-point numbers give the data away: the noise must be "
            'drawn on a grid (arithmetic="real" ignores them)'
        )
    if not best.pair.verified:
        notes.append("That the two inputs are neighbours is the caller's word")
    if not search.refuted:
        notes.append("Not refuted is not proven")
    return tuple(notes)


def _by_outputs(
    claim: Guarantee,
    sampler: Sampler,
    plan: Pairs,
    rng: np.random.Generator,
    confidence: float,
    begin: float,
    ignores_data: bool,
) -> Verdict:
    """Judge a function that is proved deterministic: two different outputs refute any ε."""
    witness, tried = None, 0
    promised = forbidden(claim)[0]
    pairs = [] if ignores_data else plan.first(rng)
    if not pairs and not ignores_data:
        raise ParameterError(NO_PAIRS)
    raised = True
    for pair in pairs:
        tried += 1
        outputs = sampler.outcome(pair.first), sampler.outcome(pair.second)
        for data, output in zip((pair.first, pair.second), outputs, strict=True):
            raised = raised and (data == [] or isinstance(output, Raised))
        codes = read_objects(outputs).whole()
        if codes[0] != codes[1]:
            event = f"the output is {outputs[0]}"
            witness = Witness(
                pair.first, pair.second, event, "atoms", outputs, (1, 0), (1, 1),
                certain=True, verified=pair.verified, own_data=bool(plan.datasets),
            )  # fmt: skip
            break
    if raised and not ignores_data:
        raise ParameterError(ALWAYS_RAISES)
    refuted = witness is not None and promised.delta < 1
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
        seconds=time.monotonic() - begin,
        notes=() if refuted or ignores_data else (same_everywhere, "Not refuted is not proven"),
    )


def _pool(records: Iterable[Any] | None) -> tuple[Any, ...]:
    if records is None:
        return POOL
    pool = tuple(records)
    if not pool:
        raise ParameterError("records= wants at least one record, and none was given.")
    return pool


def _check_parameters(
    samples: int | None,
    seconds: float,
    confidence: float,
    size: int,
    arithmetic: str,
    inputs: str,
) -> None:
    if samples is not None and samples < 1000:
        raise ParameterError(f"A check needs at least 1000 samples, and {samples} were given.")
    if not seconds > 0:
        raise ParameterError(f"The time limit is above 0 seconds, and {seconds} was given.")
    if not 0.5 <= confidence < 1:
        raise ParameterError(
            f"The confidence is at least 0.5 and below 1, as 0.99, and {confidence} was given."
        )
    if size < 1:
        raise ParameterError(f"The number of answers is at least 1, and {size} was given.")
    if arithmetic not in {"float", "real"}:
        raise ParameterError(f"arithmetic is 'float' or 'real', and {arithmetic!r} was given.")
    if inputs not in {"records", "answers"}:
        raise ParameterError(f"inputs are 'records' or 'answers', and {inputs!r} was given.")
