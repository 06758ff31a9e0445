"""`sfumato kmeans`: centres and sizes of clusters, published once under a budget."""

from __future__ import annotations

from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.session import open_session
from sfumato.requests.publish import KMeansCommand


@takes_request
def kmeans(request: KMeansCommand) -> None:
    """Publish the centres and sizes of clusters, with noise that hides every person.

    Example: sfumato kmeans patients.csv age -k 3 --unit row -e 0.5

    Example: sfumato kmeans visits.csv minutes cost -k 4 -s visits.yaml --groups 3
    --rows-per-group 2 --bounds cost=0,500 -e 1 --picture clusters.svg -o clusters

    Bounds are public: the schema's, or from knowledge; never from the data. The same request again
    is given again for nothing. Whose label is which is not published.
    """
    from sfumato.cli.display.publication import (  # noqa: PLC0415 - help stays quick
        check_places,
        hand_over,
        tell_prediction,
    )

    wanted = request.published
    check_places(wanted.output, wanted.picture, force=wanted.force)
    asked = (list(request.columns), request.clusters)
    options = {
        "bounds": request.bounds or None, "algorithm": request.algorithm, **wanted.price.given(),
    }  # fmt: skip
    with open_session(request.data, request.opening) as session:
        if wanted.predict is not None:
            tell_prediction(session.predict("kmeans", *asked, rows=wanted.predict, **options))
            return
        hand_over(session.kmeans(*asked, **options), wanted, session)
