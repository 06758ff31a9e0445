"""Is this function as private as it claims? ``check`` looks for a proof that it is not.

Contract: for a callable and a claim, neighbouring data sets are tried until an event is found
whose probabilities the claim forbids, or the runs are used up. The verdict's statements hold with
the stated confidence, jointly, whatever the function is, as long as its runs are independent
(proof in :mod:`~sfumato.audit.claims.search`). A deterministic function is judged by its outputs,
with certainty, where its code proves that it is one (:mod:`~sfumato.audit.claims.deterministic`).

Not refuted means: no violation large enough to show in so many runs was found on these data sets.
It is no proof of privacy.

Mathematics or program? ``len(data) + numpy's Laplace noise`` is ε-private in every textbook, and
its low bits give the count away in every computer. A function that is called run by run is judged
by its mathematics, as the textbook does, and what rounding errors give away is said beside it
(``Verdict.floating_point_leak``). One that delivers batches, and a mechanism, is software made to
release: it is judged bit by bit. ``arithmetic`` chooses either for both.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.audit.claims.by_outputs import NEVER_RETURNED, judge_by_outputs
from sfumato.audit.claims.deadline import Deadline, TimeIsUp, limited
from sfumato.audit.claims.deterministic import read_code
from sfumato.audit.claims.mechanism_pairs import pairs_of
from sfumato.audit.claims.pairs import Pairs
from sfumato.audit.claims.parameters import check_parameters, datasets_of, pairs_given, pool_of
from sfumato.audit.claims.promises import Bound, claim_of, forbidden
from sfumato.audit.claims.samples import Sampler, sampler_of
from sfumato.audit.claims.search import Search
from sfumato.audit.claims.seeding import repeatable
from sfumato.audit.claims.verdict import Verdict, Witness
from sfumato.audit.claims.wider import records_tried
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sfumato.audit.claims.measurement import Measurement
    from sfumato.dp.guarantees import Guarantee

SAMPLES_BATCHED = 4_000_000
SAMPLES_ONE_BY_ONE = 200_000
SAMPLES_WITH_DELTA = 400_000
"""Measuring runs on each data set, unless the user says otherwise; a δ is small, and needs more."""

SECONDS = 120.0
"""The time limit, unless the user says otherwise."""
_WITHOUT_LIMIT = 10**12

ROUNDING = "Only the rounding of floating-point numbers gives the data away: draw noise on a grid"


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
    seconds: float | None = None,
    confidence: float = 0.99,
    arithmetic: Literal["float", "real"] | None = None,
    timing: bool = False,
    processes: int | None = None,
    seed: int | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Verdict:
    """Look for two neighbouring data sets and an event that disprove a claim of privacy.

    ``func`` takes a list of records and gives any output; an exception is an output too. A
    mechanism with ``guarantee``, ``release`` and ``simulate`` needs no claim of its own.
    Data sets are made of ``records`` (0 and 1 unless given), or are neighbours of your
    ``datasets``, or your own ``pairs``. With ``inputs="answers"`` the function takes ``size``
    answers of queries of sensitivity 1 instead. ``arguments`` are passed on to it.

    ``samples`` limits the measuring runs on each data set, ``seconds`` all of it. Without either, a
    check ends after some million runs, or more where these come close to a refutation, within two
    minutes. ``seconds`` alone is a budget that is used: for as many runs as it allows, and after
    a refutation for a sharper bound. With
    ``arithmetic="real"`` floating-point outputs stand for the real numbers of a textbook; with
    "float" their every bit counts; without either, functions that deliver batches and mechanisms
    are judged as "float", others as "real" with what rounding gives away reported beside it.
    ``timing=True`` lets events depend on how long a call takes. The same ``seed`` makes the same
    choices, and starts Python's, numpy's and our own generators; a generator of the function's
    own is its own affair. ``progress`` is told the share of the time used and a few words.
    """
    limit = SECONDS if seconds is None else seconds
    deadline = Deadline(time.monotonic(), limit)
    stated = claim_of(func, claim)
    check_parameters(samples, limit, confidence, size, arithmetic, inputs, seed)
    extra = dict(arguments or {})
    sampler = sampler_of(func, arguments=extra, batched=batched, timing=timing, processes=processes)
    sampler.deadline, sampler.seed = deadline, seed
    plan = _plan(func, stated, pairs, datasets, records, size if inputs == "answers" else None)
    rng = np.random.default_rng(0 if seed is None else seed)  # which pairs are tried, no noise
    facts = read_code(func, extra)
    with repeatable(seed), limited(deadline):
        if facts.deterministic and not batched and not timing:
            return judge_by_outputs(stated, sampler, plan, rng, confidence, facts.ignores_data)
        exact = arithmetic == "float" or (arithmetic is None and sampler.batch is not None)
        budget = samples is None and seconds is not None
        promised = forbidden(stated)
        runs = _WITHOUT_LIMIT if budget else samples or _samples(sampler, promised)
        search = Search(
            sampler, plan, promised, 1 - confidence, runs, deadline, exact, rng,
            progress, seek_leak=arithmetic is None, sharpen=budget,
            extend=samples is None and seconds is None,
        )  # fmt: skip
        try:
            search.run()
            return _verdict(stated, search, confidence)
        finally:
            sampler.close()


def _samples(sampler: Sampler, promised: tuple[Bound, ...]) -> int:
    if sampler.vectorised:
        return SAMPLES_BATCHED
    return SAMPLES_WITH_DELTA if promised[0].delta else SAMPLES_ONE_BY_ONE


def _plan(
    func: Any,
    claim: Guarantee,
    pairs: Iterable[tuple[Any, Any]] | None,
    datasets: Iterable[Sequence[Any]] | None,
    records: Iterable[Any] | None,
    answers: int | None,
) -> Pairs:
    """Gather what is known about the inputs."""
    mechanism = hasattr(func, "release") and hasattr(func, "simulate")
    given = pairs_of(func) if mechanism and pairs is None else pairs
    return Pairs(
        claim.neighbours,
        records=pool_of(records),
        datasets=datasets_of(datasets),
        given=None if given is None else pairs_given(given),
        answers=answers,
        values=mechanism,
    )


def _verdict(claim: Guarantee, search: Search, confidence: float) -> Verdict:
    if search.sampler.calls == 0:
        raise ParameterError(NEVER_RETURNED.format(search.deadline.seconds))
    promised = search.promised[0]
    masses = tuple(found.masses for found in search.found if found.masses is not None)
    best = max(search.found, key=lambda found: (found.refutes, found.epsilon), default=None)
    own = bool(search.pairs.datasets)
    witness = None if best is None else _witness(best, search.sampler, own_data=own)
    leak, wider = (
        None if found is None else _witness(found, search.sampler, own_data=own)
        for found in (search.leak, search.wider)
    )
    if witness is not None and search.refuted and witness.family == "low bits":
        leak = witness
    return Verdict(
        claim=claim,
        refuted=search.refuted,
        proved=False,
        epsilon_lower_bound=max((found.epsilon for found in search.found), default=0.0),
        delta_lower_bound=max((region.delta(promised.epsilon) for region in masses), default=0.0),
        confidence=confidence,
        witness=witness,
        pairs=search.tried,
        looks=search.looks,
        calls=search.sampler.calls,
        seconds=time.monotonic() - search.deadline.begin,
        notes=_notes(best, search),
        floating_point_leak=leak,
        records=records_tried(search.pairs),
        wider=wider,
        measured=masses,
    )


def _witness(found: Measurement, sampler: Sampler, *, own_data: bool) -> Witness:
    """Put the data set on which the event is likelier first."""
    forward = found.event.on_first
    first_data, second_data = found.pair.first, found.pair.second
    first, second = (first_data, second_data) if forward else (second_data, first_data)
    turn = (lambda x: x) if forward else (lambda x: (x[1], x[0]))
    event = str(found.event)
    if found.opposite is not None:
        event = f"{event}, which speaks for D, or {found.opposite}, which speaks for D′"
    return Witness(
        first,
        second,
        event,
        found.event.score.family,
        (_sample(sampler, first), _sample(sampler, second)),
        turn(found.counts),
        turn(found.runs),
        guesses=found.guesses,
        verified=found.pair.verified,
        own_data=own_data,
        epsilon_lower_bound=found.epsilon,
        test=found.event,
        runner=sampler,
    )


def _sample(sampler: Sampler, data: Any) -> Any:
    """Give an output for the witness to show, if there is time for one."""
    try:
        return sampler.outcome(data)
    except TimeIsUp:
        return None


def _notes(best: Measurement | None, search: Search) -> tuple[str, ...]:
    notes = []
    if best is not None and best.refutes and best.event.score.family == "low bits":
        notes.append(f'{ROUNDING} (arithmetic="real" ignores it)')
    if search.leak is not None:
        notes.append(f'{ROUNDING} (arithmetic="float" takes it for a refutation)')
    if best is not None and not best.pair.verified:
        notes.append("That the two inputs are neighbours is the caller's word")
    if search.out_of_time:
        notes.append(
            "The time limit ended the search"
            + ("" if search.found else " before anything could be measured")
            + "; raise it with seconds="
        )
    if not search.refuted:
        notes.append("Not refuted is not proven")
    return tuple(notes)
