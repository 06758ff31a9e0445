"""The decorator of compiled kernels.

What the compiler made is kept in files beside the code, with the types it was made for. Where a
newer version of Sfumato has renamed such a type, the files an older one has left cannot be read,
and numba raises instead of compiling again. Here they count as absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from numba.core.caching import IndexDataCacheFile
from numba.core.cpu import CPUTargetOptions

if TYPE_CHECKING:
    from collections.abc import Callable


UNCOUNTED: dict[str, Any] = {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}
"""What numba's own inner functions are compiled with."""


class ForgivingIndex(IndexDataCacheFile):  # type: ignore[misc]
    """A list of what was compiled earlier, empty where it cannot be read."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # noqa: BLE001 - whatever a pickle of another version may raise
            return {}


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function when it is first called, and keep what was made where asked to."""

    def compiled(function: Callable[..., Any]) -> Any:
        made = numba.njit(**options)(function)
        if options.get("cache"):
            made._cache._cache_file.__class__ = ForgivingIndex  # noqa: SLF001
        return made

    return compiled


def njit_inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel that other kernels call again and again, and that makes no array.

    It is lent its arrays: numba counts no references to them, which takes longer than many a call.
    A kernel that does make one is refused when it is compiled.
    """
    made: Callable[..., Any] = njit(cache=True, **UNCOUNTED)(function)
    return made
