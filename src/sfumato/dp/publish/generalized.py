"""Generalised rows under differential privacy: a sample, public levels, and no small groups.

Promise: (ε, δ)-differential privacy for one row added or removed (Li, Qardaji and Su, "On sampling,
anonymization, and differential privacy", AsiaCCS 2012; Bild, Kuhn and Prasser, "SafePub", PoPETs
2018). No noise is added: every count that is shown is a count of rows that are there.

What it does. Each row is kept by a coin of probability β. Kept rows are generalised to levels that
are stated beforehand, by hierarchies that are stated beforehand; a value that a hierarchy does not
know becomes its root. Groups of alike rows are shown with their number if that is at least k.

Proof. Levels and hierarchies do not depend on rows, so a row belongs to one group whatever others
there are, and groups are sampled independently: neighbours differ in one group alone, of N rows in
one world and N − 1 in the other. Let f(j; N) be the probability that Binomial(N, β) is j. What is
shown of the group is j ≥ k, or nothing.
(1) From N to N − 1 rows: f(j; N−1)/f(j; N) = (N − j)/(N·(1 − β)) ≤ 1/(1 − β), and less than k are
kept of N rows whenever the last is not kept and less than k are of the others, so that nothing is
shown with at least (1 − β) times the probability. With β ≤ 1 − e^(−ε) both ratios are at most e^ε.
(2) From N − 1 to N rows: less than k are kept of N rows less often than of N − 1, and the excess
of the other outcomes is Σ over j ≥ k of max(0, f(j; N) − e^ε·f(j; N−1)). The ratio is
N·(1 − β)/(N − j), which exceeds e^ε iff j > γN with γ = 1 − (1 − β)·e^(−ε). The largest excess over
all N is δ: :func:`excess` finds it, since for N beyond some place Chernoff's bound e^(−N·KL(γ, β))
on the whole tail is below what was found. So δ is that of the mechanism, not a bound on it.
Rounding: decimals of 60 digits, the result raised by 10⁻⁴⁰ of itself.

Error. A group of n rows is shown with a count around β·n; n is estimated by count/β, with a
standard deviation of √(n·(1 − β)/β). Groups of less than about k/β rows are mostly missing.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.cells import Listed, as_number, as_text
from sfumato.data.engines.duckdb import FLOATS
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.schema import ROW_UNIT
from sfumato.data.tables.sources import read
from sfumato.dp.guarantees import ApproxDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import UNBOUNDED
from sfumato.dp.noise.uniform import bernoulli, permutation
from sfumato.dp.publish.numbers import NumberTable, release_numbers
from sfumato.dp.publish.synthesis.tables import as_given
from sfumato.dp.rounding import exp_bounds, stated_up
from sfumato.errors import DataError, ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.data.engines.counted import Counted
    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

_DIGITS = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)
_UP = 1 + Decimal(10) ** -40
_SHARES = 64  # shares of the largest β that are tried
_GRAIN = 2**20  # β is a multiple of 1/_GRAIN, so that it is stated exactly
_FEWEST, _MOST_K = 2, 100_000
_LEAST_EPSILON, _MOST_EPSILON = Fraction(1, 1000), Fraction(50)
ROOT = "*"


@dataclass(frozen=True)
class SamplePlan(Shown):
    """The share β of rows that are kept and the least number k of a group that is shown."""

    share: Fraction
    least: int
    delta: float

    @property
    def rows_needed(self) -> float:
        """About how many rows a group needs to be shown."""
        return self.least / float(self.share)

    def __str__(self) -> str:
        return (
            f"A sample of {float(self.share):.3g} of the rows; groups of at least {self.least} of "
            f"them are shown, which take about {self.rows_needed:.0f} rows; δ = {self.delta:.3g}."
        )


def plan_sample(*, epsilon: Stated, delta: Stated) -> SamplePlan:
    """Choose β and k for a guarantee so that the smallest groups are shown.

    >>> import sfumato as sf
    >>> sf.dp.plan_sample(epsilon=1, delta=1e-6).least > 10
    True
    """
    loss, failure = parameters.budget(epsilon), parameters.share(delta, "δ (delta)")
    if not _LEAST_EPSILON <= loss <= _MOST_EPSILON:
        raise ParameterError("ε (epsilon) of a sample is between 0.001 and 50.")
    most = 1 - Fraction(exp_bounds(-loss)[1]) if loss else Fraction(0)
    best: SamplePlan | None = None
    for part in range(_SHARES, 0, -1):
        share = Fraction(math.floor(most * part / _SHARES * _GRAIN), _GRAIN)
        if share <= 0:
            break
        if best is not None:  # δ falls as k grows: where the largest better k fails, all fail
            better = math.ceil(best.least * share / best.share) - 1
            if better < _FEWEST or excess(better, share, loss) > _decimal(failure):
                continue
        least = _least(share, loss, failure)
        if least is not None and (best is None or least / share < best.least / best.share):
            best = SamplePlan(share, least, float(excess(least, share, loss) * _UP))
    if best is None:
        raise ParameterError(f"No sample keeps δ = {float(failure):g} at this ε; allow more.")
    return best


def _least(share: Fraction, loss: Fraction, failure: Fraction) -> int | None:
    """Find the smallest k that keeps δ, which falls as k grows: by doubling, then halving."""
    wanted = _decimal(failure)
    high = _FEWEST
    while excess(high, share, loss) > wanted:
        high *= 2
        if high > _MOST_K:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if excess(middle, share, loss) > wanted else (low, middle)
    return high


@lru_cache(maxsize=4096)
def excess(least: int, share: Fraction, loss: Fraction) -> Decimal:
    """Compute δ: the largest excess over all sizes of a group, rounded up."""
    with decimal.localcontext(_DIGITS):
        beta, factor = _decimal(share), _decimal(Fraction(exp_bounds(loss)[0]))
        gamma = 1 - (1 - beta) / factor
        rate = gamma * (gamma / beta).ln() + (1 - gamma) * ((1 - gamma) / (1 - beta)).ln()
        worst, size = Decimal(0), least
        while True:
            worst = max(worst, _excess_at(size, least, beta, factor, gamma))
            size += 1
            if size * gamma >= least and (-size * rate).exp() <= worst:
                return worst * _UP


def _excess_at(size: int, least: int, beta: Decimal, factor: Decimal, gamma: Decimal) -> Decimal:
    """Add up f(j; N) − e^ε·f(j; N−1) over the counts j that are shown and exceed γN."""
    first = max(least, int((gamma * size).to_integral_value(decimal.ROUND_FLOOR)) + 1)
    if first > size:
        return Decimal(0)
    total = Decimal(0)
    mass = Decimal(math.comb(size, first)) * beta**first * (1 - beta) ** (size - first)
    for count in range(first, size + 1):
        fewer = mass * (size - count) / (size * (1 - beta))  # f(j; N−1)
        total += mass - factor * fewer
        mass = mass * (size - count) / (count + 1) * beta / (1 - beta)
    return total


def _decimal(value: Fraction) -> Decimal:
    with decimal.localcontext(_DIGITS):
        return Decimal(value.numerator) / Decimal(value.denominator)


def count_generalized(
    source: Any,
    levels: Mapping[str, int],
    *,
    epsilon: Stated,
    delta: Stated,
    schema: Schema | str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Release:
    """Release the groups of a sample of rows, generalised to levels that are stated beforehand.

    `levels` names the columns that are shown and how far each is generalised; the trees come from
    `hierarchies` or the schema, and must not have been made from the data.

    >>> import sfumato as sf
    >>> people = {"sex": ["female"] * 300 + ["male"] * 300}
    >>> release = sf.dp.count_generalized(people, {"sex": 0}, epsilon=1, delta=1e-6)
    >>> sorted(release.data["sex"])
    ['female', 'male']
    """
    plan = plan_sample(epsilon=epsilon, delta=delta)
    guarantee = ApproxDP(
        stated_up(parameters.budget(epsilon)),
        stated_up(parameters.share(delta, "δ (delta)")),
        neighbours=UNBOUNDED,
    )
    given = as_given(source)
    table = read(given, schema=schema) if schema is not None else read(given)
    trees = {name: _tree(table, name, level, hierarchies or {}) for name, level in levels.items()}
    _check_unit(table)
    kinds = {name: table.types[name] for name in levels}
    rows = _groups(_count(table, tuple(levels)), levels, trees, plan, kinds)
    facts = {
        "levels": dict(levels), "share": str(plan.share), "least": plan.least,
        "notes": ["counts are of a sample: divide by the share to estimate all rows",
                  "groups of fewer sampled rows than the least are not shown"],
    }  # fmt: skip
    numbers = NumberTable((*levels, "count"), rows, None, facts)
    return release_numbers(
        numbers, guarantee, name=table.name, mechanism="sampled generalisation",
        share=str(plan.share), least=plan.least,
    )  # fmt: skip


def _tree(table: Table, name: str, level: int, given: Mapping[str, Hierarchy]) -> Hierarchy | None:
    """Find the public tree of a column; None where values are shown as they are, or not at all."""
    if name not in table.columns:
        raise ParameterError(f"There is no column {name!r}; levels= names columns of the table.")
    if isinstance(level, bool) or not isinstance(level, int) or level < 0:
        raise ParameterError(f"The level of {name!r} is a whole number from 0.")
    tree = given.get(name)
    schema = table.known_schema
    if tree is None and schema is not None and name in schema.attributes:
        tree = schema.attributes[name].hierarchy
    if tree is None and level == 0:
        return None
    if not isinstance(tree, Hierarchy):
        raise ParameterError(
            f"{name!r} is generalised by a tree that is stated beforehand, such as "
            f"hierarchies={{{name!r}: sf.Hierarchy.read('{name}.csv')}}; rules that look at the "
            "values are not private."
        )
    if level >= tree.height:
        raise ParameterError(f"{name!r} has levels 0 to {tree.height - 1}; {level} was given.")
    return tree


def _check_unit(table: Table) -> None:
    if table.known_schema is not None and table.known_schema.unit != ROW_UNIT:
        raise ParameterError(
            "The promise is about one row, and the schema says that people have several; give a "
            "table with one row per person."
        )


def _count(table: Table, columns: Sequence[str]) -> Counted | None:
    """Count combinations; None where there are no rows, which must look like any other data."""
    try:
        return table.count(columns)
    except DataError:
        if table.rows == 0:
            return None
        raise


def _groups(
    counted: Counted | None,
    levels: Mapping[str, int],
    trees: Mapping[str, Hierarchy | None],
    plan: SamplePlan,
    kinds: Mapping[str, str],
) -> list[tuple[Any, ...]]:
    """Sample, generalise and leave out small groups; those shown are in random order."""
    if counted is None:
        return []
    kept = _sample(counted.counts, plan.share)
    labels = [
        _labels([_plain(value, kinds[name]) for value in values], trees[name], levels[name])
        for name, values in zip(counted.columns, counted.values, strict=True)
    ]
    found: dict[tuple[str, ...], int] = {}
    for i in np.flatnonzero(kept).tolist():
        group = tuple(label[codes[i]] for label, codes in zip(labels, counted.codes, strict=True))
        found[group] = found.get(group, 0) + int(kept[i])
    place = [counted.columns.index(name) for name in levels]
    shown = [
        (*(group[p] for p in place), count) for group, count in found.items() if count >= plan.least
    ]
    return [shown[i] for i in permutation(len(shown)).tolist()]


def _sample(counts: NDArray[np.int64], share: Fraction) -> NDArray[np.int64]:
    """Toss a coin for every row, and count those kept of each combination."""
    kept = np.zeros(len(counts), dtype=np.int64)
    ends = np.cumsum(counts)
    block = 1 << 22
    for begin in range(0, int(ends[-1]) if len(ends) else 0, block):
        coins = bernoulli(share, min(block, int(ends[-1]) - begin))
        tuples = np.searchsorted(ends, begin + np.flatnonzero(coins), side="right")
        kept += np.bincount(tuples, minlength=len(counts))
    return kept


def _plain(text: str, kind: str) -> str:
    """Write the text of a cell as it is written whatever type its column has: 1.0 as 1."""
    if kind in FLOATS or kind.startswith("DECIMAL"):
        return as_text(as_number(text))
    return text.removesuffix(" 00:00:00") if kind.startswith("TIMESTAMP") else text


def _labels(values: Sequence[str], tree: Hierarchy | None, level: int) -> list[str]:
    if tree is None:
        return list(values)
    leaves, spellings = list(tree.codes), Listed(list(tree.codes)).spellings
    found = [spellings.get(value) for value in values]
    return [ROOT if leaf is None else tree.label(tree.codes[leaves[leaf]], level) for leaf in found]
