"""What cloaking promises, in words for people and as plain values for the ledger."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sfumato.data.wording import some


@dataclass(frozen=True)
class CloakPromise:
    """Boxes that k users share: for everybody at once, or, with `wait`, for requests as they come.

    `k` is the least and `most_k` the most that anybody asked for; `min_area` is the most, too.
    `session` is absent where nothing is remembered, and `reciprocal` for requests as they come:
    with whom a request leaves depends on when it came.
    """

    k: int
    most_k: int
    reciprocal: bool | None = None
    min_area: float = 0.0
    diversity: int = 1
    reach: float | None = None
    wait: float | None = None
    session: float | None = None

    def __str__(self) -> str:
        asked = f"k = {self.k}" if self.k == self.most_k else f"k = {self.k}…{self.most_k}"
        parts = [f"cloaking with {asked}"]
        if self.reciprocal is False:
            parts.append("not reciprocal")
        if self.min_area:
            parts.append(f"areas up to {self.min_area:,.0f} m²")
        if self.diversity > 1:
            parts.append(f"{self.diversity} kinds of places")
        if self.session is not None:
            parts.append(f"sessions of {self.session:g} s")
        return ", ".join(parts)

    def in_words(self) -> list[str]:
        """Say what is promised, a sentence each."""
        asked = some(self.k, "user", "users")
        told = [
            f"Every box is shared by at least {asked}: different users, not requests."
            if self.k == self.most_k
            else f"Every box is shared by as many users as each of them asked for, from {self.k:,} "
            f"to {self.most_k:,}: different users, not requests."
        ]
        if self.reciprocal:
            told.append(
                "All users of a box would have got the same one, whoever asked, so whoever knows "
                "all places and the method learns no more than that one of them did."
            )
        if self.reciprocal is False:
            telling = "the method tells which of them can have asked. This is no k-anonymity."
            told = [f"Every box holds at least {asked}, but {telling}"]
        if self.wait is not None:
            told.append(
                f"A box lies within the reach of each of its requests ({self.reach:g} m where "
                f"nobody asked for another), and leaves before any has waited too long "
                f"({self.wait:g} s)."
            )
        if self.min_area:
            told.append("A box is as large as any of its users asked for.")
        if self.diversity > 1:
            told.append(f"The users of a box are at places of {self.diversity:,} kinds at least.")
        if self.session is not None:
            told.append(
                f"Whoever links the requests of a user within a session ({self.session:g} s from "
                "its first box) and intersects their boxes is left with as many users as she "
                "asked for, if her pseudonym changes with the session."
            )
        return told

    def to_json(self) -> dict[str, Any]:
        """Return the promise as plain values, without what was not asked for."""
        return {
            "cloaking": {name: value for name, value in asdict(self).items() if value is not None}
        }
