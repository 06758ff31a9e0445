"""`sfumato histogram`: counts and sums of bins, or of the cells of a map, under a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options.common import DelimiterOption, EncodingOption
from sfumato.cli.options.owner import (
    BudgetDeltaOption,
    BudgetOption,
    BudgetRhoOption,
    LimitAnalystOption,
    LimitPurposeOption,
    OwnerWords,
    PolicyOption,
)
from sfumato.cli.options.session import (
    AccuracyOption,
    AnalystOption,
    BlockOption,
    BlocksOption,
    BoundsOption,
    DataArgument,
    DeltaOption,
    EpsilonOption,
    EstimateOption,
    ForceOption,
    Format,
    FormatOption,
    GroupsOption,
    LedgerOption,
    Opening,
    OutputOption,
    PictureOption,
    PrivateOption,
    PublicOption,
    PurposeOption,
    RhoOption,
    RowsOption,
    RowsPerGroupOption,
    SchemaOption,
    UnitOption,
    blocks_of,
    bounds_of,
    check_files,
    price_of,
    who_asks,
)
from sfumato.cli.options.texts import float_of
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.binned.histograms import BinnedQuestion
    from sfumato.ask.session.session import Session

_BINS = "10, 0,18,65,120, female,male, or COLUMN=… of several columns"


def histogram(
    data: DataArgument,
    columns: Annotated[
        list[str] | None, typer.Argument(metavar="COLUMN…", help="Columns to cut into bins.")
    ] = None,
    schema: SchemaOption = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins",
            "-b",
            metavar="BINS",
            help="A number of bins within declared bounds, edges or categories separated by "
            "commas; COLUMN=… for one of several columns.",
        ),
    ] = None,
    sums: Annotated[
        list[str] | None, typer.Option("--sums", help="Column to add up in each bin.")
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts/--no-counts", help="Whether rows are counted.")
    ] = True,
    where: Annotated[str | None, typer.Option("--where", help="Condition in SQL.")] = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="A bin for rows without a value.")
    ] = False,
    map: Annotated[  # noqa: A002 - the word for it
        str | None,
        typer.Option("--map", metavar="LAT,LON", help="Columns of latitude and longitude."),
    ] = None,
    box: Annotated[
        str | None,
        typer.Option("--box", metavar="S,W,N,E", help="Part of the globe to map, in degrees."),
    ] = None,
    grid: Annotated[
        str, typer.Option("--grid", metavar="ROWSxCOLUMNS", help="Cells of the map.")
    ] = "20x20",
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    rho: RhoOption = None,
    accuracy: AccuracyOption = None,
    estimate: EstimateOption = False,
    bounds: BoundsOption = None,
    public: PublicOption = None,
    private: PrivateOption = None,
    unit: UnitOption = None,
    rows: RowsOption = None,
    groups: GroupsOption = None,
    rows_per_group: RowsPerGroupOption = None,
    budget: BudgetOption = None,
    budget_delta: BudgetDeltaOption = None,
    budget_rho: BudgetRhoOption = None,
    limit_analyst: LimitAnalystOption = None,
    limit_purpose: LimitPurposeOption = None,
    policy: PolicyOption = None,
    block: BlockOption = None,
    blocks: BlocksOption = None,
    analyst: AnalystOption = None,
    purpose: PurposeOption = None,
    ledger: LedgerOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    format: FormatOption = Format.table,  # noqa: A002 - the word for it
    output: OutputOption = None,
    picture: PictureOption = None,
    force: ForceOption = False,
) -> None:
    """Count the rows in public bins, empty ones too, with noise that hides every person.

    Example: sfumato histogram patients.csv age -b 0,18,40,65,100 --unit row -e 0.1
    --picture age.svg

    Example: sfumato histogram visits.csv department -s visits.yaml --groups 3 --rows-per-group 2
    --sums cost --bounds cost=0,500 -e 0.2

    Example: sfumato histogram visits.csv -s visits.yaml --groups 3 --rows-per-group 1 -e 0.5
    --map latitude,longitude --box 46.3,10.6,46.9,12.1 --grid 20x30 --picture map.svg

    Bounds, bins and the box are public choices: take them from knowledge, never from the data.
    What is said of budgets, limits, blocks and the ledger is as in `sfumato ask`.
    """
    from sfumato.cli.answers import deliver, show_estimate  # noqa: PLC0415 - help stays quick
    from sfumato.cli.waiting import Waiting  # noqa: PLC0415 - the same

    check_files(force=force, output=output, picture=picture)
    chosen = blocks_of(blocks)
    owner = OwnerWords(budget, budget_delta, budget_rho, limit_analyst, limit_purpose, policy)
    opening = Opening(
        data, schema, owner, unit, rows, groups, rows_per_group, analyst, purpose, ledger,
        public, private, block, delimiter, encoding,
    )  # fmt: skip
    wanted: dict[str, Any] = {"sums": sums, "counts": counts, "where": where,
                              "bounds": bounds_of(bounds) or None}  # fmt: skip
    price = price_of(epsilon=epsilon, rho=rho, delta=delta, accuracy=accuracy)
    with Waiting("asking"), opening.session() as session:
        asking = who_asks(session)
        if map is None:
            asked = _bins(session, columns, bins, box, missing=missing, **wanted)
        else:
            asked = _map(session, columns, bins, map, box, grid, missing=missing, **wanted)
        if estimate:
            found = session.estimate(asked.question, blocks=chosen, **price)
        else:
            answer = asked.noted(session.ask(asked.question, blocks=chosen, **price))
    if estimate:
        show_estimate(found)
    else:
        deliver(answer, asked=asking, form=format, output=output, picture=picture)


def _bins(
    session: Session,
    columns: Sequence[str] | None,
    bins: Sequence[str] | None,
    box: str | None,
    **wanted: Any,
) -> BinnedQuestion:
    from sfumato.ask.binned.histograms import histogram_question  # noqa: PLC0415 - heavy

    if box is not None:
        raise ParameterError("--box belongs to a map; name its columns with --map LAT,LON.")
    if not columns:
        raise ParameterError("Name a column to cut into bins, or ask for a map with --map LAT,LON.")
    specs = _specs(session, columns, bins or ())
    return histogram_question(session.desk.opened, columns, bins=specs, **wanted)


def _specs(session: Session, columns: Sequence[str], given: Sequence[str]) -> dict[str, Any]:
    """Read what --bins says about each column."""
    from sfumato.cli.ask import kinds_of, typed  # noqa: PLC0415 - the same reading of values

    kinds = kinds_of(session)
    found: dict[str, Any] = {}
    for one in given:
        name, sign, spec = one.partition("=")
        if not sign:
            name, spec = columns[0], one
            if len(columns) > 1 and not spec.strip().isdecimal():
                raise ParameterError(f"--bins wants {_BINS}; {one!r} was given.")
        targets = list(columns) if not sign else [name.strip()]
        known = {column.lower() for column in columns}
        if any(target.lower() not in known for target in targets) or not spec.strip():
            raise ParameterError(f"--bins wants {_BINS}; {one!r} was given.")
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


def _map(
    session: Session,
    columns: Sequence[str] | None,
    bins: Sequence[str] | None,
    map_: str,
    box: str | None,
    grid: str,
    **wanted: Any,
) -> BinnedQuestion:
    from sfumato.ask.binned.histograms import map_question  # noqa: PLC0415 - heavy

    if columns or bins or wanted.pop("missing"):
        raise ParameterError(
            "A map has its own bins: leave COLUMN, --bins and --missing out, and give --box and "
            "--grid."
        )
    names = [name.strip() for name in map_.split(",")]
    ends = [float_of("--box", end) for end in (box or "").split(",") if end.strip()]
    cells = grid.lower().split("x")
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
        **wanted,
    )
