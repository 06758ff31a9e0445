"""Kernels that are compiled only where that pays.

Where the package ships compiled kernels, they are used (`compiler.py`). Where it does not, loading
the compiler with its code costs a process more than half a second, longer than many whole runs
need. So the kernels every release passes through exist twice, with the same result
to the bit: as a loop for the compiler, and *plain*, as array operations. A process starts
plain and keeps account of what it could have saved; once that, with the work at hand, exceeds
the price of loading, it loads. Whatever follows, it has then paid at most twice what the better
choice would have cost (renting before buying: Karlin, Manasse, Rudolph and Sleator,
*Competitive snoopy caching*, 1988).

Which of the two runs is decided by sizes alone, never by a clock or by values.
"""

from __future__ import annotations

import sys
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from sfumato import compiler

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

PRICE = 0.5
"""Seconds it takes to load the compiler and the code it made earlier."""


def free() -> bool:
    """Return whether compiled kernels cost nothing: shipped, or the compiler is already loaded."""
    return compiler.LIBRARY is not None or "numba" in sys.modules


class WaitingAccount:
    """What a process has lost by staying plain, in estimated seconds."""

    def __init__(self, price: float = PRICE) -> None:
        self.price = price
        self.lost = 0.0
        self.coming = 0.0

    def foresee(self, seconds: float) -> None:
        """Tell of work that is sure to come, so that nothing is lost until it does."""
        self.coming = max(self.coming, seconds)

    def worth(self, seconds: float) -> bool:
        """Return whether to run compiled what would lose these seconds if run plain."""
        if free():
            return True
        if self.lost + max(seconds, self.coming) >= self.price:
            return True
        self.lost += seconds
        return False


ACCOUNT = WaitingAccount()


class Kernel(Generic[P, R]):
    """A function in two forms; a call picks one by what it costs."""

    def __init__(
        self, loop: Callable[..., Any], plain: Callable[P, R], loss: Callable[..., float]
    ) -> None:
        update_wrapper(self, loop)
        self._loop = loop
        self.plain = plain
        self._loss = loss

    @cached_property
    def compiled(self) -> Callable[P, R]:
        """The loop, compiled; made when first asked for."""
        made: Callable[P, R] = compiler.njit(cache=True)(self._loop)
        return made

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the cheaper form."""
        if free() or ACCOUNT.worth(self._loss(*args, **kwargs)):
            return self.compiled(*args, **kwargs)
        return self.plain(*args, **kwargs)


def kernel(
    plain: Callable[P, R], *, loss: Callable[..., float]
) -> Callable[[Callable[..., Any]], Kernel[P, R]]:
    """Decorate a loop for the compiler that does what `plain` does.

    `loss` estimates, from the sizes of the arguments, how many seconds longer `plain` takes.
    """

    def made(loop: Callable[..., Any]) -> Kernel[P, R]:
        return Kernel(loop, plain, loss)

    return made
