"""`sfumato topk`: the most frequent values of a column, published once under a budget."""

from __future__ import annotations

from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.session import open_session
from sfumato.requests.publish import TopKCommand


@takes_request
def topk(request: TopKCommand) -> None:
    """Publish the most frequent values of a column; a person counts once for each value.

    Example: sfumato topk visits.csv department -k 3 -s visits.yaml --groups 3 --rows-per-group 2
    -e 0.5 --counts

    Example: sfumato topk searches.csv word -k 50 --unit person -e 1 --delta 1e-6

    Without a public list of values (--values, or the schema's) δ is needed, and only values that
    enough people share are named. The same request again is given again for nothing.
    """
    from sfumato.cli.publication import hand_over, price_in  # noqa: PLC0415 - help stays quick

    price = price_in(request.published)
    values = None if request.values is None else [v.strip() for v in request.values.split(",")]
    with open_session(request.data, request.opening) as session:
        release = session.top_k(
            request.column, request.k, values=values, counts=request.counts, **price
        )
    hand_over(release, request.published)
