"""A release that reads only a random sample of the units promises more.

Contract: ``amplify`` restates a guarantee for a mechanism that first draws a secret sample. With
sampling rate q,

    ε′ = ln(1 + q·(e^ε − 1)),    δ′ = q·δ,

for Poisson sampling (each unit kept independently with probability q) under unbounded neighbours,
and for samples of fixed size m = q·n without replacement under bounded neighbours (Balle, Barthe
and Gaboardi, NeurIPS 2018, Theorems 8 and 9). Any other pairing of sampling and neighbours has
another theorem, so it is refused. A unit with several records may keep some of them in a sample
of records with a probability far above q (ten records at q = 0.1: 1 − 0.9¹⁰ = 0.65), so groups and
such units are refused too: amplify the guarantee of one record, then restate it.

Nothing of this kind holds for zCDP, and Rényi and Gaussian curves need the mechanism itself: use
:func:`sfumato.dp.accounting.account` for those.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeVar

from sfumato.dp.guarantees import ApproxDP, Guarantee, PureDP
from sfumato.dp.rounding import Stated, exp_bounds, log_bounds, stated, stated_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.dp.neighbours import PrivacyUnit

G = TypeVar("G", bound=Guarantee)

_GREAT_EPSILON = 1000


def amplify(
    guarantee: G,
    *,
    rate: Stated,
    sampling: Literal["poisson", "without replacement"] = "poisson",
) -> G:
    """Restate a guarantee for a mechanism that reads a secret random sample of the units."""
    share = stated(rate)
    if not 0 < share <= 1:
        raise ParameterError(
            f"A sampling rate is above 0 and at most 1, and {float(share):g} was given."
        )
    _check_pairing(guarantee, sampling)
    if isinstance(guarantee, PureDP):
        epsilon = amplified_epsilon(guarantee.exact_epsilon, share)
        return replace(guarantee, epsilon=stated_up(epsilon))
    if isinstance(guarantee, ApproxDP):
        return replace(
            guarantee,
            epsilon=stated_up(amplified_epsilon(guarantee.exact_epsilon, share)),
            delta=stated_up(share * guarantee.exact_delta),
        )
    raise ParameterError(
        f"{guarantee.kind} is not amplified by sampling as it stands: convert it with "
        ".to(ApproxDP, delta=…), or account for the sampled mechanism with sf.dp.account(…)."
    )


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Give ln(1 + q·(e^ε − 1)), rounded up."""
    if rate == 1 or epsilon == 0 or epsilon > _GREAT_EPSILON:
        return epsilon
    grown = 1 + rate * (Fraction(exp_bounds(epsilon, 80)[1]) - 1)
    return min(epsilon, Fraction(log_bounds(grown)[1]))


def _check_pairing(guarantee: Guarantee, sampling: str) -> None:
    wanted = {"poisson": "unbounded", "without replacement": "bounded"}
    if sampling not in wanted:
        raise ParameterError(
            f"Sampling is 'poisson' or 'without replacement', and {sampling!r} was given."
        )
    if guarantee.neighbours.relation != wanted[sampling]:
        raise ParameterError(
            f"Amplification by {sampling} sampling is proved for {wanted[sampling]} neighbours, "
            f"and this guarantee is for {guarantee.neighbours.relation} ones."
        )
    check_sampled_unit(guarantee.unit)


def check_sampled_unit(unit: PrivacyUnit) -> None:
    """Refuse sampling where a unit may have several records, of which some may be drawn."""
    if unit.parts != 1:
        raise ParameterError(
            f"Sampling amplifies the guarantee of a unit with a single record, and {unit} may have "
            "several, some of which are drawn more often; amplify the guarantee of one record "
            "first, then restate it with .group(…) or .under(…)."
        )
