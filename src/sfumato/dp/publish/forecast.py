"""What a release will be worth, told before anything is spent.

Contract: a :class:`Forecast` is made from public parameters alone, and from a number of rows that
the caller guesses or has been told. ``useful`` is a judgement by rules of thumb that were
measured, not a guarantee; ``advice`` says what would help.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.representation import Shown


@dataclass(frozen=True)
class Forecast(Shown):
    """Expected errors by name, whether the release will be of use, and what to do if not."""

    what: str
    errors: dict[str, float]
    useful: bool
    advice: str = ""

    def __str__(self) -> str:
        parts = "; ".join(f"{name} ± {size:.3g}" for name, size in self.errors.items())
        told = f"{self.what}: {parts} (one standard deviation)"
        return told if self.useful else f"{told}. {self.advice}"
