"""Local protocols explained: what a report tells about the person who sent it, and what is learnt.

Contract: as :mod:`sfumato.dp.explanation`. The two worlds are two values of one person, the pair of
values whose reports differ most in size or place; laws of reports are the exact ones that
``distribution`` lists. Full RAPPOR is explained by the number of the bits in which two strings
differ that the permanent response keeps, and OLH under a seed that tells the two values apart; so
are heavy hitters, whose report is that of OLH for a prefix whose length does not depend on the
value.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.dp.explanation import explain_pair
from sfumato.dp.rounding import stated
from sfumato.dp.tradeoff import Pair
from sfumato.errors import ParameterError
from sfumato.lazy import find
from sfumato.local.protocols.hashing import PRIME, limbs_of

if TYPE_CHECKING:
    from sfumato.dp.explanation import Explanation
    from sfumato.dp.rounding import Stated
    from sfumato.local.protocols.protocol import Protocol

PROTOCOLS = {
    "warner": "warner:Warner", "grr": "grr:GRR", "sue": "unary:SUE", "oue": "unary:OUE",
    "olh": "olh:OLH", "subset": "subset:SubsetSelection", "hadamard": "hadamard:Hadamard",
    "projective": "projective:ProjectiveGeometry", "rappor": "rappor:RAPPOR",
    "duchi": "duchi:Duchi", "piecewise": "piecewise:Piecewise", "hybrid": "hybrid:Hybrid",
    "square-wave": "square_wave:SquareWave", "heavy-hitters": "heavy_hitters:HeavyHitters",
}  # fmt: skip
_NUMBERS = {"duchi", "piecewise", "hybrid", "square-wave"}
_PEOPLE = (1_000, 100_000)
_MOST_VALUES = 12
_GRID = 1024


def explain(name: str, *, epsilon: Stated, size: int = 4) -> Explanation:
    """Explain a protocol for ``size`` values, or for numbers, by its public parameters.

    >>> import sfumato as sf
    >>> found = sf.local.explain("grr", epsilon=1, size=8)
    >>> round(found.guarantee.epsilon, 6)
    1.0
    """
    if name not in PROTOCOLS:
        raise ParameterError(
            f"{name!r} cannot be explained; choose one of {', '.join(sorted(PROTOCOLS))}."
        )
    if not isinstance(size, int) or not 2 <= size <= _MOST_VALUES:
        raise ParameterError(f"A protocol is explained for 2 to {_MOST_VALUES} values.")
    made: Any = find(f"sfumato.local.protocols.{PROTOCOLS[name]}")
    protocol = _protocol(name, made, epsilon, size)
    pair, error = _pair(name, protocol), _error(name, protocol)
    return explain_pair(protocol.name, protocol.guarantee, pair, error)


def _protocol(name: str, made: Any, epsilon: Stated, size: int) -> Protocol:
    if name == "warner":
        return made(("yes", "no"), epsilon=epsilon)  # type: ignore[no-any-return]
    if name == "rappor":
        return made(epsilon=epsilon, report_epsilon=stated(epsilon) / 2)  # type: ignore[no-any-return]
    if name in {"piecewise", "hybrid"}:  # a coarser grid of reports, with the same promise
        return made(epsilon=epsilon, grid=_GRID)  # type: ignore[no-any-return]
    if name in _NUMBERS or name == "heavy-hitters":
        return made(epsilon=epsilon)  # type: ignore[no-any-return]
    return made([f"value {number + 1}" for number in range(size)], epsilon=epsilon)  # type: ignore[no-any-return]


def _pair(name: str, protocol: Any) -> Pair:
    if name == "rappor":
        return _rappor(protocol)
    if name == "heavy-hitters":
        return _olh(protocol.hashing, 0, 1)
    if name in _NUMBERS:
        low, high = protocol.bounds
        return Pair.of(protocol.distribution(low), protocol.distribution(high))
    first, second = protocol.domain.values[:2]
    if name == "olh":
        return _olh(protocol, first, second)
    return Pair.of(protocol.distribution(first), protocol.distribution(second))


def _olh(protocol: Any, first: Any, second: Any) -> Pair:
    """Take the first seed under which the two values lie in different cells."""
    parts = 1 + limbs_of(protocol.size)
    for number in range(1, 1000):
        seed = tuple(number * 0x9E3779B1 * (part + 1) % PRIME for part in range(parts))
        laws = [protocol.distribution(value, seed=seed) for value in (first, second)]
        if laws[0] != laws[1]:
            return Pair.of(*laws)
    raise AssertionError("no seed tells two values apart")


def _rappor(protocol: Any) -> Pair:
    """Count the 2h bits that differ: the permanent response keeps each with one probability."""
    bits, kept = 2 * protocol.hashes, protocol.keep
    law = [
        Fraction(math.comb(bits, count)) * kept**count * (1 - kept) ** (bits - count)
        for count in range(bits + 1)
    ]
    return Pair.of(law, law[::-1])


def _error(name: str, protocol: Any) -> tuple[tuple[str, str], ...]:
    if name == "heavy-hitters":
        return (("error", "depends on how many share a prefix; what is found states it"),)
    if not hasattr(protocol, "variance"):
        return (("error", "depends on how the values are spread; estimates state it"),)
    what = "mean" if name in _NUMBERS else "share of a rare value"
    return tuple(
        (f"standard deviation of the {what}, {people:,} people",
         f"{math.sqrt(protocol.variance(people)):.3g}")
        for people in _PEOPLE
    )  # fmt: skip
