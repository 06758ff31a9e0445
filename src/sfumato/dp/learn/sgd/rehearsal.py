"""What is tried on made-up examples before a true one is read.

Contract: :func:`rehearse` refuses modules and losses that mix examples, or that do not take
examples of these shapes, and bounds the rounding. Errors of torch are shown here: they are about
made-up examples. :func:`check_rules` leaves a :class:`~.clipping.Clipper` whose gradients are those
of the module. Hooks see layers; what a module does beside them (a weight that is used in a second
place by a function of its own, a layer of a class that computes something else, hooks that change
what a layer gives) they miss. It would not cost privacy, for what is added up is what is clipped,
but such a module would silently not learn. So sums of gradients of made-up examples are compared,
and the way of ``torch.func`` is taken where they differ.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules.dropout import _DropoutNd

from sfumato.dp.learn.sgd.clipping import Clipper
from sfumato.dp.learn.sgd.reading import (
    Reading,
    check_independent,
    check_loss,
    make_classes,
    make_up,
)
from sfumato.errors import ParameterError, SfumatoError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DROPPING = (torch.nn.RNNBase, torch.nn.MultiheadAttention)
_CLOSE = 1e-3  # of the largest entry: single precision, and sums in another order
_OUTSIDE = "the module uses parameters in other ways than its layers do"


def rehearse(
    model: Any, loss: Callable[..., Any], clip: float, inputs: tuple[Any, ...], target: Any
) -> Clipper:
    """Make the clipper of a module, once all that can be tried without examples was tried."""
    if not isinstance(model, torch.nn.Module) or not callable(loss):
        raise ParameterError(
            "What is trained is a torch.nn.Module, and the loss a function of output and target."
        )
    clipper = Clipper(model, loss, clip)
    try:
        check_independent(model, inputs)
        if clipper.reading.slow is None:  # otherwise the loss sees one example at a time
            check_loss(clipper.losses, model, inputs, target)
            check_rules(clipper, inputs, target)
        clipper.measure(inputs, target)
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, SfumatoError):
            raise
        raise ParameterError(
            "The module or the loss does not take examples of these shapes and types; of made-up "
            f"ones torch says: {error}"
        ) from error
    return clipper


def check_rules(clipper: Clipper, inputs: tuple[Any, ...], target: Any) -> None:
    """Take the slower way where the gradients of layers are not those of the module.

    It is tried as in training, but that nothing is dropped. A loss that takes no made-up targets is
    left to what is known of the layers.
    """
    made_up = tuple(make_up(x) for x in inputs)
    wanted = torch.zeros_like(make_classes(target, 0))
    with _nothing_dropped(clipper.module):
        try:
            own, true = (
                _with_same_coins(sums, clipper, made_up, wanted) for sums in (_sums, _true_sums)
            )
        except ParameterError:
            raise
        except Exception:  # noqa: BLE001 - whatever a loss says of values that it does not take
            return
    peak = max(float(gradient.abs().max()) for gradient in true.values())
    if all(_close(own[name], true[name], peak) for name in true):
        return
    clipper.reading = Reading(slow=_OUTSIDE)


@contextmanager
def _nothing_dropped(module: Any) -> Iterator[None]:
    """Train without dropout: layers that are written out draw it in another order."""
    was = module.training
    module.train()
    kept = [(part, "p", part.p) for part in module.modules() if isinstance(part, _DropoutNd)]
    kept += [(p, "dropout", p.dropout) for p in module.modules() if isinstance(p, _DROPPING)]
    try:
        for part, name, _ in kept:
            setattr(part, name, 0.0)
        yield
    finally:
        for part, name, share in kept:
            setattr(part, name, share)
        module.train(was)


def _with_same_coins(sums: Callable[..., Any], *given: Any) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return sums(*given)


def _sums(clipper: Clipper, inputs: tuple[Any, ...], target: Any) -> dict[str, Any]:
    """Add up whole gradients by the rules of layers."""
    parts = clipper._parts(inputs, target)  # noqa: SLF001 - the one who sees into it
    norms = torch.sqrt(sum((part.norms() for part in parts), torch.zeros(len(target)).double()))
    unit = float(norms.max()) or 1.0
    total = clipper.zero()
    for part in parts:
        name = clipper.places[id(part.parameter)]
        part.add(total.sums[name], torch.ones(len(target), dtype=torch.float64), unit)
    return {name: steps * unit * 2.0**-20 for name, steps in total.sums.items()}


def _true_sums(clipper: Clipper, inputs: tuple[Any, ...], target: Any) -> dict[str, Any]:
    loss = clipper.losses(clipper.module(*inputs), target).sum()
    trained = list(clipper.names.values())
    found = torch.autograd.grad(loss, trained, allow_unused=True)
    return {
        name: torch.zeros_like(parameter) if gradient is None else gradient
        for (name, parameter), gradient in zip(clipper.names.items(), found, strict=True)
    }


def _close(own: Any, true: Any, peak: float) -> bool:
    same = torch.isclose(own, true.double(), rtol=_CLOSE, atol=_CLOSE * peak, equal_nan=True)
    return bool(same.all())
