"""`sfumato apply`: treat the next batch as the last one was treated."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from sfumato.cli.anonymize import plain, pseudonym_key_bytes, tell
from sfumato.cli.display.terminal import result, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.login import login
from sfumato.requests.anonymize import ApplyCommand


@takes_request
def apply(request: ApplyCommand) -> None:
    """Apply a saved policy to the next batch and check its promise again.

    Example: sfumato apply out/policy.yaml february.csv -s patients.yaml -o february/

    Values are generalised exactly as before. Classes that are too small in the new batch are
    suppressed within the policy's limit; if that is not enough, nothing is written. Values that
    have no place in the policy stop it too; --uncovered FILE lists them for you.
    """
    from sfumato.anonymize.tables.policy import Policy  # noqa: PLC0415 - heavy
    from sfumato.data.tables.sources import read  # noqa: PLC0415 - heavy

    form, record, folder = request.csv, request.record, request.folder
    table = read(
        request.data, schema=request.schema_file, delimiter=form.delimiter, encoding=form.encoding
    )
    policy = Policy.read(request.policy)
    if request.uncovered is not None:
        _list_uncovered(policy.uncovered(table), request.uncovered)
        return
    release = policy.apply(
        table,
        suppression=request.suppression,
        population=request.population,
        pseudonym_key=pseudonym_key_bytes(request.pseudonym_key, request.output),
        order="keep" if request.keep_order else "shuffle",
        seed=request.seed,
    )
    saved = release.save(
        request.output, file_format=folder.file_format, replace=folder.force,
        formulas="guard" if folder.guard_formulas else "keep",
        report=not folder.no_report, ledger=record.ledger, purpose=record.purpose, by=login(),
    )  # fmt: skip
    result(plain(release, saved))
    if not request.quiet:
        tell(release, saved)


def _list_uncovered(found: dict[str, tuple[str, ...]], target: Path) -> None:
    """Write the values that have no place, for the owner alone; say how many there are."""
    from sfumato.data.atomic import refuse_existing, write_text_atomically  # noqa: PLC0415 - rarely needed

    refuse_existing(target, "another name")
    text = io.StringIO()
    rows = [(name, value) for name, values in found.items() for value in values]
    csv.writer(text, lineterminator="\n").writerows([("attribute", "value"), *rows])
    write_text_atomically(target, text.getvalue())
    target.chmod(0o600)
    result({name: len(values) for name, values in found.items()})
    show_table(
        f"Values without a place, in {target}: they are cells of the data",
        ("attribute", "values"),
        [(name, f"{len(values):,}") for name, values in found.items()],
    )
