"""Questions under a budget: from SQL or Python to an answer with a guarantee and an interval.

The words of the fluent API are listed here and loaded on first use::

    from sfumato.ask import col, count, sum_
    session.table("visits").where(col("age") >= 65).group_by("ward").aggregate(n=count())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.ask.fluent.aggregates import avg as avg
    from sfumato.ask.fluent.aggregates import count as count
    from sfumato.ask.fluent.aggregates import max_ as max_
    from sfumato.ask.fluent.aggregates import median as median
    from sfumato.ask.fluent.aggregates import min_ as min_
    from sfumato.ask.fluent.aggregates import people as people
    from sfumato.ask.fluent.aggregates import quantile as quantile
    from sfumato.ask.fluent.aggregates import stddev as stddev
    from sfumato.ask.fluent.aggregates import sum_ as sum_
    from sfumato.ask.fluent.aggregates import variance as variance
    from sfumato.ask.fluent.terms import case as case
    from sfumato.ask.fluent.terms import coalesce as coalesce
    from sfumato.ask.fluent.terms import col as col
    from sfumato.ask.fluent.terms import greatest as greatest
    from sfumato.ask.fluent.terms import least as least

_HOME = {
    "avg": "fluent.aggregates",
    "case": "fluent.terms",
    "coalesce": "fluent.terms",
    "col": "fluent.terms",
    "count": "fluent.aggregates",
    "greatest": "fluent.terms",
    "least": "fluent.terms",
    "max_": "fluent.aggregates",
    "median": "fluent.aggregates",
    "min_": "fluent.aggregates",
    "people": "fluent.aggregates",
    "quantile": "fluent.aggregates",
    "stddev": "fluent.aggregates",
    "sum_": "fluent.aggregates",
    "variance": "fluent.aggregates",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - a list of strings

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)
