"""Which way each module is trained: by rules for its layers, or example by example.

Contract: :func:`read_module` refuses layers that mix examples, with what to use instead; it gives a
rule to every layer that has one; and where a layer has parameters and no rule, or two layers
share a parameter, the whole module takes the slower way of ``torch.func``, which serves
anything that treats examples apart. What layers do not show, in a module's own code or in a loss,
is tried on made-up examples (:func:`check_independent`, :func:`check_loss`).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from sfumato.dp.learn.sgd.composite import run_attention, run_recurrent
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d)
_NORMALIZATIONS = (
    nn.LayerNorm, nn.GroupNorm, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.RMSNorm,
)  # fmt: skip
_RECURRENT = (nn.LSTM, nn.GRU, nn.RNN)


@dataclass(frozen=True, eq=False)
class Reading:
    """Rules of layers, forwards written out, and why ``torch.func`` is needed if it is."""

    rules: dict[Any, str] = field(default_factory=dict)
    forwards: dict[Any, Callable[..., Any]] = field(default_factory=dict)
    slow: str | None = None


def read_module(module: Any) -> Reading:
    """Look at every layer once."""
    rules: dict[Any, str] = {}
    forwards: dict[Any, Callable[..., Any]] = {}
    slow = _shared(module)
    inside: set[int] = set()
    for name, part in module.named_modules():
        refuse_mixing(name, part)
        if id(part) in inside:
            continue
        rule = _rule(part)
        if rule is not None:
            rules[part] = rule
        elif type(part) in _RECURRENT and not part.proj_size:
            forwards[part] = run_recurrent
        elif type(part) is nn.MultiheadAttention and _plain_attention(part):
            forwards[part] = run_attention
            inside.add(id(part.out_proj))  # its parameters are read by run_attention
        elif next(part.parameters(recurse=False), None) is not None:
            slow = slow or f"{type(part).__name__} has no rule"
    return Reading(slow=slow) if slow else Reading(rules, forwards)


def _rule(part: Any) -> str | None:
    if isinstance(part, nn.Linear):
        return "linear"
    if type(part) in _CONVOLUTIONS and part.groups == 1 and part.padding_mode == "zeros":
        return None if isinstance(part.padding, str) else "convolution"
    plain = type(part) is nn.Embedding and part.max_norm is None
    if plain and not part.scale_grad_by_freq and not part.sparse:
        return "embedding"
    if type(part) in _NORMALIZATIONS and next(part.parameters(), None) is not None:
        return "normalization"
    return None


def _plain_attention(part: Any) -> bool:
    return (
        part.in_proj_weight is not None
        and part.bias_k is None
        and part.bias_v is None
        and not part.add_zero_attn
    )


def _shared(module: Any) -> str | None:
    """Tell of parameters that two layers share: their gradients do not simply add up in norm."""
    owners = Counter(
        id(parameter) for part in module.modules() for parameter in part.parameters(recurse=False)
    )
    return "two layers share a parameter" if any(n > 1 for n in owners.values()) else None


def refuse_mixing(name: str, part: Any) -> None:
    """Refuse layers in which one example's output depends on others."""
    where = f"Layer {name!r}" if name else "The module"
    if isinstance(part, nn.modules.batchnorm._BatchNorm):  # noqa: SLF001 - the common base
        raise ParameterError(
            f"{where} ({type(part).__name__}) mixes the examples of a batch, so no gradient "
            "belongs to one example; use nn.GroupNorm or nn.LayerNorm instead."
        )
    if getattr(part, "track_running_stats", False):
        raise ParameterError(
            f"{where} ({type(part).__name__}) keeps statistics of the examples it has seen; use "
            "track_running_stats=False, or nn.GroupNorm."
        )


def check_independent(module: Any, inputs: tuple[Any, ...]) -> None:
    """Refuse a module that mixes examples in its own code, by trying it on made-up inputs.

    It is tried as it will be used in training and as it will be used afterwards, with the same
    coins for whatever it draws; buffers that change would carry one example to the next.
    """
    made_up = tuple(make_up(x) for x in inputs)
    other = tuple(x.clone() for x in made_up)
    for x, fresh in zip(other, (make_up(x) for x in inputs), strict=True):
        x[2] = fresh[0]
    was = module.training
    kept = {name: buffer.clone() for name, buffer in module.named_buffers()}
    try:
        for training in (True, False):
            module.train(training)
            first, second = _with_same_coins(module, made_up), _with_same_coins(module, other)
            _compare(first, second, len(made_up[0]))
        changed = [name for name, x in module.named_buffers() if not torch.equal(x, kept[name])]
    finally:
        module.train(was)
        with torch.no_grad():
            for name, buffer in module.named_buffers():
                buffer.copy_(kept[name])
    if changed:
        raise ParameterError(
            f"The module keeps what it has seen in {changed[0]!r}: a buffer that the forward pass "
            "changes holds values of examples that no noise hides. Leave it out, or use a layer "
            "such as nn.GroupNorm that keeps nothing."
        )


def check_loss(
    losses: Callable[..., Any], module: Any, inputs: tuple[Any, ...], target: Any
) -> None:
    """Refuse a loss that mixes examples, by trying it on made-up outputs and targets.

    Gradients are read off where the losses begin, so those of one example must not depend on
    another's output or target. It is tried on outputs of the module and, as a module may begin
    with zeros, on made-up ones; trials that a loss does not take (other classes, outputs that are
    no probabilities) are left out, but for the module's outputs and targets 0.
    """
    out, other = (_with_same_coins(module, tuple(make_up(x) for x in inputs)) for _ in range(2))
    normal = torch.randn(out.shape, dtype=out.dtype)
    targets, others = (make_classes(target, shift) for shift in (0, 1))
    trials = [(out, other), (normal, other), (normal, -8 * normal), (normal, 0 * normal)]
    for first, second in trials:
        try:
            _try_loss(losses, first, second, targets, others)
        except ParameterError:
            raise
        except Exception:  # noqa: BLE001 - whatever a loss says of values that it does not take
            zeros = torch.zeros_like(targets)
            if first is out:
                _try_loss(losses, first, second, zeros, zeros)


def _try_loss(losses: Callable[..., Any], out: Any, other: Any, target: Any, others: Any) -> None:
    """Compare gradients before and after the third example is replaced by another."""
    changed, wanted = out.clone(), target.clone()
    changed[2], wanted[2] = other[2], others[2]
    first, second = _gradients(losses, out, target), _gradients(losses, changed, wanted)
    peak = first[[0, 1, 3, 4]].nan_to_num(0.0, 0.0, 0.0).abs().max()
    scale = 1 / peak if peak > 0 else 1.0  # means over many outputs have small gradients
    if not _same_others(first * scale, second * scale):
        raise ParameterError(
            "The loss mixes examples: changing one changed the gradients of others, so that no "
            "gradient belongs to one example. The loss of an example must follow from its own "
            "output and target; look for means over the batch, pairs of examples, or outputs and "
            "targets that are not of the same shape."
        )


def _gradients(losses: Callable[..., Any], out: Any, target: Any) -> Any:
    """Give the gradients of all losses together by the outputs."""
    begun = out.detach().clone().requires_grad_(True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found = torch.autograd.grad(losses(begun, target).sum(), begun, allow_unused=True)[0]
    return torch.zeros_like(out) if found is None else found


def make_classes(target: Any, shift: int) -> Any:
    """Make targets 0, 1, 0, … up, which are classes, numbers and probabilities alike."""
    shape = (5, *target.shape[1:])
    return ((torch.arange(math.prod(shape)) + shift) % 2).view(shape).to(target.dtype)


def _with_same_coins(module: Any, inputs: tuple[Any, ...]) -> Any:
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return module(*inputs)


def _compare(first: Any, second: Any, rows: int) -> None:
    """Refuse outputs of others that changed with the third example."""
    if not isinstance(first, torch.Tensor) or first.shape[0] != rows:
        raise ParameterError(
            "The module gives one tensor with a row for each example; wrap it so that it does."
        )
    if not _same_others(first, second):
        raise ParameterError(
            "The module mixes examples: changing one changed the outputs of others. Every example "
            "must be treated apart; look for means over the batch, or batch_first=False."
        )


def _same_others(first: Any, second: Any) -> bool:
    """Whether all rows but the third are the same."""
    rest = [k for k in range(len(first)) if k != 2]
    return bool(torch.allclose(first[rest], second[rest], rtol=1e-4, atol=1e-5, equal_nan=True))


def make_up(x: Any) -> Any:
    """Make five examples up, of the shape and type of others."""
    shape = (5, *x.shape[1:])
    if x.dtype.is_floating_point:
        return torch.randn(shape, dtype=x.dtype)
    return torch.randint(0, 2, shape, dtype=x.dtype)
