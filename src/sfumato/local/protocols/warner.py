"""Warner's randomised response: a yes/no question answered with deniability.

Promise: ε-local differential privacy (Warner, "Randomized response: a survey technique for
eliminating evasive answer bias", JASA 1965).

Three ways to state it, one protocol:

* ``coin=p``: the person answers truthfully with probability p > 1/2 and lies otherwise;
* ``alpha=α``: with probability α she tells the truth, otherwise she flips a fair coin, so that the
  true answer comes out with p = (1+α)/2;
* ``epsilon=ε``: p = e^ε/(e^ε+1), the most truthful for that ε.

Proof: each answer has probability p or 1−p; the ratio is p/(1−p), which is (1+α)/(1−α): α = 1/2
gives ln 3. p is rounded towards 1/2 to 32 binary digits. With I yes in n answers the number of true
yes is estimated by (I − n(1−p))/(2p−1), without bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sfumato.dp.mechanisms import parameters
from sfumato.errors import ParameterError
from sfumato.local.protocols import coins
from sfumato.local.protocols.domain import Domain, DomainLike
from sfumato.local.protocols.grr import GRR, pair

if TYPE_CHECKING:
    from sfumato.dp.rounding import Stated
    from sfumato.local.protocols.protocol import Support


@dataclass(frozen=True, init=False, repr=False)
class Warner(GRR):
    """Answer a question with two answers; give exactly one of ``epsilon``, ``coin``, ``alpha``."""

    truth: Fraction

    name: ClassVar[str] = "Warner"

    def __init__(
        self,
        domain: DomainLike = (False, True),
        *,
        epsilon: Stated | None = None,
        coin: Stated | None = None,
        alpha: Stated | None = None,
    ) -> None:
        parameters.exactly_one((epsilon, coin, alpha), "epsilon=, coin= and alpha=")
        object.__setattr__(self, "domain", Domain.of(domain))
        if self.size != 2:
            raise ParameterError(
                f"Warner's question has two answers, and {self.size} were given; use GRR."
            )
        if epsilon is not None:
            exact = parameters.budget(epsilon)
            coins.refuse_extremes(exact)
            favour = coins.power_down(exact)
            truth = favour / (favour + 1)
        elif coin is not None:
            truth = parameters.share(coin, "The probability of a truthful answer (coin)")
        else:
            assert alpha is not None
            truth = (1 + parameters.share(alpha, "α (alpha), the share of truth,")) / 2
        object.__setattr__(self, "truth", coins.coin_down(truth))
        if self.truth <= Fraction(1, 2):
            raise ParameterError(
                "The probability of a truthful answer is above 1/2 and ε above 0; otherwise "
                "nothing can be estimated (below 1/2, exchange the answers)."
            )
        stated = exact if epsilon is not None else coins.epsilon_up(self.ratio)
        object.__setattr__(self, "epsilon", stated)

    @property
    def probabilities(self) -> Support:
        """Exactly p and 1 − p."""
        return pair(self.truth, 2)
