"""What a guarantee forbids, as bounds on the probabilities of events.

Contract: ``forbidden`` lists pairs (ε, δ) such that the guarantee implies each of them:
Pr[M(D) ∈ S] ≤ e^ε·Pr[M(D′) ∈ S] + δ for all neighbours and events. Refuting one pair refutes the
guarantee. Pure and local guarantees are one pair with δ = 0, approximate ones are one pair;
concentrated, Rényi and Gaussian ones imply a pair for every δ, of which a ladder is tried.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.dp.guarantees import ApproxDP, Guarantee, LocalDP, PureDP
from sfumato.errors import ParameterError

_LADDER = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)


@dataclass(frozen=True)
class Bound:
    """One pair (ε, δ) that follows from the claim."""

    epsilon: float
    delta: float


def forbidden(claim: Guarantee) -> tuple[Bound, ...]:
    """Give the pairs (ε, δ) that the claim implies; the first is the one to report on."""
    if isinstance(claim, (PureDP, LocalDP)):
        return (Bound(claim.epsilon, 0.0),)
    if isinstance(claim, ApproxDP):
        return (Bound(claim.epsilon, claim.delta),)
    pairs = [claim.to(ApproxDP, delta=delta) for delta in _LADDER]
    pairs.sort(key=lambda pair: abs(pair.delta - 0.01))  # a δ that samples can resolve comes first
    return tuple(Bound(pair.epsilon, pair.delta) for pair in pairs)


def claim_of(func: object, claim: Guarantee | None) -> Guarantee:
    """Read the claim; a mechanism carries its own."""
    stated = getattr(func, "guarantee", None) if claim is None else claim
    if not isinstance(stated, Guarantee):
        raise ParameterError(
            "A check needs the claim to be checked, such as claim=sf.PureDP(1.0) or "
            f"sf.ApproxDP(1.0, 1e-6), and {type(claim).__name__} was given."
        )
    return stated
