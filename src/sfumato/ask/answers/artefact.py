"""The non-interactive setting: one answer, published once and reused for ever.

Contract: an artefact is a noisy answer in a file. Whatever is computed from it is post-processing
and costs nothing, so it needs neither session nor ledger. :func:`total` adds cells up, as a
published histogram is used to answer counts of any set of its bins.

The noise of a sum of m cells. Normal noise adds up to normal noise of m times the variance. For
discrete Laplace noise of scale t, E[exp(λX)] ≤ 1/(1 − λ²t²) for 0 < λ < 1/t, so that by Chernoff's
bound Pr[|ΣX| ≥ h] ≤ 2·exp(−λh)·(1 − λ²t²)^(−m) for every such λ; the best one is looked for. That
holds because with a = 1/t the law has E[exp(λX)] = (cosh a − 1)/(cosh a − cosh λ), and this is at
most a²/(a² − λ²) iff (cosh λ − 1)/λ² ≤ (cosh a − 1)/a², both sides being one rising function.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from sfumato.ask.answers.answer_records import dump_answer, load_fields
from sfumato.ask.answers.stacked_column import StackedColumn
from sfumato.data.atomic import write_text_atomically
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.ask.answers.answer import Answer
    from sfumato.ask.answers.noisy_column import NoisyColumn
    from sfumato.ask.price.measures import Interval
    from sfumato.ask.price.noise import Noise

FORMAT = "sfumato answer 1"
_ADDED = {"count", "people", "sum"}


def save(answer: Answer, path: str | Path) -> Path:
    """Write an answer as a file that can be read without a session."""
    target = Path(path)
    whole = {"format": FORMAT, "guarantee_in_words": str(answer.guarantee)}
    whole |= json.loads(dump_answer(answer))
    write_text_atomically(target, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    return target


def load(path: str | Path) -> dict[str, Any]:
    """Read the fields of an answer that was saved."""
    source = Path(path)
    try:
        text = source.read_text(encoding="utf-8")
        if json.loads(text)["format"] == FORMAT:
            return load_fields(text)
    except OSError as error:
        raise DataError(f"{source} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, IndexError):
        pass
    raise DataError(f"{source} is not an answer that `answer.save(…)` wrote; give such a file.")


def total(
    answer: Answer, measure: str, where: Mapping[str, Any], confidence: float = 0.95
) -> tuple[float, Interval]:
    """Add a measure up over the rows whose keys have the values wanted, with an interval."""
    rows = [i for i, row in enumerate(answer.rows) if _wanted(answer, row, where)]
    held = answer.measures.get(measure)
    if held is None or not _adds_up(held):
        raise ParameterError(
            f"{measure!r} is not a count or sum of this answer, so its cells do not add up; it has "
            f"{', '.join(name for name, column in answer.measures.items() if _adds_up(column))}."
        )
    places = [answer.places[i] for i in rows]
    column, places = held.pick(places) if isinstance(held, StackedColumn) else (held, places)
    value = math.fsum(float(column.value(place) or 0) for place in places)
    noise = column.noises[0]
    half = 0.0 if noise is None or not rows else summed_half_width(noise, len(rows), confidence)
    step = 1.0 if column.recipe.grid is None else float(column.recipe.grid.step)
    off = half * step + column.recipe.rounded  # which holds for all rows together
    return value, (value - off, value + off)


def _adds_up(column: NoisyColumn | StackedColumn[NoisyColumn]) -> bool:
    column = column.columns[0] if isinstance(column, StackedColumn) else column
    return column.recipe.aggregate in _ADDED


def _wanted(answer: Answer, row: tuple[Any, ...], where: Mapping[str, Any]) -> bool:
    for name, values in where.items():
        if name not in answer.keys:
            raise ParameterError(
                f"{name!r} is not a key of this answer; its keys are {', '.join(answer.keys)}."
            )
        allowed = values if isinstance(values, (list, tuple, set, frozenset)) else [values]
        if row[answer.columns.index(name)] not in allowed:
            return False
    return True


def summed_half_width(noise: Noise, count: int, confidence: float) -> float:
    """Give h with Pr[|sum of ``count`` draws| ≤ h] ≥ confidence."""
    beta = 1 - confidence
    if noise.kind == "gaussian":
        spread = math.sqrt(count * float(noise.size))
        return NormalDist().inv_cdf(1 - beta / 2) * spread + count / 2
    if count == 1:
        return noise.half_width(confidence)
    scale = float(noise.size)
    rates = (k / 1000 / scale for k in range(1, 1000))
    return min(
        (math.log(2 / beta) - count * math.log1p(-((rate * scale) ** 2))) / rate for rate in rates
    )
