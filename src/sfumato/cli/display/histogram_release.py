"""`sfumato histogram --ordered` and `--map … --adaptive`: one release, to be used for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.display.publication import (
    check_places,
    draw,
    save,
    show,
    tell_prediction,
)
from sfumato.cli.display.spinner import Waiting
from sfumato.cli.display.terminal import out
from sfumato.cli.options.session import open_session
from sfumato.errors import ParameterError
from sfumato.requests.publish import PicturedRequest
from sfumato.requests.texts import float_of

if TYPE_CHECKING:
    from sfumato.requests.histogram import Bins, HistogramCommand

_GUESS = 10_000


def publish_histogram(request: HistogramCommand) -> None:
    """Publish the distribution of a column, or a map, once."""
    wanted, price = request.asked.wanted, request.asked.price
    _refuse(wanted)
    if price.accuracy is not None or request.asked.blocks is not None:
        raise ParameterError(
            "What is published once has a price in ε, δ or ρ, of all rows: leave --accuracy and "
            "--blocks out."
        )
    places = request.delivery
    check_places(places.output, places.picture, force=places.force)
    method, arguments, options = _asked(wanted, request.asked.bounds)
    stated = {n: v for n, v in price.given().items() if v is not None}
    with Waiting("publishing"), open_session(request.data, request.opening) as session:
        if request.asked.estimate:
            told = session.predict(method, *arguments, rows=_GUESS, **options, **stated)
        else:
            release = getattr(session, method)(*arguments, **options, **stated)
            kept = PicturedRequest(output=places.output, picture=places.picture, force=places.force)
            save(release, kept, session)
    if request.asked.estimate:
        tell_prediction(told)
        return
    for share in wanted.quantiles or ():
        out.print(f"quantile {share:g}: {release.data.quantile(share):,.6g}", markup=False)
    show(release)
    draw(release, kept)


def _asked(wanted: Bins, bounds: Any) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Give the session's method, and what it is called with."""
    if not wanted.adaptive:
        column = wanted.columns[0]
        given = {name.lower(): ends for name, ends in (bounds or {}).items()}
        return (
            "quantiles",
            (column,),
            {"cells": wanted.ordered, "bounds": given.get(column.lower())},
        )
    names = [name.strip() for name in (wanted.map or "").split(",")]
    ends = [float_of("--box", end) for end in (wanted.box or "").split(",") if end.strip()]
    if len(names) != 2 or not all(names) or len(ends) != 4:
        raise ParameterError(
            "A map on an adaptive grid needs --map LATITUDE,LONGITUDE and --box "
            "SOUTH,WEST,NORTH,EAST."
        )
    latitude, longitude = names
    south, west, north, east = ends
    box = {longitude: (west, east), latitude: (south, north)}
    return "spatial_histogram", (longitude, latitude), {"bounds": box, "use": "map"}


def _refuse(wanted: Bins) -> None:
    """Refuse what a distribution or a map that is published once does not have."""
    own = wanted.bins or wanted.sums or wanted.where is not None or wanted.missing
    if own or not wanted.counts:
        raise ParameterError(
            "What is published once counts all rows in cells of its own: leave --bins, --sums, "
            "--where, --missing and --no-counts out."
        )
    if wanted.adaptive == (wanted.ordered is not None):
        raise ParameterError("Choose one of --ordered and --adaptive.")
    if not wanted.adaptive and (len(wanted.columns) != 1 or wanted.map is not None):
        raise ParameterError("--ordered wants one column, as in: people.csv age --ordered 128.")
    if wanted.adaptive and (wanted.columns or wanted.quantiles):
        raise ParameterError("--adaptive wants a --map, and no column or --quantiles beside it.")
    if any(not 0 <= share <= 1 for share in wanted.quantiles or ()):
        raise ParameterError("--quantiles wants shares between 0 and 1.")
