"""The budget of a synthesis: what was stated, the currency it is paid in, and the promise.

Contract: (ε, δ) is paid in ρ, the largest that implies it with the δ that is left when unknown
texts took their half; ρ alone is zCDP; ε alone is pure. The promise names the neighbours that were
asked for, and the contribution follows from them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.dp.accounting.ways import most_rho
from sfumato.dp.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.publish.synthesis.currencies import ConcentratedCurrency, Contribution, Pure
from sfumato.dp.rounding import stated_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.dp.neighbours import Neighbours
    from sfumato.dp.publish.synthesis.currencies import Currency
    from sfumato.dp.rounding import Stated

_PURE = (
    "Pure ε pays for every table separately: expect far more noise than with delta=, which lets "
    "the same ε buy about as many tables as there are columns squared."
)


@dataclass(frozen=True)
class Budget:
    """A promise, and what it buys."""

    guarantee: Guarantee
    currency: Currency
    amount: Fraction
    failures: Fraction = Fraction(0)
    notes: tuple[str, ...] = ()

    @property
    def pure(self) -> bool:
        """Whether there is no δ to be had."""
        return isinstance(self.currency, Pure)


def read_budget(
    epsilon: Stated | None,
    delta: Stated | None,
    rho: Stated | None,
    neighbours: Neighbours,
    contribution: Contribution,
    *,
    unknown_texts: bool = False,
) -> Budget:
    """Read the parameters of a budget; half of δ is set aside for texts that nobody declared."""
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise ParameterError("Give epsilon= with delta=, or rho= alone.")
        exact = parameters.positive(rho, "ρ (rho)")
        return Budget(ZCDP(stated_up(exact), neighbours=neighbours), ConcentratedCurrency(contribution), exact)  # fmt: skip  # noqa: E501
    if epsilon is None:
        raise ParameterError("Give epsilon=, epsilon= with delta=, or rho=.")
    spent = parameters.budget(epsilon)
    if delta is None:
        warnings.warn(_PURE, UserWarning, stacklevel=5)
        promise = PureDP(stated_up(spent), neighbours=neighbours)
        return Budget(promise, Pure(contribution), spent, notes=(_PURE,))
    exact_delta = parameters.failure(delta)
    failures = exact_delta / 2 if unknown_texts else Fraction(0)
    amount = most_rho(spent, exact_delta - failures)
    if amount <= 0:
        raise ParameterError("This ε and δ leave nothing to be spent; choose larger ones.")
    approx = ApproxDP(stated_up(spent), stated_up(exact_delta), neighbours=neighbours)
    return Budget(approx, ConcentratedCurrency(contribution), amount, failures)
