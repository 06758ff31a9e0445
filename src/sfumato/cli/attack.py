"""`sfumato attack`: what an attacker sees in a release, before it leaves, or does to a model.

`sfumato attack model` is a group of its own, which the command line loads where it is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.display.terminal import note, out, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.errors import DataError, ParameterError
from sfumato.requests.attack import AttackCommand, ModelAttackCommand

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.attack.prechecks import Precheck
    from sfumato.requests.shapes import ShapedAttack


@takes_request
def attack(request: AttackCommand) -> None:
    """Attack a release as an adversary would, and say what would have stopped each attack.

    Example: sfumato attack out/ -s patients.yaml --public voters.csv --original patients.csv

    Tries every attack that fits the release and what is given. Nothing is proved by an attack
    that fails; `sfumato verify` checks the promise. `sfumato attack model` attacks models instead.
    """
    from sfumato.attack.prechecks import precheck  # noqa: PLC0415 - heavy

    known = {**known_to(request), "public": request.public, "other": request.other}
    end(precheck(request.release, **known), request)


def known_to(request: AttackCommand | ShapedAttack) -> dict[str, Any]:
    """Return what an attacker has and when an attack counts."""
    adversary = request.adversary
    return {
        "original": request.original,
        "schema": request.schema_file,
        "confidence": adversary.confidence,
        "gain": adversary.gain,
        "facts": adversary.facts,
    }


def end(found: Precheck, request: AttackCommand | ShapedAttack) -> None:
    """Show what was found, and end with the exit code that says it."""
    if not request.quiet:
        _show(found, reveal=request.reveal)
    if request.report is not None:
        from sfumato.report.attack_section import write_page  # noqa: PLC0415 - rarely needed

        note(f"wrote {write_page(found, request.report, reveal=request.reveal)}")
    raise typer.Exit(1 if found.breaks or (request.strict and not found.holds) else 0)


def _show(found: Precheck, *, reveal: bool) -> None:
    title = f"{found.source}: {len(found.succeeding)} of {len(found.tried)} attacks succeed"
    rows = [
        (*row[:4], tried.after.advice) for row, tried in zip(found.table, found.tried, strict=True)
    ]
    show_table(title, ("attack", "before", "after", "verdict", "would stop it"), rows)
    for tried in found.succeeding:
        for finding in tried.after.findings[:1]:
            out.print(f"• {tried.name}: {finding.told(reveal=reveal)}", markup=False)
    for name, why in found.skipped:
        out.print(f"• not tried: {name} ({why})", markup=False, style="dim")


# -- models ---------------------------------------------------------------------------

models = typer.Typer(name="attack", help="Attacks on models.", rich_markup_mode=None)


@models.callback()
def _group() -> None:
    """Attack releases (sfumato attack FOLDER), or models (sfumato attack model FILE TARGET)."""


@models.command()
@takes_request
def model(request: ModelAttackCommand) -> None:
    """Attack a model as it is, clipped and private, and show what privacy changes.

    Example: sfumato attack model connections.csv attack -e 0.1,1,10 --poison 30

    Half of the rows are learnt from, an eighth is what a poisoner has, the rest tells errors, who
    was learnt from, and what is guessed of one column (--hidden) of members and of others. The
    figures are exact functions of the rows: they are for the owner, and not to be published.
    """
    from sfumato.attack.models import compare_privacy  # noqa: PLC0415 - help stays quick

    rows, labels, names = _read(request)
    train, check, test = _shares(rows, labels, request.seed)
    if not request.quiet:
        note("learning, poisoning and evading; a minute for ten thousand rows of a hundred columns")
    table = compare_privacy(
        *train, validation=check, test=test, epsilons=_numbers(request.epsilons, "--epsilon"),
        delta=request.delta, poison_rows=request.poison, hidden=_place(request.hidden, names),
        seed=request.seed,
    )  # fmt: skip
    title = f"{request.data.name}: {len(train[0]):,} rows, {table.poison_rows:,} of poison"
    told = "How far evasion goes, and what the model tells of rows"
    for name, places in ((title, (0, 1, 2, 3, 7)), (told, (0, 4, 5, 6))):
        lines = [[row.cells[place] for place in places] for row in table.rows]
        show_table(name, [table.columns[place] for place in places], lines)
    if table.hidden is not None:
        out.print(
            f"Guessed attribute: {names[table.hidden]}, of rows learnt from / of others.",
            markup=False,
        )
    out.print("For the owner: these figures are not private.", markup=False)


def _numbers(text: str, flag: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"{flag} takes numbers separated by commas.") from None


def _place(hidden: str | None, names: list[str]) -> int | None:
    if hidden is not None and hidden not in names:
        raise ParameterError(f"--hidden names a column of numbers, and {hidden!r} is none.")
    return None if hidden is None else names.index(hidden)


def _read(
    request: ModelAttackCommand,
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[str]]:
    """Read numbers, put into [0, 1] by the stated range, classes as 0 and 1, and columns' names."""
    import numpy as np  # noqa: PLC0415 - help stays quick

    from sfumato.data.engines.duckdb import DuckDB, quoted_text  # noqa: PLC0415 - the same

    ends = _numbers(request.bounds, "--bounds")
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise ParameterError("--bounds takes a low and a high end, such as 0,1.")
    if not request.data.is_file():
        raise DataError(f"{request.data} is not a file.")
    engine = DuckDB()
    try:
        query = f"SELECT * FROM {quoted_text(str(request.data))}"  # noqa: S608 - the name is quoted
        columns: dict[str, Any] = engine.connection.execute(query).fetchnumpy()
    except Exception:  # noqa: BLE001 - the engine's message may quote cells
        raise DataError(f"{request.data} cannot be read as CSV or Parquet.") from None
    finally:
        engine.close()
    if request.target not in columns:
        raise DataError(f"{request.data} has no column {request.target!r}.")
    labels = np.unique(np.asarray(columns.pop(request.target)).astype(str), return_inverse=True)
    if len(labels[0]) != 2:
        raise DataError(f"The column {request.target!r} must hold two classes.")
    words = [name for name, cells in columns.items() if np.asarray(cells).dtype.kind not in "iufb"]
    if words or not columns:
        raise DataError(
            f"These columns hold no numbers: {', '.join(words) or 'none is left'}; code categories "
            "as columns of 0 and 1 first."
        )
    cells: list[Any] = [
        np.ma.filled(np.ma.asarray(c, dtype=float), ends[0]) for c in columns.values()
    ]
    table: NDArray[np.float64] = np.column_stack(cells)
    low, high = ends
    inside = np.clip(np.nan_to_num(table, nan=low), low, high)
    return (inside - low) / (high - low), labels[1], list(columns)


def _shares(rows: NDArray[np.float64], labels: NDArray[np.int64], seed: int) -> Any:
    import numpy as np  # noqa: PLC0415 - help stays quick

    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(rows))  # nothing is released
    if len(rows) < 80:
        raise DataError("There must be at least 80 rows to learn from, to poison and to test on.")
    half, more = len(rows) // 2, len(rows) * 5 // 8
    return [(rows[part], labels[part]) for part in (order[:half], order[half:more], order[more:])]
