"""(k, δ): traces that run near each other, and are still told apart by whoever looks closely.

Abul, Bonchi, Nanni: Never Walk Alone, ICDE 2008, and Wait for Me, Information Systems 2010, call it
(k, δ)-anonymity: at every moment the traces of a group are within δ of each other, so that a
receiver that errs by δ cannot tell them apart. It is **not** k-anonymity, and not called so here.
Trujillo-Rasua, Domingo-Ferrer (On the privacy offered by (k, δ)-anonymity, Information Systems,
2013) show that for δ > 0 it protects nobody who is known better than to δ: released traces of a
group differ, each still follows its own person, and the nearest to a few exact places is usually
hers.
Only at δ = 0 all of a group look alike, and that is promised by `KAnonymity`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.anonymize.definitions.definition import Definition, positive_integer
from sfumato.anonymize.definitions.option import Option, number, whole_number
from sfumato.errors import ParameterError
from sfumato.lazy import later

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes
else:
    np = later("numpy")  # a definition is also read for its option alone

NOT_ANONYMOUS = (
    "This is no k-anonymity: traces of a group differ, and whoever knows where a person was more "
    "closely than that can tell which is hers."
)


def _read(text: str) -> Definition:
    k, mark, metres = text.partition(":")
    if not mark:
        raise ParameterError(
            f"--k-delta wants k and metres, such as --k-delta 5:200, not '{text}'."
        )
    return CoLocalization(whole_number("--k-delta", k), number("--k-delta", metres))


@dataclass(frozen=True)
class CoLocalization(Definition):
    """Every trace runs within `delta` metres of those of k − 1 other people; no k-anonymity.

    A model of use where observers err by δ, known as (k, δ)-anonymity. It says nothing against
    anybody who knows places exactly.

    >>> import sfumato as sf
    >>> str(sf.CoLocalization(5, delta=200))
    '(5, 200 m)-co-localization'
    """

    k: int
    delta: float
    shapes: ClassVar[frozenset[str] | None] = frozenset({"trajectories"})
    option: ClassVar[Option | None] = Option(
        "k_delta",
        ("--k-delta",),
        "K:METRES",
        "(k, δ) of traces: each runs within so many metres of K − 1 others. No k-anonymity: "
        "whoever knows a person's places more closely can tell her trace.",
        _read,
        several=False,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_integer("k", self.k))
        given = self.delta
        if (
            isinstance(given, bool)
            or not isinstance(given, int | float)
            or not math.isfinite(given)
        ):
            raise ParameterError(f"delta must be a number of metres above 0, not {given!r}.")
        if given <= 0:
            raise ParameterError(
                "delta must be above 0; traces of a group that are 0 m apart are alike, which is "
                "what sf.KAnonymity promises."
            )
        object.__setattr__(self, "delta", float(given))

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where at least k people run together."""
        return classes.sizes >= self.k

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - places are what is known
        """Say how near others are, and what that does not protect from."""
        return (
            f"At every moment shown, the traces of a group of at least {self.k} people are within "
            f"{self.delta:g} m of each other. {NOT_ANONYMOUS}"
        )

    def __str__(self) -> str:
        return f"({self.k}, {self.delta:g} m)-co-localization"
