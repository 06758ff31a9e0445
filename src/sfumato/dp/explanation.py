"""What a mechanism promises, in words a lawyer understands, with the numbers of its pictures.

Contract: ``explain`` runs nothing and reads no data; everything follows from public parameters.
The words state consequences of the guarantee that hold whoever looks at the result and whatever
else they know: how far a belief can move (Bayes' rule with likelihood ratio at most e^ε), and how
often a test can be right (the trade-off curve). They also say what is not promised, and on what the
noise rests: it is drawn with a cipher, so the promise assumes that nobody can break that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

from sfumato.dp.guarantees import ApproxDP, Guarantee, LocalDP, PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import UNBOUNDED, Neighbours, Row
from sfumato.dp.rounding import Stated, stated
from sfumato.dp.tradeoff import geometric_pair, interpolate, trade_off_of
from sfumato.errors import ParameterError
from sfumato.lazy import find
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.dp.mechanisms.base import Mechanism
    from sfumato.dp.tradeoff import Pair

NOISES = ("laplace", "geometric", "gaussian", "discrete-gaussian")
CHOICES = (
    "exponential", "permute-and-flip", "noisy-max", "above-threshold", "randomized-response",
)  # fmt: skip
Points: TypeAlias = tuple[tuple[float, float], ...]
ANSWERS = "released answer − true answer of one world"
LOSSES = "privacy loss of the outcome"

_EXPLAIN_CHOICE = "sfumato.dp.choice_explanation:explain_choice"
_POINTS = 240
_STEMS = 60
_MOST_PLACES = 2000
_SMALL_SPREAD = 3.0
_MOST_EXPONENT = 700.0  # e to a larger power is no float
_DRAWN = Fraction(1, 10**60), Fraction(10**60)  # what a picture can show


@dataclass(frozen=True)
class Explanation(Shown):
    """A mechanism explained: words, error, and the points of two pictures.

    ``axis`` says what the points of the laws are: answers, or the privacy loss of outcomes.
    """

    name: str
    guarantee: Guarantee
    promise: tuple[str, ...]
    limits: tuple[str, ...]
    error: tuple[tuple[str, str], ...]
    here: Points  # the law of the answer on one data set
    there: Points  # and on its neighbour
    whole: bool  # answers are whole numbers
    curve: Points  # the trade-off of this mechanism
    promised: Points  # below this curve no test can get, as the guarantee says
    axis: str = ANSWERS


def explain(
    noise: str,
    *,
    epsilon: Stated,
    sensitivity: Stated = 1,
    delta: Stated | None = None,
    neighbours: Neighbours | str = UNBOUNDED,
    size: int = 4,
) -> Explanation:
    """Explain a mechanism by its public parameters; ``size`` is a number of candidates."""
    if noise in CHOICES:
        if delta is not None:
            raise ParameterError(f"{noise.capitalize()} has no δ; leave delta out.")
        explained: Explanation = find(_EXPLAIN_CHOICE)(
            noise, epsilon=epsilon, sensitivity=sensitivity, neighbours=neighbours, size=size
        )
        return explained
    study = _study(noise, epsilon, sensitivity, delta, Neighbours.of(neighbours))
    guarantee = study.mechanism.guarantee
    return Explanation(
        name=noise,
        guarantee=guarantee,
        promise=promise_in_words(guarantee),
        limits=limits_in_words(guarantee),
        error=error_rows(study.mechanism),
        here=study.here,
        there=study.there,
        whole=noise in {"geometric", "discrete-gaussian"},
        curve=study.curve,
        promised=trade_off_of(guarantee),
    )


def explain_pair(
    name: str, guarantee: Guarantee, pair: Pair, error: tuple[tuple[str, str], ...]
) -> Explanation:
    """Explain whatever has finitely many outcomes, by their laws in two neighbouring worlds."""
    losses = [(_loss_of(p, q), p, q) for p, q in pair.masses]
    return Explanation(
        name=name,
        guarantee=guarantee,
        promise=promise_in_words(guarantee),
        limits=limits_in_words(guarantee),
        error=error,
        here=tuple((loss, float(p)) for loss, p, _ in losses),
        there=tuple((loss, float(q)) for loss, _, q in losses),
        whole=True,
        curve=pair.trade_off(),
        promised=trade_off_of(guarantee),
        axis=LOSSES,
    )


def _loss_of(p: Fraction, q: Fraction) -> float:
    if not p or not q:
        raise ParameterError("An outcome that one world excludes has no finite privacy loss.")
    return math.log(p / q)


def promise_in_words(guarantee: Guarantee) -> tuple[str, ...]:
    """Say what follows for one person, with numbers."""
    epsilon, delta = _epsilon_delta(guarantee)
    factor = _number(math.exp(epsilon)) if epsilon <= _MOST_EXPONENT else f"e^{epsilon:.6g}"
    plus = f" (plus {_number(delta)})" if delta else ""
    sure, unless = _likely_loss(epsilon, delta)
    unit = "one row, the data of one person," if guarantee.unit == Row() else str(guarantee.unit)
    change = (
        f"{unit} is replaced by any other"
        if guarantee.neighbours.bounded
        else f"{unit} is added to the data or taken out"
    )
    detected = 1 - interpolate(trade_off_of(guarantee), 0.05)
    worlds = (
        f"Compare two worlds that differ in one thing: {change}. Whatever is released, no outcome "
        f"is more than {factor} times as likely{plus} in one world as in the other."
    )
    anyone = (
        "This holds whoever looks at the result and whatever else they know, now or in the "
        "future, as long as nobody breaks the cipher AES, from which the noise is drawn, or learns "
        "its key: a computation that could tell the noise from true chance is not known to exist."
    )
    beliefs = (
        f"Somebody who is unsure beforehand, at even odds, which world is real, is at most "
        f"{_percent(belief(0.5, sure))} sure afterwards. Somebody who holds one world for 1 % "
        f"likely holds it for at most {_percent(belief(0.01, sure))} likely afterwards{unless}."
    )
    test = (
        f"A test that raises a false alarm in 5 % of the cases detects the real ones in at most "
        f"{_percent(detected)} of the cases; guessing detects 5 %."
    )
    return worlds, anyone, beliefs, test


def limits_in_words(guarantee: Guarantee) -> tuple[str, ...]:
    """Say what is not promised."""
    epsilon, delta = _epsilon_delta(guarantee)
    many = f" and δ of up to {_number(min(1.0, 100 * delta))}" if delta else ""
    ten, failure = _epsilon_delta(guarantee.group(10))
    also = f" and δ is {_number(failure)}" if failure else ""
    general = (
        "Facts about people in general are not hidden: if smoking is found to be harmful, that is "
        "learned about a smoker whether or not the smoker took part."
    )
    groups = (
        "Groups are protected less: for ten units whose data hang together, such as a family, ε "
        f"is {ten:.4g}{also}."
    )
    repeats = (
        f"Releases add up: a hundred of this kind together have ε of up to "
        f"{_number(100 * epsilon)}{many}."
    )
    return general, groups, repeats


def belief(prior: float, epsilon: float) -> float:
    """Bound a belief after the release, from the belief before it and ε."""
    odds = prior / (1 - prior) * math.exp(min(epsilon, _MOST_EXPONENT))
    return odds / (1 + odds)


@dataclass(frozen=True)
class _Study:
    mechanism: Mechanism
    here: Points
    there: Points
    curve: Points


def _study(
    noise: str, epsilon: Stated, sensitivity: Stated, delta: Stated | None, relation: Neighbours
) -> _Study:
    if noise not in NOISES:
        every = ", ".join((*NOISES, *CHOICES))
        raise ParameterError(
            f"{noise!r} cannot be explained; choose one of {every}, or a protocol in sf.local."
        )
    for value, name in (
        (parameters.budget(epsilon), "ε (epsilon)"),
        (parameters.bound(sensitivity), "The sensitivity"),
    ):
        if not _DRAWN[0] <= value <= _DRAWN[1]:
            raise ParameterError(f"{name} is explained for numbers between 10⁻⁶⁰ and 10⁶⁰.")
    if noise in {"gaussian", "discrete-gaussian"}:
        if delta is None:
            raise ParameterError("Gaussian noise needs delta=, far below 1 / number of people.")
        study = _gaussian if noise == "gaussian" else _discrete_gaussian
        return study(epsilon, sensitivity, delta, relation)
    if delta is not None:
        raise ParameterError(f"{noise.capitalize()} noise has no δ; leave delta out.")
    return (_geometric if noise == "geometric" else _laplace)(epsilon, sensitivity, relation)


def _laplace(epsilon: Stated, sensitivity: Stated, relation: Neighbours) -> _Study:
    from sfumato.dp.mechanisms.laplace import Laplace  # noqa: PLC0415 - loads the samplers

    mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon, neighbours=relation)
    scale, ratio = mechanism.scale, float(stated(epsilon))
    here, there = _sampled(
        lambda x: math.exp(-abs(x) / scale) / (2 * scale), 1.5 * scale, float(stated(sensitivity))
    )
    shares = (k / _POINTS for k in range(1, _POINTS + 1))
    curve = ((0.0, 1.0), *((share, laplace_missed(share, ratio)) for share in shares))
    return _Study(mechanism, here, there, curve)


def _gaussian(epsilon: Stated, sensitivity: Stated, delta: Stated, relation: Neighbours) -> _Study:
    from sfumato.dp.mechanisms.gaussian import Gaussian  # noqa: PLC0415 - loads the samplers

    mechanism = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta, neighbours=relation)
    law = NormalDist(0, mechanism.sigma)
    here, there = _sampled(law.pdf, mechanism.sigma, float(stated(sensitivity)))
    return _Study(mechanism, here, there, trade_off_of(mechanism.gdp))


def _discrete_gaussian(
    epsilon: Stated, sensitivity: Stated, delta: Stated, relation: Neighbours
) -> _Study:
    from sfumato.dp.mechanisms.gaussian import DiscreteGaussian  # noqa: PLC0415 - loads the samplers

    size = _whole(sensitivity, "Discrete Gaussian", "gaussian")
    mechanism = DiscreteGaussian(
        sensitivity=sensitivity, epsilon=epsilon, delta=delta, neighbours=relation
    )
    spread = math.sqrt(float(mechanism.steps_squared(1)))
    reach = math.ceil(4 * spread)
    every = 1 + (size + 2 * reach) // _MOST_PLACES
    places = sorted({*range(-reach, size + reach + 1, every), 0, size})
    total = max(1.0, spread * math.sqrt(2 * math.pi))  # of all weights, up to e^(−2π²σ²)
    if spread < _SMALL_SPREAD:
        total = sum(math.exp(-((n / spread) ** 2) / 2) for n in range(-40, 41))
    here = tuple((float(x), math.exp(-((x / spread) ** 2) / 2) / total) for x in places)
    there = tuple((float(x), math.exp(-(((x - size) / spread) ** 2) / 2) / total) for x in places)
    return _Study(mechanism, here, there, ())


def _whole(sensitivity: Stated, noise: str, other: str) -> int:
    exact = stated(sensitivity)
    if exact.denominator != 1:
        raise ParameterError(
            f"{noise} noise is for whole numbers, whose sensitivity is whole too; "
            f"{float(exact):g} was given. Use {other}."
        )
    return int(exact)


def _geometric(epsilon: Stated, sensitivity: Stated, relation: Neighbours) -> _Study:
    from sfumato.dp.mechanisms.laplace import Geometric  # noqa: PLC0415 - loads the samplers

    mechanism = Geometric(sensitivity=sensitivity, epsilon=epsilon, neighbours=relation)
    size = _whole(sensitivity, "Geometric", "laplace")
    loss = stated(epsilon) / size
    ratio = math.exp(-min(float(loss), _MOST_EXPONENT))
    mass = -math.expm1(-float(loss)) / (1 + ratio)
    reach = max(3, min(_STEMS, math.ceil(6 / loss)))
    every = 1 + (size + 2 * reach) // _MOST_PLACES  # of a long picture not every stem is drawn
    places = sorted({*range(-reach, size + reach + 1, every), 0, size})
    return _Study(
        mechanism,
        tuple((float(x), mass * ratio ** abs(x)) for x in places),
        tuple((float(x), mass * ratio ** abs(x - size)) for x in places),
        geometric_pair(min(stated(epsilon), Fraction(_MOST_EXPONENT)), size).trade_off()
        if size <= _STEMS
        else (),
    )


def _sampled(law: Callable[[float], float], spread: float, size: float) -> tuple[Points, Points]:
    left, right = -4 * spread, size + 4 * spread
    even = {left + (right - left) * k / _POINTS for k in range(_POINTS + 1)}
    places = sorted(even | {0.0, size})
    return tuple((x, law(x)) for x in places), tuple((x, law(x - size)) for x in places)


def laplace_missed(alarm: float, epsilon: float) -> float:
    """Give the trade-off of continuous Laplace noise (Dong, Roth and Su 2022, Lemma A.6)."""
    half = math.exp(-min(epsilon, _MOST_EXPONENT)) / 2
    if alarm < half:
        return 1 - alarm * math.exp(min(epsilon, _MOST_EXPONENT))
    return half / (2 * alarm) if alarm <= 0.5 else 2 * half * (1 - alarm)


def error_rows(mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
    """Tell the error of a mechanism in three rows."""
    error = mechanism.error
    _, within = error.interval(0.95)
    return (
        ("expected error", f"{error.expected:.4g}"),
        ("95 % of the answers are within", f"±{within:.4g}"),
        ("99.9 % of the answers are within", f"±{error.interval(0.999)[1]:.4g}"),
    )


def _epsilon_delta(guarantee: Guarantee) -> tuple[float, float]:
    if isinstance(guarantee, ApproxDP):
        return guarantee.epsilon, guarantee.delta
    if isinstance(guarantee, (PureDP, LocalDP)):
        return guarantee.epsilon, 0.0
    raise ParameterError(
        "Words are for pure, approximate and local guarantees; convert with .to(ApproxDP, delta=…)."
    )


def _likely_loss(epsilon: float, delta: float) -> tuple[float, str]:
    """Bound the privacy loss: always for δ = 0, else by 2ε but for a small probability.

    Σ over losses L > 2ε of P(o)·(1 − e^(ε−L)) ≤ δ gives Pr[L > 2ε] ≤ δ/(1 − e^(−ε)), and the
    same holds in the other direction. (That the loss exceeds ε with probability δ is not true.)
    """
    if not delta:
        return epsilon, ""
    chance = min(1.0, 2 * delta / -math.expm1(-epsilon)) if epsilon else 1.0
    return 2 * epsilon, f", except with a probability of at most {_number(chance)}"


def _percent(share: float) -> str:
    return f"{_ceiling(100 * share):.3g} %"


def _number(value: float) -> str:
    above = _ceiling(value)
    return f"{above:.3g}" if above < 1000 else f"{above:,.0f}" if above < 1e9 else f"{above:.2e}"


def _ceiling(value: float) -> float:
    """Round up to three digits, so that "at most" stays true."""
    if not 0 < value < 1e300:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.ceil(value / unit * (1 - 1e-12)) * unit
