"""What can be asked for in bins, or in the cells of a map: `sfumato histogram`."""

from __future__ import annotations

from typing import Annotated

from sfumato.requests.ask import Blocks, Bounds, Estimate
from sfumato.requests.request import Request, argument, option, piece
from sfumato.requests.session import DataPlace, Delivery, Opening, Price


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


class HistogramRequest(Request):
    """What is counted in which bins, and what the answer may cost."""

    wanted: Bins = piece(Bins)
    price: Price = piece(Price)
    estimate: Estimate = False
    bounds: Bounds = {}
    blocks: Blocks = None


class HistogramCommand(Request):
    """`sfumato histogram`: the request, and the dataset that whoever asks opens."""

    data: DataPlace
    asked: HistogramRequest = piece(HistogramRequest)
    opening: Opening = piece(Opening)
    delivery: Delivery = piece(Delivery)
