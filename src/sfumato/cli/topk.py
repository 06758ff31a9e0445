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

    Example: sfumato topk baskets.csv item -k 20 --unit customer --sets 2 -e 1 --delta 1e-6
    --values bread,milk,eggs --predict 5000

    Without a public list of values (--values, or the schema's) δ is needed, and only values that
    enough people share are named. Which way is taken, why, and which counts it can tell apart is
    said by --predict, before it is paid for. The same request again is given again for nothing.
    """
    from sfumato.cli.display.publication import (  # noqa: PLC0415 - help stays quick
        check_places,
        hand_over,
        tell_prediction,
    )

    wanted = request.published
    check_places(wanted.output, wanted.picture, force=wanted.force)
    values = None if request.values is None else [v.strip() for v in request.values.split(",")]
    options = {
        "values": values, "counts": request.counts, "set_size": request.set_size,
        **wanted.price.given(),
    }  # fmt: skip
    asked = (request.column, request.k)
    with open_session(request.data, request.opening) as session:
        if wanted.predict is not None:
            tell_prediction(session.predict("top_k", *asked, rows=wanted.predict, **options))
            return
        hand_over(session.top_k(*asked, **options), wanted, session)
