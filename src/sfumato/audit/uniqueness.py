"""How many people are probably unique in the population, estimated from a sample.

These are estimates under a model of how class sizes arise, not guarantees; they differ
from each other, and by much when the sample is small.

* Zayatz (1991): class sizes of the population are spread as those of the sample; Bayes
  gives the probability that a class seen once has one member.
* Pitman (Hoshino: Applying Pitman's Sampling Formula to Microdata Disclosure Risk
  Assessment, 2001): a partition model with parameters θ and α, fitted by maximum
  likelihood; uniques ≈ Γ(θ+1)/Γ(θ+α)·N^α.
* SNB, slide negative binomial (Chen, Keller-McNulty: Estimation of Identification
  Disclosure Risk in Microdata, 1998): a class of the population has 1 + NB(α, β) members,
  fitted to the number of classes seen once and twice; the number of classes is Shlosser's
  estimate.
* Dankar (Dankar, El Emam, Neisa, Roffey: Estimating the Re-Identification Risk of Clinical
  Data Sets, 2012): Pitman for samples of at most a tenth (Zayatz where it cannot be
  fitted), else the smaller of Zayatz and SNB.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.audit.equations import digamma, solve_pair
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Model = Literal["dankar", "zayatz", "pitman", "snb"]


@dataclass(frozen=True)
class UniquenessEstimate:
    """Estimated number of population uniques; `model` says which model gave it."""

    uniques: float
    population: int
    model: str

    @property
    def share(self) -> float:
        """Population uniques as a share of the population."""
        return self.uniques / self.population


@dataclass(frozen=True, eq=False)
class _Sample:
    """How many classes there are of each size, in a sample of a population of `n_people`."""

    size: NDArray[np.int64]
    number: NDArray[np.int64]
    n_people: int

    @property
    def records(self) -> int:
        return int((self.size * self.number).sum())

    @property
    def classes(self) -> int:
        return int(self.number.sum())

    @property
    def fraction(self) -> float:
        return self.records / self.n_people

    def of_size(self, size: int) -> int:
        return int(self.number[self.size == size].sum())


def population_uniques(
    sizes: NDArray[np.int64], population: int, *, model: Model = "dankar"
) -> UniquenessEstimate:
    """Estimate how many people are unique in a population of the given size."""
    size, number = np.unique(sizes[sizes > 0], return_counts=True)
    sample = _Sample(size, number, int(population))
    if population < max(sample.records, 1):
        raise ParameterError(
            f"The population must have at least as many people as the release has records "
            f"({sample.records}), not {population}."
        )
    if model not in _MODELS:
        raise ParameterError(f"The model must be one of {', '.join(_MODELS)}, not {model!r}.")
    if sample.of_size(1) == 0:
        return UniquenessEstimate(0.0, population, model)
    if sample.records == population:
        return UniquenessEstimate(float(sample.of_size(1)), population, "census")
    found, used = _MODELS[model](sample)
    if found is None:
        raise ParameterError(
            f"The {model} model cannot be fitted to these class sizes; use another one."
        )
    return UniquenessEstimate(min(found, float(population)), population, used)


def _zayatz(sample: _Sample) -> tuple[float | None, str]:
    n, people = sample.records, sample.n_people
    once = [
        count * _drawn_once(people, int(size), n)
        for size, count in zip(sample.size, sample.number, strict=True)
    ]
    given_one = sample.of_size(1) * _drawn_once(people, 1, n) / sum(once)
    return sample.of_size(1) * given_one / sample.fraction, "zayatz"


def _drawn_once(people: int, size: int, sample: int) -> float:
    """Return the probability that exactly one member of a class is among those drawn."""
    if people - size < sample - 1:
        return 0.0
    log = math.log(size) + _log_choose(people - size, sample - 1) - _log_choose(people, sample)
    return math.exp(log)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _pitman(sample: _Sample) -> tuple[float | None, str]:
    n, u, people = sample.records, sample.classes, sample.n_people
    larger = sample.size > 1

    def parameters(x: float, y: float) -> tuple[float, float]:
        alpha = 1 / (1 + math.exp(-x))
        return alpha, math.exp(y) - alpha

    def score(x: float, y: float) -> tuple[float, float]:
        alpha, theta = parameters(x, y)
        first = (digamma(theta / alpha + u) - digamma(theta / alpha + 1)) / alpha
        second = ((u - 1) - theta * first) / alpha
        spent = digamma(theta + n) - digamma(theta + 1)
        repeated = sum(
            count * (digamma(size - alpha) - digamma(1 - alpha))
            for size, count in zip(sample.size[larger], sample.number[larger], strict=True)
        )
        return (first - spent) / u, (second - repeated) / n

    starts = [(x, y) for x in (-2.0, 0.0, 2.0) for y in (0.0, 3.0, 6.0, 9.0)]
    fitted = solve_pair(score, starts)
    if fitted is None:
        return None, "pitman"
    alpha, theta = parameters(*fitted)
    log = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(people)
    return math.exp(log), "pitman"


def _snb(sample: _Sample) -> tuple[float | None, str]:
    pi, classes = sample.fraction, _shlosser(sample)
    once, twice = sample.of_size(1) / classes, sample.of_size(2) / classes

    def expected(x: float, y: float) -> tuple[float, float, float]:
        """Return the chances that a class is seen once, seen twice, and has one member."""
        alpha, beta = math.exp(x), 1 / (1 + math.exp(-y))
        a, b, missed = 1 - (1 - beta) * (1 - pi), (1 - beta) * pi, 1 - pi
        lead = (beta / a) ** alpha
        seen_once = lead * (pi + missed * alpha * b / a)
        seen_twice = lead * alpha * b / a * (pi + missed * (alpha + 1) * b / (2 * a))
        return seen_once, seen_twice, beta**alpha

    def score(x: float, y: float) -> tuple[float, float]:
        seen_once, seen_twice, _ = expected(x, y)
        return seen_once - once, seen_twice - twice

    starts = [(x, y) for x in (-3.0, -1.0, 1.0) for y in (-4.0, -2.0, 0.0)]
    fitted = solve_pair(score, starts)
    return (None if fitted is None else classes * expected(*fitted)[2]), "snb"


def _shlosser(sample: _Sample) -> float:
    """Return Shlosser's estimate of the number of classes in the population."""
    pi, size, number = sample.fraction, sample.size.astype(np.float64), sample.number
    unseen = ((1 - pi) ** size * number).sum()
    once = (size * pi * (1 - pi) ** (size - 1) * number).sum()
    square = (size * pi**2 * (1 - pi**2) ** (size - 1) * number).sum()
    spread = (((1 - pi**2) ** size - (1 - pi) ** size) * number).sum()
    return float(sample.classes + sample.of_size(1) * (square / spread) * (unseen / once) ** 2)


def _dankar(sample: _Sample) -> tuple[float | None, str]:
    if sample.fraction <= 0.1:
        found = _pitman(sample)
        return found if found[0] is not None else _zayatz(sample)
    candidates = [found for found in (_zayatz(sample), _snb(sample)) if found[0] is not None]
    return min(candidates, key=lambda found: found[0] or 0.0)


_MODELS = {"dankar": _dankar, "zayatz": _zayatz, "pitman": _pitman, "snb": _snb}
