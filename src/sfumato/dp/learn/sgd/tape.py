"""What a backward pass leaves behind: inputs and output gradients of every layer with parameters.

Contract: while a :class:`Tape` is open, the module's parameters need no gradients, so a backward
pass computes none; each layer's input a and the gradient b of the summed losses by its output are
kept instead. All gradients of one example follow from its rows of a and b (Goodfellow, "Efficient
per-example gradient computations", 2015; Li et al., ICLR 2022; Bu et al., ICML 2023).

A *site* is one set of parameters; a site that is called several times (a recurrent cell) has
several calls, whose contributions to a gradient add up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(eq=False)
class Call:
    """One use of a layer: its input, and the gradient by its output once it is known."""

    a: Any
    b: Any = None


@dataclass(eq=False)
class Site:
    """Parameters that are used together, and how: ``rule`` names the layer's kind."""

    rule: str
    module: Any
    weight: Any
    bias: Any
    calls: list[Call] = field(default_factory=list)


class Tape:
    """Hooks on the layers of a module, for as long as it is open. It may be opened again."""

    def __init__(
        self, module: Any, rules: dict[Any, str], forwards: dict[Any, Callable[..., Any]]
    ) -> None:
        self.rules = rules
        self.forwards = forwards
        self.sites: dict[int, Site] = {}
        self._parameters = tuple(module.parameters())
        self._hooks = {rule: self._hook(rule) for rule in set(rules.values())}
        self._copy = any(getattr(part, "inplace", False) for part in module.modules())
        self._trained: list[Any] = []
        self._handles: list[Any] = []

    def __enter__(self) -> Self:
        self._trained = [p for p in self._parameters if p.requires_grad]
        for parameter in self._trained:
            parameter.requires_grad = False
        self._handles = [
            part.register_forward_hook(self._hooks[rule]) for part, rule in self.rules.items()
        ]
        for part, forward in self.forwards.items():
            part.forward = _bind(forward, self, part)
        return self

    def __exit__(self, *_: object) -> None:
        for part in self.forwards:
            part.__dict__.pop("forward", None)
        for handle in self._handles:
            handle.remove()
        for parameter in self._trained:
            parameter.requires_grad = True
        self.sites = {}

    def linear(self, part: Any, a: Any, weight: str, bias: str | None) -> Any:
        """Apply a linear map with parameters of a larger layer, as a site of its own."""
        w = getattr(part, weight)
        v = getattr(part, bias) if bias is not None else None
        out = functional.linear(a, w, v)
        return self._keep(Site("linear", part, w, v), a, out)

    def _hook(self, rule: str) -> Callable[..., Any]:
        def keep(part: Any, inputs: tuple[Any, ...], out: Any) -> Any:
            site = Site(rule, part, getattr(part, "weight", None), getattr(part, "bias", None))
            return self._keep(site, inputs[0], out)

        return keep

    def _keep(self, site: Site, a: Any, out: Any) -> Any:
        key = id(site.weight if site.weight is not None else site.bias)
        site = self.sites.setdefault(key, site)
        call = Call(a.detach())
        site.calls.append(call)
        if not out.requires_grad:  # nothing before it can be differentiated
            out.requires_grad_(True)
            out = out.clone() if self._copy else out
        out.register_hook(lambda gradient: setattr(call, "b", gradient))
        return out


def _bind(forward: Callable[..., Any], tape: Tape, part: Any) -> Callable[..., Any]:
    def bound(*args: Any, **kwargs: Any) -> Any:
        return forward(tape, part, *args, **kwargs)

    return bound
