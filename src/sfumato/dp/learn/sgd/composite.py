"""Recurrent and attention layers, written out of linear maps.

Torch computes these layers in one fused call, which shows no inputs and gradients of the linear
maps inside. Here the same formulas are computed from those maps, each a site of the tape. Results
agree with torch's to rounding (tests compare both, forwards and gradients).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.dp.learn.sgd.tape import Tape


def run_recurrent(tape: Tape, part: Any, x: Any, state: Any = None) -> Any:
    """Compute an RNN, LSTM or GRU layer by layer and step by step."""
    if isinstance(x, torch.nn.utils.rnn.PackedSequence):
        raise ParameterError("Packed sequences are not trained on; pad them to one length.")
    if not part.batch_first:
        raise ParameterError("A recurrent layer needs batch_first=True to be trained privately.")
    ways = 2 if part.bidirectional else 1
    states = _initial(part, x, state, part.num_layers * ways)
    finals = []
    for layer in range(part.num_layers):
        outs = []
        for way in range(ways):
            out, final = _run_way(tape, part, x, states[layer * ways + way], layer, way)
            outs.append(out)
            finals.append(final)
        x = torch.cat(outs, dim=-1) if ways == 2 else outs[0]
        if part.dropout and layer < part.num_layers - 1:
            x = functional.dropout(x, part.dropout, part.training)
    last = torch.stack([final[0] for final in finals])
    if isinstance(part, torch.nn.LSTM):
        return x, (last, torch.stack([final[1] for final in finals]))
    return x, last


def _initial(part: Any, x: Any, state: Any, count: int) -> list[tuple[Any, ...]]:
    if state is None:
        zero = torch.zeros(len(x), part.hidden_size, dtype=x.dtype)
        return [(zero, zero)] * count
    if isinstance(part, torch.nn.LSTM):
        return [(state[0][k], state[1][k]) for k in range(count)]
    return [(state[k], None) for k in range(count)]


def _run_way(
    tape: Tape, part: Any, x: Any, state: tuple[Any, ...], layer: int, way: int
) -> tuple[Any, tuple[Any, ...]]:
    """Run one layer in one direction over all steps."""
    name = f"_l{layer}" + ("_reverse" if way else "")
    biases = (f"bias_ih{name}", f"bias_hh{name}") if part.bias else (None, None)
    inner = tape.linear(part, x, f"weight_ih{name}", biases[0])
    cell = _CELLS[type(part)]
    hidden, memory = state
    outs = []
    steps = range(x.shape[1])
    for t in reversed(steps) if way else steps:
        turned = tape.linear(part, hidden, f"weight_hh{name}", biases[1])
        hidden, memory = cell(part, inner[:, t], turned, hidden, memory)
        outs.append(hidden)
    if way:
        outs.reverse()
    return torch.stack(outs, dim=1), (hidden, memory)


def _lstm(part: Any, inner: Any, turned: Any, hidden: Any, memory: Any) -> tuple[Any, Any]:  # noqa: ARG001 - as all cells
    i, f, g, o = (inner + turned).chunk(4, dim=-1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def _gru(part: Any, inner: Any, turned: Any, hidden: Any, memory: Any) -> tuple[Any, Any]:  # noqa: ARG001 - as all cells
    ri, zi, ni = inner.chunk(3, dim=-1)
    rh, zh, nh = turned.chunk(3, dim=-1)
    reset, update = torch.sigmoid(ri + rh), torch.sigmoid(zi + zh)
    fresh = torch.tanh(ni + reset * nh)
    return (1 - update) * fresh + update * hidden, None


def _rnn(part: Any, inner: Any, turned: Any, hidden: Any, memory: Any) -> tuple[Any, Any]:  # noqa: ARG001 - as all cells
    wave = torch.tanh if part.nonlinearity == "tanh" else torch.relu
    return wave(inner + turned), None


_CELLS: dict[Any, Callable[..., Any]] = {
    torch.nn.LSTM: _lstm,
    torch.nn.GRU: _gru,
    torch.nn.RNN: _rnn,
}


def run_attention(
    tape: Tape,
    part: Any,
    query: Any,
    key: Any,
    value: Any,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,  # noqa: ARG001 - the mask says it
) -> tuple[Any, Any]:
    """Compute multi-head attention from its projections."""
    if not part.batch_first:
        raise ParameterError("Attention needs batch_first=True to be trained privately.")
    heads, width = part.num_heads, part.head_dim
    q, k, v = (_split(x, heads, width) for x in _project(tape, part, query, key, value))
    scores = q @ k.transpose(-1, -2) / math.sqrt(width)
    if key_padding_mask is not None:
        scores = _masked(scores, key_padding_mask[:, None, None, :])
    if attn_mask is not None:
        own = attn_mask.dim() == 3  # a mask for every example and head
        mask = attn_mask.view(-1, heads, *attn_mask.shape[1:]) if own else attn_mask
        scores = _masked(scores, mask)
    weights = torch.softmax(scores, dim=-1)
    weights = functional.dropout(weights, part.dropout, part.training)
    mixed = (weights @ v).transpose(1, 2).flatten(2)
    bias = "bias" if part.out_proj.bias is not None else None
    out = tape.linear(part.out_proj, mixed, "weight", bias)
    shown = weights.mean(dim=1) if average_attn_weights else weights
    return out, (shown.detach() if need_weights else None)


def _project(tape: Tape, part: Any, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    bias = "in_proj_bias" if part.in_proj_bias is not None else None
    if query is key and key is value:
        q, k, v = tape.linear(part, query, "in_proj_weight", bias).chunk(3, dim=-1)
        return q, k, v
    # Different inputs: the parts of the map that an input does not feed get gradients of 0.
    parts = [tape.linear(part, x, "in_proj_weight", bias) for x in (query, key, value)]
    q, k, v = (out.chunk(3, dim=-1)[n] for n, out in enumerate(parts))
    return q, k, v


def _split(x: Any, heads: int, width: int) -> Any:
    return x.view(len(x), -1, heads, width).transpose(1, 2)


def _masked(scores: Any, mask: Any) -> Any:
    return scores.masked_fill(mask, -math.inf) if mask.dtype is torch.bool else scores + mask
