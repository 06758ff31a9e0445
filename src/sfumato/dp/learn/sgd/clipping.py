"""Clipped sums of gradients in whole steps: the quantity that noise is added to.

Contract: :meth:`Clipper.add` takes a micro-batch and adds, for each parameter, Σ c_i·g_i to a
:class:`Total` of whole numbers; :meth:`Total.steps` gives them in steps of 2⁻²⁰·C, and
``sensitivity`` bounds, in steps, what one more example changes.

Proof. Let g_i be the gradient that follows exactly from example i's stored inputs and output
gradients (or the stored gradient itself). c_i = min(1, C′/‖g_i‖, κ·C′/reach_i) with C′ = C·(1 −
2⁻¹⁰), where the norms are computed in doubles, without underflow for the clips that are allowed,
and are off by far less than one part in 2¹⁰ (:func:`.layers.lengths`): ‖c_i·g_i‖ ≤ C. What is added
for i differs from c_i·g_i by at most slack·C in each part (:mod:`.layers`), so its norm is at most
C·(1 + √Σ slack²), by the triangle inequality over all parts together. Whole numbers are added
exactly, whatever the order and the micro-batches; where floats are added before they are rounded,
few rows are taken at a time, chosen by seats, so that an example touches its own piece alone, and
the slack bounds what that may change. An example whose norm is not a number adds nothing, as does
an empty seat.

Assumption: the stored values of one example depend on that example, its row in the batch and the
shape of the batch, and on nothing that stands in other rows. Of layers that is the reading's
business (:mod:`.reading`), and of losses, which are tried on made-up outputs; of floating-point
kernels it holds bit by bit where tests looked: every layer here, several shapes, one and two
threads. They do depend on the row: matrix products round differently in different rows. So seats
are drawn at random (:mod:`.lots`), and an example more moves no other.
"""

from __future__ import annotations

import inspect
import math
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from threadpoolctl import ThreadpoolController
from torch.func import functional_call, grad, vmap

from sfumato.dp.learn.sgd import kernels
from sfumato.dp.learn.sgd.layers import INSIDE, MOST_ROWS, STEP_BITS, Whole, read_site
from sfumato.dp.learn.sgd.reading import read_module
from sfumato.dp.learn.sgd.tape import Tape
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_ONCE = 1 << 22  # numbers kept of examples that are worked on together: they stay in the cache
_LEAST_CLIP = 2.0**-40  # norms that doubles lose are far below it


class Clipper:
    """Adds up clipped gradients of a module for lots of examples."""

    def __init__(self, module: Any, loss: Callable[..., Any], clip: float) -> None:
        self.module = module
        self.losses = per_example(loss)
        if not clip >= _LEAST_CLIP:
            raise ParameterError(
                f"clip is at least 2⁻⁴⁰, about 10⁻¹², and {clip!r} was given; scale the loss "
                "instead."
            )
        self.clip = clip
        self.reading = read_module(module)
        self.tape = Tape(module, self.reading.rules, self.reading.forwards)
        self.names = {name: p for name, p in module.named_parameters() if p.requires_grad}
        if not self.names:
            raise ParameterError("The module has no parameter to train: all are frozen.")
        self.shapes = {name: parameter.shape for name, parameter in self.names.items()}
        self.places = {id(parameter): name for name, parameter in self.names.items()}
        self.slack = math.inf
        self.rows = MOST_ROWS  # how many examples are worked on at a time

    @property
    def size(self) -> int:
        """How many numbers are learnt."""
        return sum(parameter.numel() for parameter in self.names.values())

    def sensitivity(self) -> float:
        """Bound, in steps, what one example moves the sums by, all rounding included."""
        return (1 + self.slack) * 2.0**STEP_BITS

    def measure(self, inputs: tuple[Any, ...], target: Any) -> None:
        """Find the slack of rounding from shapes, on made-up examples."""
        parts = self._parts(inputs, target)
        self.slack = _slack(parts)
        held = sum(part.held for part in parts)
        self.rows = 64 * max(1, _AT_ONCE // (64 * max(1, held)))

    def norms(self, inputs: tuple[Any, ...], target: Any) -> Any:
        """Give the norm of each example's gradient over all trained parameters."""
        parts = self._parts(inputs, target)
        return torch.sqrt(sum(part.norms() for part in parts))

    def zero(self) -> Total:
        """Begin a sum."""
        return Total(self.shapes)

    def hand_over(self, steps: Any, lot: int) -> None:
        """Make noisy steps, divided by the declared lot, the gradients of the parameters."""
        unit = self.clip * 2.0**-STEP_BITS / lot
        if all(parameter.dtype is torch.float32 for parameter in self.names.values()):
            mean = torch.empty(len(steps), dtype=torch.float32)
            kernels.to_singles(steps.numpy(), unit, mean.numpy())
        else:
            mean = steps.to(torch.float64) * unit
        for name, gradient in lay_out(mean, self.shapes).items():
            self.names[name].grad = gradient.to(self.names[name].dtype)

    def add(self, total: Total, inputs: tuple[Any, ...], target: Any, taken: Any = None) -> None:
        """Add the clipped gradients of a micro-batch to a sum.

        ``taken`` tells which of its rows are examples; the others are empty seats.
        """
        if len(target) > MOST_ROWS:
            raise ParameterError(f"A micro-batch has at most {MOST_ROWS} rows; give microbatch=.")
        for start in range(0, len(target), self.rows):
            piece = slice(start, start + self.rows)
            here = None if taken is None else taken[piece]
            self._add(total, tuple(x[piece] for x in inputs), target[piece], here)

    def _add(self, total: Total, inputs: tuple[Any, ...], target: Any, taken: Any) -> None:
        parts = self._parts(inputs, target)
        if _slack(parts) > self.slack:
            raise ParameterError(
                "Examples have other shapes than the first one, for which rounding was bounded; "
                "pad them to one shape."
            )
        factors = self._factors(parts)
        if taken is not None:
            factors = torch.where(taken, factors, torch.zeros_like(factors))
        with one_thread():
            for part in parts:
                part.add(total.sums[self.places[id(part.parameter)]], factors, self.clip)

    def _factors(self, parts: list[Any]) -> Any:
        """Choose by how much each example's gradient is shortened."""
        squares = sum(part.norms() for part in parts).numpy()
        factors = torch.empty(len(squares), dtype=torch.float64)
        bound = self.clip * INSIDE
        kernels.shorten(squares, bound, factors.numpy())
        for part in parts:
            reach = part.reach()
            if reach is not None:
                kernels.shorten_more(reach.numpy(), bound, factors.numpy())
        return factors

    def _parts(self, inputs: tuple[Any, ...], target: Any) -> list[Any]:
        if self.reading.slow is not None:
            return self._slow_parts(inputs, target)
        with self.tape as tape:
            losses = self.losses(self.module(*inputs), target)
            losses.sum().backward()
            rows = len(target)
            for site in tape.sites.values():
                if any(call.a.shape[0] != rows for call in site.calls):
                    raise ParameterError(
                        f"{type(site.module).__name__} was given a tensor whose first dimension is "
                        "not the batch; keep examples in the first dimension (batch_first=True)."
                    )
            return [part for s in tape.sites.values() for part in read_site(s, self.places)]

    def _slow_parts(self, inputs: tuple[Any, ...], target: Any) -> list[Any]:
        """Take the gradient of each example by ``torch.func``."""
        fixed = {n: p.detach() for n, p in self.module.named_parameters() if n not in self.names}
        fixed |= dict(self.module.named_buffers())

        def loss_of(parameters: Any, example: Any, wanted: Any) -> Any:
            rows = tuple(x.unsqueeze(0) for x in example)
            out = functional_call(self.module, {**parameters, **fixed}, rows)
            return self.losses(out, wanted.unsqueeze(0))[0]

        values = {name: p.detach() for name, p in self.names.items()}
        each = vmap(grad(loss_of), in_dims=(None, 0, 0), randomness="different")
        gradients = each(values, inputs, target)
        return [Whole(self.names[name], g) for name, g in gradients.items()]


@cache
def _libraries() -> Any:
    return ThreadpoolController().select(internal_api="openblas")


def one_thread() -> Any:
    """Multiply on one thread: several would wait for each other longer than pieces take."""
    return _libraries().limit(limits=1)


class Total:
    """Sums of a lot in whole steps, parameter by parameter, side by side in one row of numbers.

    They are held as doubles, which add whole numbers exactly up to 2⁵³: an example adds at most
    2²¹ to an entry (and 2³² on the way, where words cancel), so four thousand million of them fit.
    """

    def __init__(self, shapes: dict[str, Any]) -> None:
        self.shapes = shapes
        self.flat = torch.zeros(sum(map(math.prod, shapes.values())), dtype=torch.float64)
        self.sums = lay_out(self.flat, shapes)

    def steps(self) -> Any:
        """Give all sums as integers, one parameter after the other."""
        return self.flat.to(torch.int64)


def lay_out(flat: Any, shapes: dict[str, Any]) -> dict[str, Any]:
    """See a row of numbers as parameters, by name."""
    parts = flat.split([math.prod(shape) for shape in shapes.values()])
    return {n: part.view(shapes[n]) for n, part in zip(shapes, parts, strict=True)}


def _slack(parts: list[Any]) -> float:
    """Add up, in norm, what rounding of all parts adds to the sensitivity."""
    return math.sqrt(sum(part.slack**2 for part in parts)) * (1 + 1e-9)


def per_example(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Make a loss give one number for each example: ``reduction`` is 'none' where it has one.

    Of sequences, the mean over positions is taken.
    """
    options: dict[str, Any] = {}
    if isinstance(loss, torch.nn.Module) and hasattr(loss, "reduction"):
        inner = loss

        def call(out: Any, target: Any) -> Any:
            was, inner.reduction = inner.reduction, "none"
            try:
                return inner(out, target)
            finally:
                inner.reduction = was
    else:
        if "reduction" in _parameters(loss):
            options["reduction"] = "none"

        def call(out: Any, target: Any) -> Any:
            return loss(out, target, **options)

    def losses(out: Any, target: Any) -> Any:
        found = call(out, target)
        if found.dim() == 0 or found.shape[0] != len(target):
            raise ParameterError(
                "The loss gives one number for each example; use a loss with reduction=, or return "
                "a tensor with a row for each example."
            )
        return found if found.dim() == 1 else found.flatten(1).mean(dim=1)

    return losses


def _parameters(function: Callable[..., Any]) -> Any:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()
