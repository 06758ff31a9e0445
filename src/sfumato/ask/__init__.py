"""Questions under a budget: from SQL or Python to an answer with a guarantee and an interval.

The words of the fluent API are listed here and loaded on first use::

    from sfumato.ask import col, count, sum_
    session.table("visits").where(col("age") >= 65).group_by("ward").aggregate(n=count())
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "avg": "fluent_aggregates",
    "case": "fluent_terms",
    "coalesce": "fluent_terms",
    "col": "fluent_terms",
    "count": "fluent_aggregates",
    "greatest": "fluent_terms",
    "least": "fluent_terms",
    "max_": "fluent_aggregates",
    "median": "fluent_aggregates",
    "min_": "fluent_aggregates",
    "people": "fluent_aggregates",
    "quantile": "fluent_aggregates",
    "stddev": "fluent_aggregates",
    "sum_": "fluent_aggregates",
    "variance": "fluent_aggregates",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - a list of strings

__getattr__, __dir__ = lazy_names(__name__, _HOME)
