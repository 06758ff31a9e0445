"""The dial of a stream: what waiting buys for every k: delay, area, success and speed, measured."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.anonymize.places.cloaker import Cloaker
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RATES = (500.0, 1500.0, 4500.0, 15_000.0, 50_000.0)


@dataclass(frozen=True)
class Setting:
    """One setting of the dial, and what it came to; `speed` is requests per CPU second."""

    k: int
    mode: str
    rate: float
    success: float
    relative_area: float
    mean_delay: float
    speed: float

    def __str__(self) -> str:
        return (
            f"k = {self.k}, {self.mode} {self.rate:g} m²/s: {100 * self.success:.1f} % left, area "
            f"{self.relative_area:.3f}, delay {self.mean_delay:.1f} s, {self.speed:,.0f} requests/s"
        )


def measure_dial(
    requests: Mapping[str, Any],
    *,
    ks: Sequence[int] = (2, 3, 5, 10),
    rates: Sequence[float] = RATES,
    **options: Any,
) -> tuple[Setting, ...]:
    """Run a stream (columns user, time, x, y) at every k and rate, with options of `Cloaker`.

    For every k the dial runs from the deadline (rate 0) over the rates to eager (no limit).
    """
    if not ks or not len(requests["time"]):
        raise ParameterError("A dial needs requests and at least one k.")
    Cloaker(k=1, **options).process(**{name: column[:1] for name, column in requests.items()})
    found = []
    for k in ks:
        steps = [("deadline", 0.0), *(("marginal", rate) for rate in rates), ("eager", 0.0)]
        for mode, rate in steps:
            cloaker = Cloaker(k=k, mode=mode, rate=rate or 1.0, **options)
            begin = time.process_time()
            result = cloaker.process(**requests)
            speed = len(result.released) / max(time.process_time() - begin, 1e-9)
            found.append(
                Setting(
                    k, mode, rate, result.success, result.relative_area, result.mean_delay, speed
                )
            )
    return tuple(found)
