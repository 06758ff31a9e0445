"""DP-SGD and DP-Adam for torch modules: ``sf.dp.train``.

Promise: (ε, δ)-differential privacy for one example added or removed; every intermediate model and
the last one together may be published.

Proof. Each step draws a Poisson lot of rate q (:mod:`.lots`), adds clipped gradients up as whole
numbers of steps with L2 sensitivity Δ, all rounding included (:mod:`.clipping`), and adds to each
number Gaussian noise of standard deviation z·Δ rounded to whole steps, drawn exactly from the
cryptographic stream: post-processing of the continuous Gaussian mechanism with multiplier z, on a
Poisson sample. z keeps (ε, δ) over all T steps (:mod:`.plan`). An empty lot is a step like any
other. The sum is divided by the *declared* lot, never by the lot drawn or by the number of rows,
which are not public. The optimiser sees noisy gradients only: post-processing.

Nothing else is told: no loss, no accuracy on the training rows, no number of rows.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.dp.learn.sgd.plan import TrainingPlan, check_plan, plan_training
from sfumato.dp.mechanisms import parameters
from sfumato.dp.noise.gaussian import rounded_gaussian
from sfumato.errors import DataError, MissingExtra, ParameterError, SfumatoError
from sfumato.representation import Shown

try:
    import torch
except ImportError:
    raise MissingExtra("PyTorch", "torch", "Training of neural networks") from None

from sfumato.dp.learn.sgd.checkpoints import TrainingCheckpoint
from sfumato.dp.learn.sgd.layers import MOST_ROWS
from sfumato.dp.learn.sgd.lots import Examples, draw_coins, draw_lot, seat, seats_of
from sfumato.dp.learn.sgd.rehearsal import rehearse

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.dp.guarantees import ApproxDP
    from sfumato.dp.learn.sgd.clipping import Clipper
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

_MICROBATCH = 1024


@dataclass(frozen=True, eq=False)
class Training(Shown):
    """A trained module with what its training promised."""

    model: Any
    plan: TrainingPlan
    steps_taken: int
    slow: str | None  # why gradients were taken example by example, if they were

    @property
    def guarantee(self) -> ApproxDP:
        """What all of training promises."""
        return self.plan.guarantee

    def release(self, name: str = "model", **facts: Any) -> Release:
        """Hand the trained module over as a release, with its guarantee and a model card.

        ``facts`` (such as ``purpose="…"``) go to `release.json` and to the card.
        """
        from sfumato.dp.learn.sgd.artefact import release_network  # noqa: PLC0415 - loaded when used

        return release_network(self, name, facts)

    def __str__(self) -> str:
        return f"{type(self.model).__name__} after {self.plan}"


def train(
    model: Any,
    data: Any,
    loss: Callable[..., Any],
    *,
    epsilon: Stated,
    delta: Stated,
    lot: int,
    steps: int,
    clip: float = 1.0,
    optimizer: str | Callable[..., Any] = "sgd",
    learning_rate: float = 0.1,
    momentum: float = 0.0,
    rows: int | None = None,
    microbatch: int = _MICROBATCH,
    checkpoint: str | Path | None = None,
    every: int = 50,
    progress: Callable[[float, str], None] | None = None,
) -> Training:
    """Train a torch module in place, so that no example can be told from the result.

    ``data`` is (inputs, targets), or a data set of such pairs; ``loss(output, target)`` is any
    loss. Each of ``steps`` steps reads a random lot of about ``lot`` examples, whose gradients
    are clipped to norm ``clip``. ``rows`` is the number of rows where it is public; otherwise 1 %
    of ε buys a noisy one. ``optimizer`` is "sgd", "adam" or a function from parameters to an
    optimiser. ``microbatch`` bounds the memory: so many examples are read at a time. With
    ``checkpoint`` the state is kept in a file every so many steps, and training goes on from there
    if it was interrupted, on what is left of the same account.
    """
    examples = Examples(data)
    length = float(parameters.read(clip, "clip", "a finite number above 0"))
    clipper = rehearse(model, loss, length, *examples.shapes())
    chosen = _optimizer(optimizer, clipper, learning_rate, momentum)
    if not 1 <= (parameters.count(microbatch, "microbatch") or 0) <= MOST_ROWS:
        raise ParameterError(
            f"microbatch is between 1 and {MOST_ROWS}, and {microbatch} was given."
        )
    store = TrainingCheckpoint(Path(checkpoint), every) if checkpoint is not None else None
    asked = {"epsilon": epsilon, "delta": delta, "lot": lot, "steps": steps, "clip": clip}
    with nullcontext() if store is None else store.held(), torch.random.fork_rng(devices=[]):
        plan = store.plan() if store is not None and store.exists else None
        if plan is None:
            plan = plan_training(**asked, rows=rows, count=len(examples))  # type: ignore[arg-type]
        else:
            _same(plan, asked)
            check_plan(plan, epsilon=epsilon, delta=delta, rows=rows)
        first = store.resume(model, chosen) if store is not None else 0
        model.train()
        for k in range(first, plan.steps):
            if store is not None:
                store.save(k, first, plan, model, chosen)
            _step(clipper, examples, plan, chosen, microbatch)
            if progress is not None:
                progress((k + 1) / plan.steps, f"step {k + 1} of {plan.steps}")
        if store is not None:
            store.save(plan.steps, plan.steps, plan, model, chosen)
    return Training(model, plan, plan.steps - first, clipper.reading.slow)


def _step(
    clipper: Clipper, examples: Examples, plan: TrainingPlan, optimizer: Any, microbatch: int
) -> None:
    """Take one private step."""
    noisy = _add_up(clipper, examples, plan, microbatch)
    add_noise(noisy, plan.multiplier, clipper.sensitivity())
    clipper.hand_over(noisy, plan.lot)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def _add_up(clipper: Clipper, examples: Examples, plan: TrainingPlan, microbatch: int) -> Any:
    """Draw a lot and add its clipped gradients up, in whole steps."""
    total = clipper.zero()
    seats = seats_of(plan.mean, Fraction(plan.delta), plan.steps)
    try:
        for places, rows, size in draw_lot(len(examples), plan.rate, seats, microbatch):
            inputs, target = examples.take(places)
            taken = torch.zeros(size, dtype=torch.bool)
            taken[torch.from_numpy(rows)] = True
            batch = tuple(seat(x, rows, size) for x in inputs)
            draw_coins()
            clipper.add(total, batch, seat(target, rows, size), taken)
        return total.steps()
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its message may quote an example
        kind = type(error).__name__
    raise DataError(
        f"A lot of examples could not be used ({kind}). What was said of it may quote an example "
        "and is not shown; look for classes or words beyond what the module has, and for examples "
        "of different shapes, on data that are not private."
    )


def add_noise(steps: Any, multiplier: float, sensitivity: float) -> None:
    """Add rounded Gaussian noise to sums in whole steps, in place."""
    variance = (Fraction(multiplier) * Fraction(sensitivity)) ** 2
    short = Fraction(math.nextafter(float(variance), math.inf))
    noise = rounded_gaussian(short, len(steps)).astype("int64", copy=False)
    steps += torch.from_numpy(noise)


def _optimizer(chosen: Any, clipper: Clipper, rate: float, momentum: float) -> Any:
    learnt = list(clipper.names.values())
    try:
        if chosen == "sgd":
            return torch.optim.SGD(learnt, lr=rate, momentum=momentum)
        if chosen == "adam":
            return torch.optim.Adam(learnt, lr=rate)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"The optimiser refuses its options: {error}.") from None
    if callable(chosen):
        return chosen(learnt)
    raise ParameterError(
        f"optimizer is 'sgd', 'adam' or a function from parameters to an optimiser, and {chosen!r} "
        "was given."
    )


def _same(plan: TrainingPlan, asked: dict[str, Any]) -> None:
    """Refuse to go on under another promise than the one that was begun."""
    for name, value in asked.items():
        if float(value) != float(getattr(plan, name)):
            raise ParameterError(
                f"The checkpoint was begun with {name}={getattr(plan, name)!r}, and {value!r} was "
                "given; go on with the same, or choose another file for a new training."
            )
