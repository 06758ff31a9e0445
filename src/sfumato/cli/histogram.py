"""`sfumato histogram`: counts and sums of bins, or of the cells of a map, under a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.session import block_names, check_files, open_session, who_asks
from sfumato.errors import ParameterError
from sfumato.requests.histogram import Bins, HistogramCommand, HistogramRequest
from sfumato.requests.texts import float_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.binned.histograms import BinnedQuestion
    from sfumato.ask.session.session import Session

_BINS = "10, 0,18,65,120, female,male, or COLUMN=… of several columns"


@takes_request
def histogram(request: HistogramCommand) -> None:
    """Count the rows in public bins, empty ones too, with noise that hides every person.

    Example: sfumato histogram patients.csv age -b 0,18,40,65,100 --unit row -e 0.1
    --picture age.svg

    Example: sfumato histogram visits.csv department -s visits.yaml --groups 3 --rows-per-group 2
    --sums cost --bounds cost=0,500 -e 0.2

    Example: sfumato histogram visits.csv -s visits.yaml --groups 3 --rows-per-group 1 -e 0.5
    --map latitude,longitude --box 46.3,10.6,46.9,12.1 --grid 20x30 --picture map.svg

    Example: sfumato histogram patients.csv age --unit row -e 0.5 --ordered 128 --quantiles 0.1,0.5
    -o ages --picture ages.svg

    Bounds, bins and the box are public choices: take them from knowledge, never from the data.
    What is said of budgets, limits, blocks and the ledger is as in `sfumato ask`. With --ordered or
    --adaptive one release is made for ever, and saved in the folder of --output.
    """
    if request.asked.wanted.ordered is not None or request.asked.wanted.adaptive:
        from sfumato.cli.display.histogram_release import publish_histogram  # noqa: PLC0415 - rarely needed

        publish_histogram(request)
        return
    from sfumato.cli.display.answers import deliver, show_estimate  # noqa: PLC0415 - help stays quick
    from sfumato.cli.display.spinner import Waiting  # noqa: PLC0415 - the same

    check_files(request.delivery)
    wanted = request.asked
    blocks, price = block_names(wanted.blocks), wanted.price.given()
    with Waiting("asking"), open_session(request.data, request.opening) as session:
        asking = who_asks(session)
        asked = _question(session, wanted)
        if wanted.estimate:
            found = session.estimate(asked.question, blocks=blocks, **price)
        else:
            answer = asked.noted(session.ask(asked.question, blocks=blocks, **price))
    if wanted.estimate:
        show_estimate(found)
    else:
        deliver(answer, asking, request.delivery)


def _question(session: Session, asked: HistogramRequest) -> BinnedQuestion:
    wanted = asked.wanted
    facts: dict[str, Any] = {
        "sums": list(wanted.sums) or None, "counts": wanted.counts, "where": wanted.where,
        "bounds": asked.bounds or None,
    }  # fmt: skip
    make = _bins if wanted.map is None else _map
    return make(session, wanted, **facts)


def _bins(session: Session, wanted: Bins, **facts: Any) -> BinnedQuestion:
    from sfumato.ask.binned.histograms import histogram_question  # noqa: PLC0415 - heavy

    if wanted.box is not None:
        raise ParameterError("--box belongs to a map; name its columns with --map LAT,LON.")
    if not wanted.columns:
        raise ParameterError("Name a column to cut into bins, or ask for a map with --map LAT,LON.")
    specs = _specs(session, wanted.columns, wanted.bins)
    return histogram_question(
        session.desk.opened, list(wanted.columns), bins=specs, missing=wanted.missing, **facts
    )


def _specs(session: Session, columns: Sequence[str], given: Sequence[str]) -> dict[str, Any]:
    """Read what --bins says about each column."""
    from sfumato.cli.ask import kinds_of, typed  # noqa: PLC0415 - the same reading of values

    kinds = kinds_of(session)
    found: dict[str, Any] = {}
    for text in given:
        name, sign, spec = text.partition("=")
        if not sign:
            name, spec = columns[0], text
            if len(columns) > 1 and not spec.strip().isdecimal():
                raise ParameterError(f"--bins wants {_BINS}; {text!r} was given.")
        targets = list(columns) if not sign else [name.strip()]
        known = {column.lower() for column in columns}
        if any(target.lower() not in known for target in targets) or not spec.strip():
            raise ParameterError(f"--bins wants {_BINS}; {text!r} was given.")
        for target in targets:
            found[target] = _spec(spec, kinds.get(target.lower()), typed)
    return found


def _spec(spec: str, kind: str | None, typed: Any) -> Any:
    parts = [part.strip() for part in spec.split(",")]
    if kind in {"integer", "real"}:
        if len(parts) == 1 and parts[0].isdecimal():
            return int(parts[0])
        for part in parts:
            float_of("--bins", part)
        return parts
    return typed(parts, kind)


def _map(session: Session, wanted: Bins, **facts: Any) -> BinnedQuestion:
    from sfumato.ask.binned.histograms import map_question  # noqa: PLC0415 - heavy

    if wanted.columns or wanted.bins or wanted.missing:
        raise ParameterError(
            "A map has its own bins: leave COLUMN, --bins and --missing out, and give --box and "
            "--grid."
        )
    names = [name.strip() for name in (wanted.map or "").split(",")]
    ends = [float_of("--box", end) for end in (wanted.box or "").split(",") if end.strip()]
    cells = wanted.grid.lower().split("x")
    if len(names) != 2 or not all(names):
        raise ParameterError("--map wants two columns, as in --map latitude,longitude.")
    if len(ends) != 4:
        raise ParameterError(
            "A map needs --box SOUTH,WEST,NORTH,EAST in degrees, as in --box 46.2,10.4,47.1,12.5."
        )
    if len(cells) != 2 or not all(cell.isdecimal() for cell in cells):
        raise ParameterError("--grid wants ROWSxCOLUMNS, as in --grid 20x30.")
    return map_question(
        session.desk.opened,
        latitude=names[0],
        longitude=names[1],
        box=(ends[0], ends[1], ends[2], ends[3]),
        rows=int(cells[0]),
        columns=int(cells[1]),
        **facts,
    )
