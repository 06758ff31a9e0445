"""From a layer's inputs and output gradients to the gradients of single examples.

Contract: :func:`read_site` turns what the tape kept of a layer into one or several *parts*. A part
knows the squared norm of each example's gradient for its parameters, and adds the clipped
gradients up as whole numbers of steps of 2⁻²⁰·C. There are three kinds; g is an example's gradient,
c its clipping factor, T the positions (words, pixels):

* :class:`Whole` holds g itself. c·g is rounded step by step: off by at most √d·½ step.
* :class:`Outer` holds a_t and b_t with g = Σ_t b_t·a_tᵀ, and never forms g. Rows of the batch are
  taken in *pieces* of R rows, k whole examples. In each, a_t and c·b_t (in steps) are multiplied in
  single precision, or a_t/‖a_t‖ and c·‖a_t‖·b_t where a norm of the piece is out of the ordinary;
  the sum of the piece is rounded to steps, and pieces are added exactly. An example more changes
  its own piece and no other: which rows are in a piece follows from their seats, and equal pieces
  have equal products, to the last bit (tests look). The sum of R products is off by γ·Σ|…| at most,
  in any order, fused or not (Higham, *Accuracy and Stability*, ch. 3), γ = n·2⁻²⁴/(1 − n·2⁻²⁴) with
  n = R + 8 for the roundings of the factors. By Cauchy and Schwarz, and as c is kept so small that
  c·Σ_t ‖a_t‖·‖b_t‖ ≤ κ·C, that is at most γ·k·κ·C in norm, with and without the example: 2·γ·k·κ·C,
  and √(I·O) steps for rounding both sums, where I and O are the lengths of a_t and b_t; κ = 1 for T
  = 1, where that is the norm itself, else 16. Factors are at most 2⁴⁰ and 2⁶⁰ steps (or 1 and 2²⁴),
  and their products 2²⁴: none overflows, and what underflows, 2⁻¹²⁶·2⁴⁰ an entry at most, is below
  2⁻⁶⁰·C.
* :class:`Lookup` holds the rows b_t of an embedding and their words: T·√E·½ step. Rows of one word
  may cancel, so c is kept so small that c·Σ‖b_t‖ ≤ 2¹²·C: what is added to an entry on the way
  stays far below 2⁵³, and exact.

``slack`` is that bound divided by C: what rounding adds to the sensitivity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch.nn import functional

from sfumato.dp.learn.sgd import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from sfumato.dp.learn.sgd.tape import Site

STEP_BITS = 20
_REACH = 16.0  # κ
_PIECE, _PIECE_OF_POSITIONS = 64, 128  # R, for one position and for several
MOST_ROWS = 1 << 12  # sums of so many examples stay far below 2⁵³
_ULP = 2.0**-52
_CHUNK = 32  # examples whose patches stay in the cache
_CHEAP = 4  # single precision and no copies make whole gradients so much cheaper
_FAR = 2.0**12
_LOST = 2.0**-60  # what underflows
INSIDE = 1 - 2.0**-10
"""Gradients are clipped to so much of the clip, so that rounding of norms never exceeds it."""


class Part(Protocol):
    """Gradients of some parameters, example by example."""

    def norms(self) -> Any:
        """Give the squared norm of each example's gradient, in doubles."""

    def reach(self) -> Any:
        """Give what c must not exceed κ·C divided by, or None where nothing limits it."""

    @property
    def parameter(self) -> Any:
        """What the gradients are of."""

    def add(self, total: Any, factors: Any, clip: float) -> None:
        """Add clipped gradients to a sum of whole steps, which are held as doubles."""

    @property
    def held(self) -> int:
        """How many numbers are kept of an example."""

    @property
    def slack(self) -> float:
        """What rounding adds to the sensitivity, divided by the clip."""


@dataclass(eq=False)
class Whole:
    """Gradients that are there themselves."""

    parameter: Any
    gradients: Any  # one for each example, float
    long: Any = None  # their norms, where they are known

    def norms(self) -> Any:
        """Give the squared norm of each example's gradient."""
        return (lengths(self.gradients.flatten(1)) if self.long is None else self.long) ** 2

    def reach(self) -> Any:
        """Nothing limits the factors."""
        return None

    def add(self, total: Any, factors: Any, clip: float) -> None:
        """Round each clipped gradient to steps and add it."""
        scales = factors * (2.0**STEP_BITS / clip)
        kernels.add_rounded(
            array(self.gradients.flatten(1)), scales.numpy(), total.view(-1).numpy()
        )

    @property
    def held(self) -> int:
        """The gradient's size."""
        return int(self.gradients[0].numel())

    @property
    def slack(self) -> float:
        """Half a step an entry."""
        return math.sqrt(self.held) * 2.0 ** -(STEP_BITS + 1)


@dataclass(eq=False)
class Outer:
    """Gradients Σ_t b_t·a_tᵀ of a weight that are never formed."""

    parameter: Any
    a: Any  # examples × positions × inputs
    b: Any  # examples × positions × outputs

    def __post_init__(self) -> None:
        self.long_a, self.long_b = lengths(self.a), lengths(self.b)
        self.single = self.a.shape[1] == 1

    def norms(self) -> Any:
        """Give ‖a‖²·‖b‖² for one position, Σ_{t,s} ⟨a_t, a_s⟩⟨b_t, b_s⟩ for several, rounded up."""
        if self.single:
            return (self.long_a * self.long_b).squeeze(1) ** 2
        unit_a, unit_b = _unit(self.long_a.amax(dim=1)), _unit(self.long_b.amax(dim=1))
        a = self.a.double() / unit_a[:, None, None]  # so that no product of doubles underflows
        b = self.b.double() / unit_b[:, None, None]
        products = (a @ a.transpose(1, 2)) * (b @ b.transpose(1, 2))
        terms = a.shape[2] + b.shape[2] + a.shape[1] ** 2
        most = (self.long_a * self.long_b).sum(dim=1) ** 2
        found = products.sum(dim=(1, 2)).clamp_min(0.0) * (unit_a * unit_b) ** 2
        return found + (terms + 4) * _ULP * most

    def reach(self) -> Any:
        """Give Σ‖a_t‖·‖b_t‖ / κ."""
        if self.single:
            return None
        return (self.long_a * self.long_b).sum(dim=1) / _REACH

    def add(self, total: Any, factors: Any, clip: float) -> None:
        """Multiply piece by piece in single precision, round and add."""
        rows, unit = self._piece()[1], 2.0**STEP_BITS / clip
        inward, outward = np.empty(self.long_a.numel()), np.empty(self.long_a.numel())
        long = self.long_a.numpy(), self.long_b.numpy()
        plain = kernels.row_scales(long, factors.numpy(), unit, rows, inward, outward)
        a, b = array(self.a.flatten(0, 1)), array(self.b.flatten(0, 1))
        if not plain or a.dtype != np.float32:
            a = kernels.scale_rows(a, inward, _room(*a.shape))
        right, product = _room(rows, b.shape[1]), _room(b.shape[1], a.shape[1])
        sums = total.view(total.shape[0], -1).numpy()
        for start in range(0, len(a), rows):
            piece = slice(start, start + rows)
            left = a[piece]
            part = kernels.scale_rows(b[piece], outward[piece], right)[: len(left)]
            np.matmul(part.T, left, out=product)
            kernels.add_whole(product, sums)

    def _piece(self) -> tuple[int, int]:
        """Choose how many examples are in a piece, and how many rows at most."""
        if self.single:
            return _PIECE, _PIECE
        positions = self.a.shape[1]
        together = max(1, _PIECE_OF_POSITIONS // positions)
        return together, together * positions

    @property
    def held(self) -> int:
        """Inputs and output gradients."""
        return int(self.a[0].numel() + self.b[0].numel())

    @property
    def slack(self) -> float:
        """The bound of the module's docstring, divided by the clip."""
        inputs, outputs = self.a.shape[2], self.b.shape[2]
        together, rows = self._piece()
        terms = (rows + 8) * 2.0**-24
        reach = 1.0 if self.single else _REACH
        products = 2 * terms / (1 - terms) * together * reach
        return float(products + math.sqrt(inputs * outputs) * 2.0**-STEP_BITS + _LOST)


@dataclass(eq=False)
class Lookup:
    """Gradients of an embedding: b_t belongs to the row of word t."""

    parameter: Any
    words: Any  # examples × positions
    b: Any  # examples × positions × width, 0 at padding

    def norms(self) -> Any:
        """Give the squared norm, once the rows of the same word are added."""
        out = torch.empty(len(self.b), dtype=torch.float64)
        kernels.word_norms(array(self.words), array(self.b), out.numpy())
        return out

    def reach(self) -> Any:
        """Give Σ‖b_t‖ / 2¹²."""
        return lengths(self.b).sum(dim=1) / _FAR

    def add(self, total: Any, factors: Any, clip: float) -> None:
        """Round each clipped row to steps and add it where its word is."""
        scales = factors * (2.0**STEP_BITS / clip)
        kernels.add_words(array(self.words), array(self.b), scales.numpy(), total.numpy())

    @property
    def held(self) -> int:
        """Words and their rows."""
        return int(self.words[0].numel() + self.b[0].numel())

    @property
    def slack(self) -> float:
        """Half a step an entry, at every position."""
        return float(self.b.shape[1] * math.sqrt(self.b.shape[2]) * 2.0 ** -(STEP_BITS + 1))


def _room(rows: int, width: int) -> Any:
    """Make room for singles, aligned as torch aligns."""
    return torch.empty((rows, width), dtype=torch.float32).numpy()


def array(x: Any) -> Any:
    """See a tensor as an array, in single or double precision."""
    wide = x.dtype in {torch.float32, torch.float64, torch.int64}
    plain = x.long() if not wide and not x.dtype.is_floating_point else x if wide else x.float()
    return plain.detach().contiguous().numpy()


def lengths(x: Any) -> Any:
    """Give norms along the last dimension, as doubles.

    Squares of singles (and halves) lie between 2⁻²⁹⁸ and 2²⁵⁶ and are added as doubles: none
    underflows, and the sum of n is off by at most n·2⁻⁵³ of itself, in any order, far less than
    :data:`INSIDE` leaves free. Doubles are divided by the largest first; what underflows then is
    nothing beside it. A row that holds no number has no norm.
    """
    if x.dtype is not torch.float64:
        rows = array(x)
        out = torch.empty(x.shape[:-1], dtype=torch.float64)
        kernels.row_norms(rows.reshape(-1, x.shape[-1]), out.view(-1).numpy())
        return out
    unit = _unit(x.abs().amax(dim=-1))
    return torch.linalg.vector_norm(x / unit.unsqueeze(-1), dim=-1) * unit


def _unit(peak: Any) -> Any:
    """Choose what to divide by: the largest, where it is a number other than 0."""
    return torch.where((peak > 0) & torch.isfinite(peak), peak, torch.ones_like(peak))


def read_site(site: Site, trainable: Container[int]) -> list[Part]:
    """Turn what the tape kept of a layer into parts, for parameters that are to be trained."""
    if any(call.b is None for call in site.calls):
        site.calls = [call for call in site.calls if call.b is not None]
    if not site.calls:  # the losses do not depend on it
        return []
    parts = _RULES[site.rule](site)
    return [part for part in parts if id(part.parameter) in trainable]


def _linear(site: Site) -> list[Any]:
    a = _joined([call.a for call in site.calls])
    b = _joined([call.b for call in site.calls])
    weight = _weight(site.weight, a, b)
    if site.bias is None:
        return [weight]
    if b.shape[1] > 1:
        return [weight, Whole(site.bias, b.sum(dim=1))]
    return [weight, Whole(site.bias, b.squeeze(1), weight.long_b.squeeze(1))]


def _joined(tensors: list[Any]) -> Any:
    """Lay all positions of all calls side by side: examples × positions × width."""
    flat = [x.reshape(x.shape[0], -1, x.shape[-1]) for x in tensors]
    return flat[0] if len(flat) == 1 else torch.cat(flat, dim=1)


def _weight(weight: Any, a: Any, b: Any) -> Any:
    """Choose the cheaper form: factors, or gradients themselves."""
    positions, inputs, outputs = a.shape[1], a.shape[2], b.shape[2]
    if positions > 1 and inputs * outputs <= _CHEAP * positions * (inputs + outputs):
        gradients = b.transpose(1, 2) @ a
        return Whole(weight, gradients.view(-1, *weight.shape))
    return Outer(weight, a, b)


def _convolution(site: Site) -> list[Any]:
    """See a convolution as a linear map of patches."""
    module = site.module
    parts: list[Any] = []
    whole, bias = None, None
    for call in site.calls:
        gradients = torch.empty((len(call.a), *site.weight.shape), dtype=call.b.dtype)
        for start in range(0, len(call.a), _CHUNK):
            piece = slice(start, start + _CHUNK)
            b = call.b[piece].flatten(2)
            patches = _patches(module, call.a[piece], call.b.shape[2:]).to(b.dtype)
            out = gradients[piece].view(len(b), b.shape[1], -1)
            torch.bmm(b, patches.transpose(1, 2), out=out)  # examples × outputs × patch
        shares = call.b.flatten(2).sum(dim=2)
        whole = gradients if whole is None else whole + gradients
        bias = shares if bias is None else bias + shares
    parts.append(Whole(site.weight, whole))
    if site.bias is not None:
        parts.append(Whole(site.bias, bias))
    return parts


def _patches(module: Any, a: Any, positions: tuple[int, ...]) -> Any:
    """Give the patches a kernel meets: examples × patch × positions."""
    signal = a.dim() == 3  # an image of height 1
    image = array(a.unsqueeze(2) if signal else a)
    flat, edge = ((1,), (0,)) if signal else ((), ())
    size = (*flat, *module.kernel_size)
    out = np.empty((*image.shape[:2], *size, *flat, *positions), dtype=image.dtype)
    kernels.patches(
        image, (*flat, *module.dilation), (*edge, *module.padding), (*flat, *module.stride), out
    )
    return torch.from_numpy(out).view(len(image), -1, math.prod(positions))


def _embedding(site: Site) -> list[Any]:
    words = torch.cat([call.a.reshape(call.a.shape[0], -1) for call in site.calls], dim=1)
    b = _joined([call.b for call in site.calls])
    if site.module.padding_idx is not None:
        b = b * (words != site.module.padding_idx).unsqueeze(2)
    return [Lookup(site.weight, words, b)]


def _normalization(site: Site) -> list[Any]:
    weight, bias = 0.0, 0.0
    for call in site.calls:
        normal = _NORMAL[type(site.module)](site.module, call.a)
        weight = weight + _gathered(site.module, normal * call.b)
        bias = bias + _gathered(site.module, call.b)
    parts = [Whole(site.weight, weight)] if site.weight is not None else []
    return parts + ([Whole(site.bias, bias)] if site.bias is not None else [])


def _gathered(module: Any, product: Any) -> Any:
    """Add up over all positions that share a parameter."""
    shape = getattr(module, "normalized_shape", None)
    if shape is None:  # one parameter a channel, the second dimension
        return product.reshape(*product.shape[:2], -1).sum(dim=2)
    return product.reshape(product.shape[0], -1, *shape).sum(dim=1)


def _root_mean_square(module: Any, a: Any) -> Any:
    dims = tuple(range(-len(module.normalized_shape), 0))
    eps = module.eps if module.eps is not None else torch.finfo(a.dtype).eps
    return a * torch.rsqrt((a * a).mean(dim=dims, keepdim=True) + eps)


_NORMAL: dict[Any, Callable[[Any, Any], Any]] = {
    torch.nn.LayerNorm: lambda m, a: functional.layer_norm(a, m.normalized_shape, eps=m.eps),
    torch.nn.GroupNorm: lambda m, a: functional.group_norm(a, m.num_groups, eps=m.eps),
    torch.nn.InstanceNorm1d: lambda m, a: functional.instance_norm(a, eps=m.eps),
    torch.nn.InstanceNorm2d: lambda m, a: functional.instance_norm(a, eps=m.eps),
    torch.nn.RMSNorm: _root_mean_square,
}

_RULES: dict[str, Callable[[Site], list[Any]]] = {
    "linear": _linear,
    "convolution": _convolution,
    "embedding": _embedding,
    "normalization": _normalization,
}
