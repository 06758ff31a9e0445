"""`sfumato anonymize`: from a file of people to a file that can be shared."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from sfumato.cli.display.terminal import SearchProgress, note, out, result, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.login import login
from sfumato.requests.anonymize import AnonymizeCommand, Perturbation
from sfumato.requests.promises import nothing_promised

if TYPE_CHECKING:
    from sfumato.release import Release


@takes_request
def anonymize(request: AnonymizeCommand) -> None:
    """Anonymise a file: a release, a proof that the promise holds, and a report.

    Example: sfumato anonymize patients.csv -s patients.yaml -k 5 -l 2:diagnosis -o out/

    Example: sfumato anonymize patients.duckdb::visits -s v.yaml -k 5 -o patients.duckdb::released

    The folder gets release.csv and release.json to give away, report.html for you (it compares
    with the original), and policy.yaml to treat the next batch the same way.
    """
    from sfumato.data.tables.sources import read  # noqa: PLC0415 - heavy
    from sfumato.govern.purposes import check_purpose  # noqa: PLC0415 - rarely needed

    if request.wanted.promise is None:
        raise nothing_promised()
    csv, record, folder = request.csv, request.record, request.folder
    table: Any = read(
        request.data, schema=request.schema_file, delimiter=csv.delimiter, encoding=csv.encoding
    )
    if record.purpose is not None and record.ledger is None:
        check_purpose(table.name, table.known_schema.purposes, record.purpose)  # before the search
    if request.dry_run:
        _tell_forecast(table)
        return
    table = _perturbed(table, request.wanted.perturbation, request.wanted.seed)
    release = _released(table, request)
    for warning in release.warnings:
        note(warning)
    extra = _swept(release, request)
    saved = release.save(
        request.output, file_format=folder.file_format, report=not folder.no_report,
        replace=folder.force,
        formulas="guard" if folder.guard_formulas else "keep", ledger=record.ledger,
        purpose=record.purpose, by=login(), **extra,
    )  # fmt: skip
    result(plain(release, saved))
    if not request.quiet:
        tell(release, saved)
    _measure_utility(release, table, request.utility.query_error, request.utility.model_loss)


def _tell_forecast(table: Any) -> None:
    """Say what the release would take; nothing is searched or written."""
    from sfumato.anonymize.tables.forecast import forecast  # noqa: PLC0415 - rarely needed

    found = forecast(table)
    low, high = found.range
    result({**asdict(found), "seconds_from": low, "seconds_to": high})
    rows = [
        ("records", f"{found.rows:,}"),
        ("columns released", f"{found.columns:,}, {found.quasi_identifiers} quasi-identifiers"),
        ("distinct lines, about", f"{found.distinct:,}"),
        ("time, about", f"{_clock(low)} to {_clock(high)}"),
        ("memory, about", f"{found.memory / 1e9:.1f} GB"),
    ]
    show_table("Before it begins", ("what", "value"), rows)
    note("nothing was released; figures are carried on from a count of some rows.")


def _clock(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _released(table: Any, request: AnonymizeCommand) -> Release:
    from sfumato.anonymize.run import anonymize as run  # noqa: PLC0415 - heavy

    wanted = request.wanted
    assert wanted.promise is not None
    with SearchProgress("searching", enabled=not request.quiet) as progress:
        return run(
            table,
            wanted.promise,
            algorithm=wanted.algorithm,
            suppression=wanted.suppression,
            objective=wanted.objective,
            population=request.population,
            pseudonym_key=pseudonym_key_bytes(request.pseudonym_key, request.output),
            order="keep" if wanted.keep_order else "shuffle",
            seed=wanted.seed,
            progress=progress,
            time_limit=wanted.time_limit,
            **_options(request),
        )


def _options(request: AnonymizeCommand) -> dict[str, Any]:
    """Return the options of the algorithm, with limits on levels where there are some."""
    wanted = request.wanted
    return {**wanted.options, **({"levels": wanted.levels} if wanted.levels else {})}


def _measure_utility(release: Release, table: Any, queries: bool, target: str | None) -> None:
    """Print what the release is worth to an analyst, where asked."""
    if not queries and target is None:
        return
    from sfumato.anonymize.loss import utility  # noqa: PLC0415 - rarely needed

    if queries:
        out.print(str(utility.query_error(release)), markup=False)
    if target is not None:
        out.print(str(utility.model_loss(release, table, target)), markup=False)


def plain(release: Release, path: Path | str) -> dict[str, Any]:
    """Return what a program wants to know of a release that was written."""
    record = release.provenance.record
    return {
        "file": str(path),
        "promise": release.promise.to_json(),
        "records": release.records,
        "released": len(release.artefact),
        "suppressed": release.suppressed,
        "loss": dict(release.loss),
        "algorithm": record.algorithm,
        "proven_optimal": getattr(record, "proven_optimal", False),
        "truthful": release.is_truthful,
    }


def tell(release: Release, path: Path | str) -> None:
    """Tell the person what was written, and where it is."""
    record = release.provenance.record
    out.print(f"[bold]{escape(str(release.promise))}[/] holds, verified from {path}")
    came = "" if release.records is None else f" of {release.records:,}"
    rows = [
        ("records released", f"{len(release.artefact):,}{came}"),
        ("records suppressed", f"{release.suppressed:,}"),
        *(
            (f"loss ({name})", f"{value:.4f}   0 = nothing lost, 1 = everything")
            for name, value in list(release.loss.items())[:1]
        ),
        ("algorithm", record.algorithm),
        *((("which is", record.label),) if record.label else ()),
    ]
    left_out = getattr(release, "left_out", ())
    if left_out:
        rows.append(("columns left out", ", ".join(left_out)))
    if release.untruthful:
        rows.append(("not truthful", "; ".join(release.untruthful)))
    show_table("Release", ("what", "value"), rows)
    if isinstance(path, str):
        out.print(f"to give away   {path}, whose comment says what was promised")
        return
    folder = path.parent
    out.print(f"to give away   {path} and {folder / 'release.json'}")
    if (folder / "report.html").exists():
        out.print(f"for you        {folder / 'report.html'}")
    if not release.is_truthful:
        note("single records of this release are no longer facts about one person.")


def pseudonym_key_bytes(path: Path | None, folder: str | Path) -> bytes | None:
    """Return the key of a key file outside the release's folder; it is made if absent."""
    if path is None:
        return None
    from sfumato.data.tables.pseudonyms import key_beside  # noqa: PLC0415 - rarely needed

    return key_beside(path, folder)


def _perturbed(table: Any, wanted: Perturbation, seed: int | None) -> Any:
    if not wanted.model_fields_set:
        return table
    from sfumato.anonymize.tables.perturb.operations import perturb  # noqa: PLC0415 - rarely needed

    operations = wanted.operations()
    return perturb(table, *operations, seed=seed) if operations else table


def _swept(release: Release, request: AnonymizeCommand) -> dict[str, Any]:
    """Return the points of the trade-off curve, where it is wanted."""
    if request.utility.sweep is None:
        return {}
    from sfumato.anonymize.tables.sweep import sweep_release  # noqa: PLC0415 - rarely needed

    with SearchProgress("sweeping k", enabled=not request.quiet) as progress:
        limit = request.wanted.time_limit
        ks = request.utility.sweep
        return {"sweep": sweep_release(release, ks, progress=progress, time_limit=limit)}
