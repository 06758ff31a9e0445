"""What a person really does to a question, found by asking with and without her.

Contract: :func:`requests` records what a prepared question asks of an engine; :func:`loss` finds,
from the exact totals of two neighbours and the noise that was prepared, how much privacy the
noisy numbers really cost. Nothing here uses a derived sensitivity.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

from scipy.stats import norm

from sfumato.ask.answers.measurement import measure
from sfumato.ask.price.measures import PEOPLE


class Recorder:
    """An engine that notes what it is asked."""

    def __init__(self, engine):
        self.engine, self.asked = engine, []
        self.dialect = engine.dialect

    def aggregate(self, request):
        self.asked.append(request)
        return self.engine.aggregate(request)


def requests(prepared, engine, salt):
    """Answer once, and give the question as it was answered with all requests it took."""
    recorder = Recorder(engine)
    found = measure(prepared, recorder, salt)
    return found.prepared, recorder.asked


def table(found):
    """Give aggregates as a mapping from (keys, spread) to (people, totals)."""
    rows = {}
    for i, key in enumerate(found.keys):
        place = (key, tuple(int(column[i]) for column in found.spread))
        assert place not in rows, "a group came twice"
        rows[place] = (int(found.people[i]), tuple(int(total[i]) for total in found.totals))
    return rows


def moved(one, other, read):
    """Give how far every group moves; a group that is not there counts 0."""
    none = (0, (0,) * 200)
    places = {*one, *other}
    return {p: read(one.get(p, none)) - read(other.get(p, none)) for p in places}


@dataclass
class Loss:
    """What the noisy numbers of two neighbours cost."""

    epsilon: Fraction = Fraction(0)
    mu_squared: Fraction = Fraction(0)
    delta: float = 0.0

    def add(self, moves, noise):
        """Add noisy numbers that move so far: ε = L1/scale, or μ² = L2²/variance."""
        if not any(moves):
            return
        assert noise is not None, "a number that moves got no noise"
        if noise.kind == "geometric":
            self.epsilon += Fraction(sum(map(abs, moves))) / noise.size
        else:
            self.mu_squared += Fraction(sum(move * move for move in moves)) / noise.size


def loss(ready, asked, one, other):
    """Compute what telling two neighbours apart costs; ``one`` and ``other`` are per request."""
    found = Loss()
    searches = len(ready.searched)
    parts = ready.wanted.parts
    additive = 1 if parts.totals or ready.wanted.people else 0
    for place, request in enumerate(asked):
        mine, theirs = one[place], other[place]
        if place < searches:
            found.add(moved(mine, theirs, lambda row: row[1][0]).values(), ready.strategy.search)
        elif place < searches + additive:
            for i in range(len(request.totals)):
                moves = moved(mine, theirs, lambda row, i=i: row[1][i])
                found.add(_shown(moves, request), ready.strategy.noises[i])
            if ready.wanted.people:
                moves = moved(mine, theirs, lambda row: row[0])
                found.add(_shown(moves, request), ready.strategy.noise(PEOPLE))
        else:
            _picked(found, ready, request, mine, theirs)
    if ready.finds_keys:
        _discovered(found, ready, one[searches], other[searches])
    return found


def _shown(moves, request):
    """Give the moves of groups that can be shown: those outside public values cannot be."""
    for (key, _), move in moves.items():
        for value, declared in zip(key, request.keys, strict=True):
            assert declared.values is None or value in declared.values or not move
    return moves.values()


def _picked(found, ready, request, mine, theirs):
    """Add the cost of picking quantiles: ε′ per group, if her rows there are few enough."""
    rows = getattr(request.bound, "rows", 1)
    changed = defaultdict(list)
    for (key, _), move in moved(mine, theirs, lambda row: row[1][0]).items():
        if move:
            changed[key].append(move)
    for moves in changed.values():
        one_way = all(m > 0 for m in moves) or all(m < 0 for m in moves)
        assert one_way, "a person's rows changed those of others"
        assert sum(map(abs, moves)) <= rows
        found.epsilon += ready.strategy.quantile_epsilon


def _discovered(found, ready, mine, theirs):
    """Add the probability that a group shows which only one of the neighbours has."""
    for with_her, without in ((mine, theirs), (theirs, mine)):
        for key in with_her.keys() - without.keys():
            people = with_her[key][0]
            assert people == 1, "a group that comes with one person has more people"
            found.delta += exceeding(ready.strategy.people, ready.threshold - people)


def exceeding(noise, reach):
    """Give Pr[noise ≥ reach], from the law's own formula."""
    if noise.kind == "geometric":
        decay = math.exp(-1 / float(noise.size))
        return decay**reach / (1 + decay)
    return float(norm.sf((reach - 0.5) / math.sqrt(noise.size)))
