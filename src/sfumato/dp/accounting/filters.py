"""Privacy filters: whether one more answer may be given, whatever the analyst has seen so far.

Contract: if every charge is made only while ``fits(budget, spent.plus(cost))``, then everything
answered keeps the budget, although each question *and its parameters* may depend on all earlier
answers. (Composition theorems fix the parameters beforehand; a filter does not.)

* ``PureDP(E)``: Σε ≤ E, and nothing but pure costs (Rogers, Roth, Ullman, Vadhan, NeurIPS 2016).
* ``ZCDP(ρ)``: Σ(μ² + ε²)/2 + Σρᵢ ≤ ρ and no δ (Whitehouse, Ramdas, Rogers, Wu, ICML 2023): Rényi
  divergences of order α add up surely to at most ρ·α along every path.
* ``ApproxDP(E, D)``: any of several *ways*, each a filter by itself with its share of D.

Why shares. The rule "Σε + ε_G(√Σμ², D − Σδ) ≤ E" is a theorem for parameters fixed beforehand
and *no* filter: an analyst who, having seen Gaussian noise, decides by it whether to go on
with pure or with Gaussian answers reaches nearly δ = 2·D (``tests/dp/accounting`` has the
strategy). What is traded against what must not depend on noise that was seen. Hence:

1. Before the first Gaussian charge, and with it, ε and δ add up: the basic filter (Rogers et al.).
   If e and d are these totals, all that follows must keep E′ = E − e and D′ = D − d.
2. A *way* is a set of totals, closed downwards, fixed by the opening alone. If the end lies in
   the way w, the path never left w, so the loss is that of the strategy which refuses to leave
   w. Thus E[(1 − e^{E′−L})₊] ≤ Σ_w E[(1 − e^{E′−L_w})₊], and it is enough that each way, alone, has
   at most its share of D′ (and that failures, which add up in expectation, have theirs).
3. Inside one way the budget of each currency is fixed. Under the data set D, conditionally on the
   past, the loss of a Gaussian answer is that of a Brownian motion with drift ½ run for the
   time μ²; so Gaussian losses are one such motion at a random time Σμ² ≤ M. (1 − e^{ε−L})₊ is
   a convex function of e^{−L}, which is a martingale; so it is a submartingale, and running on
   until M only increases its mean, which then is δ_G(√M, ε) (Smith and Thakurta 2022). Pure losses
   are at most Σε surely, or: an ε-private answer is a post-processing of a Gaussian one with
   Φ(μ/2) = 1/(1 + e^{−ε}), whose μ is at most √(π/2)·ε, because Φ(√(π/8)·x) ≥ 1/(1 + e^{−x})
   for x ≥ 0: the quotient of the two densities is 1 at 0, has the logarithmic derivative
   tanh(x/2) − π/8·x, so it rises and then falls, and the difference starts and ends at 0.

The ways, with R = D′ − δ_G(√μ₁², E′) what the opening leaves of D′:

* *opening*: nothing after the opening. It has its exact share, so one answer may take all.
* *Gaussian* (3/8 of R): δ_G(√(Σμ² + π/2·Σε²), E′) with the ε after the opening.
* *mixed* (1/24 of R each): the ε after the opening within E′·¼, ½ or ¾, Gaussians within the rest.
* *concentrated* (1/16 of D, only if the very first charge has an ε or a ρ, no Gaussian noise and no
  δ, and no δ ever): as ZCDP(ρ) with the largest ρ that implies (E, share). It serves many small
  pure answers, and is the only way that holds totals with a ρᵢ, because concentration bounds no
  loss for certain and is no post-processing of Gaussian noise. A mechanism of which a ρ is known
  has a place in every (E, D) budget as the (ε, δ) it implies (``Cost.of(…, delta=…)``).
* Failures after the opening: 1/2 of R. A δ adds up truly: 10,000 × 0.001 is refused.

ε depends on a share through √ln(1/share): 3/8 costs Gaussian sessions 3 to 4 % of ε at δ = 10⁻⁶.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, cast

from sfumato.dp.accounting.costs import ZERO, Cost, SpentTotals, there
from sfumato.dp.accounting.ways import Ways, most_mu_squared, rho_of
from sfumato.dp.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sfumato.dp.rounding import Stated, stated, stated_down, stated_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Cost", "SpentTotals", "first_delta", "fits", "gaussian_cost", "left", "total"]

Accountant: TypeAlias = Literal["filter", "pld"]
G = TypeVar("G", bound=Guarantee)


def fits(budget: Guarantee, spent: SpentTotals) -> bool:
    """Tell whether a budget holds with these totals, however the charges were chosen."""
    if isinstance(budget, PureDP):
        unsure = spent.mu_squared or there(spent.concentrated) or spent.delta
        return not unsure and spent.epsilon <= budget.exact_epsilon
    if isinstance(budget, ZCDP):
        return not spent.delta and rho_of(spent) <= budget.exact_rho
    return Ways(_approximate(budget), spent).hold


def total(
    budget: G,
    spent: SpentTotals,
    *,
    accountant: Accountant = "filter",
    steps: Iterable[Cost] | None = None,
) -> G:
    """State what was promised so far in the budget's own kind, rounded up.

    ``accountant="pld"`` composes ``steps``, the single costs, numerically (dp-accounting): for an
    ``ApproxDP`` budget and parameters that were all fixed beforehand, as by a policy of equal
    shares. It is no filter and not proved: PLD composition of parameters chosen along the way
    is no theorem.
    """
    if accountant == "pld":
        return cast("G", _numerical(_approximate(budget), tuple(steps or ())))
    if isinstance(budget, PureDP):
        if spent.mu_squared or spent.concentrated or spent.delta:
            raise ParameterError("A pure budget has no place for Gaussian noise or for a δ.")
        return cast("G", PureDP(stated_up(spent.epsilon), neighbours=budget.neighbours))
    if isinstance(budget, ZCDP):
        if spent.delta:
            raise ParameterError("A zero-concentrated budget has no place for a δ.")
        return cast("G", ZCDP(stated_up(rho_of(spent)), neighbours=budget.neighbours))
    exact = _approximate(budget)
    ways = Ways(exact, spent)
    epsilon = ways.epsilon
    if ways.hold:
        epsilon = min(epsilon, exact.exact_epsilon)  # two roundings may differ in the last digit
    delta = min(Fraction(1), ways.delta)
    return cast("G", ApproxDP(stated_up(epsilon), stated_up(delta), neighbours=exact.neighbours))


def left(budget: G, spent: SpentTotals) -> G:
    """State what is left of a budget, rounded down.

    Of an ``ApproxDP`` budget the ε left is E less the total so far, and the δ left is what
    failures may still take. Gaussian answers compose better than their ε add up, so usually
    more of them fit; pure answers after Gaussian ones may find less room.
    """
    if isinstance(budget, PureDP):
        rest = max(ZERO, budget.exact_epsilon - spent.epsilon)
        return cast("G", PureDP(stated_down(rest), neighbours=budget.neighbours))
    if isinstance(budget, ZCDP):
        rest = max(ZERO, budget.exact_rho - rho_of(spent))
        return cast("G", ZCDP(stated_down(rest), neighbours=budget.neighbours))
    exact = _approximate(budget)
    so_far = cast("ApproxDP", total(budget, spent))
    rest = max(ZERO, exact.exact_epsilon - so_far.exact_epsilon)
    failures = max(ZERO, Ways(exact, spent).failures_left)
    return cast(
        "G",
        ApproxDP(stated_down(rest), stated_down(failures), neighbours=exact.neighbours),
    )


def first_delta(budget: ApproxDP, spent: SpentTotals) -> Fraction:
    """Give the δ of the whole budget that the first answer with Gaussian noise may take."""
    return max(ZERO, Ways(budget, spent).failures_left)


def gaussian_cost(*, epsilon: Stated, delta: Stated) -> Cost:
    """Give the cost of the least Gaussian noise that is (ε, δ)-private, rounded down."""
    return Cost(mu_squared=most_mu_squared(stated(epsilon), stated(delta)))


def _approximate(budget: Guarantee) -> ApproxDP:
    if isinstance(budget, ApproxDP):
        return budget
    raise ParameterError(
        f"A budget is PureDP(ε), ApproxDP(ε, δ) or ZCDP(ρ), and {type(budget).__name__} was given."
    )


def _numerical(budget: ApproxDP, steps: tuple[Cost, ...]) -> ApproxDP:
    from sfumato.dp.accounting.accountants import account  # noqa: PLC0415 - needs an extra
    from sfumato.dp.accounting.steps import Step  # noqa: PLC0415 - needed here only

    if not steps:
        raise ParameterError('accountant="pld" needs steps=, the cost of every single answer.')
    failures = sum((cost.delta for cost in steps), ZERO)
    if failures >= budget.exact_delta:
        raise ParameterError("The failures of these steps take the whole δ of the budget.")
    if any(cost.concentrated for cost in steps):
        raise ParameterError('accountant="pld" cannot use a mechanism of which only ρ is known.')
    square = sum((cost.mu_squared for cost in steps), ZERO)
    listed = [Step.private(PureDP(stated_up(cost.epsilon))) for cost in steps if cost.epsilon]
    if square:
        listed.append(Step.gaussian(stated_down(1 / Cost(mu_squared=square).mu)))
    if not listed:
        return ApproxDP(0, stated_up(failures), neighbours=budget.neighbours)
    found = account(listed, delta=budget.exact_delta - failures, accountants=["pld"])
    return ApproxDP(found.epsilon, budget.delta, neighbours=budget.neighbours)
