"""`sfumato local`: ask a question under local differential privacy, collect, estimate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.display.terminal import note, out, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.group import Group
from sfumato.requests.local import (
    CollectCommand,
    EstimateCommand,
    NewSurveyCommand,
    PageCommand,
    PerturbCommand,
)

if TYPE_CHECKING:
    from sfumato.local.estimate import Estimate

app = Group(
    "local",
    "Ask people who trust nobody: their devices disguise the answers (local DP).",
)


@app.command("new-survey")
@takes_request
def new_survey(request: NewSurveyCommand) -> None:
    """Write a survey and the page that asks its question.

    Example: sfumato local new-survey coffee -q "Coffee a day?" -a none -a "1 or 2" -a more -e 1

    Everybody may read both files. The page works anywhere, also from a disk; it disguises the
    answer in the browser and sends, or shows to copy, the disguised report alone.
    """
    from sfumato.data.atomic import refuse_existing  # noqa: PLC0415 - help stays quick
    from sfumato.local.collect.survey import Survey  # noqa: PLC0415 - help stays quick
    from sfumato.local.collect.survey_files import write_survey  # noqa: PLC0415 - the same
    from sfumato.local.collect.survey_page import write_page  # noqa: PLC0415 - the same

    survey = Survey.of(
        request.name, request.question, [*request.answer, *_lines(request.answers)],
        epsilon=request.epsilon,
        protocol=None if request.protocol is None else request.protocol.value,
        asked_by=request.asked_by, about=request.about, send_to=request.send_to,
        remember=request.remember,
    )  # fmt: skip
    folder = request.output or Path(request.name)
    _make(folder)
    if not request.force:
        refuse_existing(folder / "survey.yaml", "--force")
    file = write_survey(survey, folder / "survey.yaml")
    page = write_page(survey, folder / "survey.html")
    out.print(f"{file} and {page}: {survey.protocol_name}, {len(survey.answers)} answers")
    out.print(f"People are told: {survey.told}", markup=False)


@app.command()
@takes_request
def page(request: PageCommand) -> None:
    """Write the page of a survey anew, after the survey was changed.

    Example: sfumato local page -s coffee/survey.yaml -o coffee/survey.html
    """
    from sfumato.local.collect.survey_files import read_survey  # noqa: PLC0415 - help stays quick
    from sfumato.local.collect.survey_page import write_page  # noqa: PLC0415 - the same

    out.print(f"{write_page(read_survey(request.survey), request.output)} asks the question")


@app.command()
@takes_request
def perturb(request: PerturbCommand) -> None:
    """Do what people's devices do: disguise each answer in a file.

    Example: sfumato local perturb answers.csv -s coffee/survey.yaml -o reports.bin

    For simulations, and for answers that are held already and must be passed on.
    """
    from sfumato.data.atomic import refuse_existing  # noqa: PLC0415 - help stays quick
    from sfumato.errors import ParameterError  # noqa: PLC0415 - the same
    from sfumato.local.collect.survey_files import read_survey  # noqa: PLC0415 - the same
    from sfumato.local.wire.files import write_messages  # noqa: PLC0415 - the same

    output = request.output
    if any(
        output.exists() and kept.exists() and output.samefile(kept)
        for kept in (request.values, request.survey)
    ):
        raise ParameterError(f"{output} is read from; write the reports to another file.")
    if not request.force:
        refuse_existing(output, "--force")
    agreed = read_survey(request.survey)
    reports = agreed.protocol.perturb(_column(request.values, request.column))
    write_messages(output, reports, agreed.address, as_json=request.readable)
    out.print(f"{output}: {len(reports):,} reports of {agreed.protocol.report_bits} bits")
    if agreed.remember:
        note("each report here is a fresh one; devices would repeat theirs for the same answer.")


@app.command()
@takes_request
def collect(request: CollectCommand) -> None:
    """Check reports and add the good ones to a store; running it again adds nothing twice.

    Example: sfumato local collect reports.bin -s coffee/survey.yaml --store coffee.db
    """
    from sfumato.local.collect.collector import Collector  # noqa: PLC0415 - help stays quick
    from sfumato.local.collect.survey_files import read_survey  # noqa: PLC0415 - the same
    from sfumato.local.wire.files import refuse_unreadable  # noqa: PLC0415 - the same

    agreed, store = read_survey(request.survey), request.store
    for file in request.reports:
        refuse_unreadable(file)  # before a store is made that would stay empty
    with Collector(agreed, store) as collector:
        for file in request.reports:
            out.print(f"{file}: {collector.receive_file(file)}", markup=False)
        out.print(f"{store} holds {len(collector):,} reports")


@app.command()
@takes_request
def estimate(request: EstimateCommand) -> None:
    """Estimate the share of every answer from the reports in a store.

    Example: sfumato local estimate -s coffee/survey.yaml --store coffee.db --plot estimates.html
    """
    from sfumato.errors import DataError  # noqa: PLC0415 - help stays quick
    from sfumato.local.collect.collector import Collector  # noqa: PLC0415 - the same
    from sfumato.local.collect.estimate_page import write_estimate  # noqa: PLC0415 - the same
    from sfumato.local.collect.survey_files import read_survey  # noqa: PLC0415 - the same

    agreed, store, level = read_survey(request.survey), request.store, request.level
    if not store.is_file():
        raise DataError(f"{store} is not a file; `sfumato local collect` makes a store.")
    with Collector(agreed, store) as collector:
        found, dropped = (
            collector.estimate(consistency=request.consistency.value),
            collector.dropped,
        )
    _show(found, level)
    if agreed.remember:
        note("a person's later reports are copies; intervals hold where each counts once.")
    if request.csv is not None:
        _write_csv(request.csv, found, level)
    if request.plot is not None:
        page = write_estimate(request.plot, agreed, found, level=level, dropped=dropped)
        out.print(f"{page}: the picture")


def _show(found: Estimate, level: float) -> None:
    rows = _rows(found, level)
    title = f"{found.n:,} reports, ε = {found.guarantee.epsilon:.6g} each"
    header = ("answer", "share", "standard error", f"{100 * level:g} % interval")
    shown = sorted(rows, key=lambda row: -row[1])[:50] if len(rows) > 50 else rows
    show_table(
        title,
        header,
        [(a, f"{f:.4f}", f"{e:.4f}", f"{low:.4f} … {high:.4f}") for a, f, e, low, high in shown],
    )
    if len(shown) < len(rows):
        out.print(f"and {len(rows) - len(shown):,} answers with smaller shares; --csv writes all")
    out.print(found.bias, markup=False)


def _rows(found: Estimate, level: float) -> list[tuple[str, float, float, float, float]]:
    bounds = found.interval(level).tolist()
    figures = zip(
        found.values, found.frequencies.tolist(), found.standard_error.tolist(), bounds, strict=True
    )
    return [(str(value), f, error, low, high) for value, f, error, (low, high) in figures]


def _write_csv(path: Path, found: Estimate, level: float) -> None:
    import csv  # noqa: PLC0415 - only where wanted
    import io  # noqa: PLC0415 - the same

    from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - the same

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["answer", "share", "standard_error", "low", "high"])
    writer.writerows(_rows(found, level))
    write_text_atomically(path, text.getvalue())


def _lines(path: Path | None) -> list[str]:
    """Read one answer per line."""
    from sfumato.errors import DataError  # noqa: PLC0415 - help stays quick

    if path is None:
        return []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"Answers {path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise DataError(f"Answers {path} is not UTF-8 text; save it in that encoding.") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _make(folder: Path) -> None:
    from sfumato.errors import OutputError  # noqa: PLC0415 - help stays quick

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {folder} cannot be made ({error.strerror}).") from None


def _column(path: Path, column: str | None) -> list[str]:
    """Read a column as text."""
    from sfumato.data.tables.sources import read  # noqa: PLC0415 - help stays quick
    from sfumato.data.wording import its_columns, listed  # noqa: PLC0415 - the same
    from sfumato.errors import DataError  # noqa: PLC0415 - the same

    table = read(path)
    if column is None and len(table.columns) != 1:
        raise DataError(
            f"{path} has several columns; name that of the answers with --column. The columns are "
            f"{listed(table.columns)}."
        )
    name = table.columns[0] if column is None else column
    if name not in table.columns:
        raise DataError(f"{path} has no column '{name}'; {its_columns(table.columns, name)}")
    return [row[0] for row in table.run(f"SELECT {table.text(name)} FROM {table.scan}")]  # noqa: S608 - quoted
