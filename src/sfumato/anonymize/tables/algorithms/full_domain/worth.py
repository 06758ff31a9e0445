"""Whether it pays to ask of failing classes what every node below must suppress of them."""

from __future__ import annotations

from dataclasses import dataclass

_TRIES, _SELDOM = 16, 8
"""After so many nodes, bounds that rose in fewer than one of so many are rarely asked for."""


@dataclass(eq=False)
class Worth:
    """Whether bounding pays for a rule: where it hardly ever does, only some nodes try it again.

    A node that is judged without says nothing about those below, and ends sooner.
    """

    tries: int = 0
    raised: int = 0
    asked: int = 0

    def asks(self) -> bool:
        """Whether to bound this time."""
        self.asked += 1
        pays = self.raised * _SELDOM >= self.tries
        return self.tries < _TRIES or pays or self.asked % _SELDOM == 0

    def told(self, failing: int, risen: int) -> None:
        """Remember what came of classes that fail."""
        self.tries += failing > 0
        self.raised += risen > 0
