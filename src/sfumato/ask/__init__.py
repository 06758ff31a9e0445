"""Questions under a budget: from SQL or Python to an answer with a guarantee and an interval.

The words of the fluent API are listed here and loaded on first use::

    from sfumato.ask import col, count, sum_
    session.table("visits").where(col("age") >= 65).group_by("ward").aggregate(n=count())
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, _HOME)
