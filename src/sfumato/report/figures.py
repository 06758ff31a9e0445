"""How numbers and labels are written in a report, the same everywhere.

Contract: thousands are grouped, a share that is not zero is never written as zero, and a
missing cell gets a name.
"""

from __future__ import annotations

import math

from sfumato.data.hierarchies.hierarchy import MISSING

NO_BREAK = "\N{NO-BREAK SPACE}"
EN_DASH = "\N{EN DASH}"


def count(number: float) -> str:
    """Return a whole number with its thousands grouped."""
    return f"{round(number):,}"


def percent(share: float) -> str:
    """Return a share as a percentage of three digits at most, small but not zero as such."""
    hundredths = 100 * share
    if 0 < hundredths < 0.05:
        text = "<0.1"
    elif 99.95 <= hundredths < 100:
        text = ">99.9"
    elif hundredths >= 99.95 or hundredths == 0:
        text = f"{hundredths:.0f}"
    else:
        text = f"{hundredths:.1f}"
    return f"{text}{NO_BREAK}%"


def decimal(value: float) -> str:
    """Return a loss in [0, 1] with four digits, small but not zero as such."""
    return "<0.0001" if 0 < value < 0.00005 else f"{value:.4f}"


def figure(value: float | None) -> str:
    """Return a measured figure with four digits; what was not measured gets a dash."""
    if value is None:
        return EN_DASH
    return "\N{INFINITY}" if math.isinf(value) else f"{value:,.4g}"


def label(text: str) -> str:
    """Return a cell as it is shown: a missing one would be invisible."""
    return "(missing)" if text == MISSING else text


def span(low: int, high: int | None) -> str:
    """Return a range of class sizes: `1`, `3–4`, `100 or more`."""
    if high is None:
        return f"{count(low)}+"
    return count(low) if low == high else f"{count(low)}{EN_DASH}{count(high)}"
