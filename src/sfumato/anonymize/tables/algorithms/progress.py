"""How an algorithm tells a person that it is alive."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, float, str], None]
"""Called with the share done in [0, 1], the best loss so far, and a few words."""
