"""What can be asked for in bins, or in the cells of a map: `sfumato histogram`."""

from __future__ import annotations

from typing import Annotated

from sfumato.requests.ask import Blocks, Bounds, EstimateOnly
from sfumato.requests.request import Request, Texts, argument, option, piece
from sfumato.requests.session import DataPlace, DatasetOpening, Delivery, Price
from sfumato.requests.texts import float_of


def _shares(text: str) -> tuple[float, ...]:
    """Read --quantiles 0.25,0.5,0.75."""
    return tuple(float_of("--quantiles", part) for part in text.split(",") if part.strip())


class Bins(Request):
    """Columns cut into public bins, or two of them into the cells of a map."""

    columns: Annotated[
        tuple[str, ...], argument(metavar="COLUMN…", help="Columns to cut into bins.")
    ] = ()
    bins: Annotated[
        tuple[str, ...],
        option(
            "--bins",
            "-b",
            metavar="BINS",
            help="A number of bins within declared bounds, edges or categories separated by "
            "commas; COLUMN=… for one of several columns.",
        ),
    ] = ()
    sums: Annotated[tuple[str, ...], option("--sums", help="Column to add up in each bin.")] = ()
    counts: Annotated[bool, option("--counts/--no-counts", help="Whether rows are counted.")] = True
    where: Annotated[str | None, option("--where", help="Condition in SQL.")] = None
    missing: Annotated[bool, option("--missing", help="A bin for rows without a value.")] = False
    map: Annotated[
        str | None,
        option("--map", metavar="LAT,LON", help="Columns of latitude and longitude."),
    ] = None
    box: Annotated[
        str | None,
        option("--box", metavar="S,W,N,E", help="Part of the globe to map, in degrees."),
    ] = None
    grid: Annotated[str, option("--grid", metavar="ROWSxCOLUMNS", help="Cells of the map.")] = (
        "20x20"
    )
    ordered: Annotated[
        int | None,
        option(
            "--ordered",
            metavar="CELLS",
            help="Publish the distribution of one column once, in so many ordered cells: any "
            "ranges and quantiles follow from it.",
            ge=2,
        ),
    ] = None
    quantiles: Annotated[
        tuple[float, ...] | None,
        option(
            "--quantiles",
            metavar="0.25,0.5",
            help="Shares whose quantiles are printed, of an --ordered distribution.",
        ),
        Texts(_shares, several=False),
    ] = None
    adaptive: Annotated[
        bool,
        option("--adaptive", help="Publish a --map once, on a grid that is fine where many are."),
    ] = False


class HistogramRequest(Request):
    """What is counted in which bins, and what the answer may cost."""

    wanted: Bins = piece(Bins)
    price: Price = piece(Price)
    estimate: EstimateOnly = False
    bounds: Bounds = {}
    blocks: Blocks = None


class HistogramCommand(Request):
    """`sfumato histogram`: the request, and the dataset that whoever asks opens."""

    data: DataPlace
    asked: HistogramRequest = piece(HistogramRequest)
    opening: DatasetOpening = piece(DatasetOpening)
    delivery: Delivery = piece(Delivery)
