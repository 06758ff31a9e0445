"""`sfumato apply`: treat the next batch as the last one was treated."""

from __future__ import annotations

from sfumato.cli.anonymize import pseudonym_key_bytes, tell
from sfumato.cli.login import login
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.anonymize import ApplyCommand


@takes_request
def apply(request: ApplyCommand) -> None:
    """Apply a saved policy to the next batch and check its promise again.

    Example: sfumato apply out/policy.yaml february.csv -s patients.yaml -o february/

    Values are generalised exactly as before. Classes that are too small in the new batch are
    suppressed within the policy's limit; if that is not enough, nothing is written.
    """
    from sfumato.anonymize.tables.policy import Policy  # noqa: PLC0415 - heavy
    from sfumato.data.tables.sources import read  # noqa: PLC0415 - heavy
    from sfumato.release_folder import save_release  # noqa: PLC0415 - heavy

    csv, record, folder = request.csv, request.record, request.folder
    table = read(
        request.data, schema=request.schema_file, delimiter=csv.delimiter, encoding=csv.encoding
    )
    release = Policy.read(request.policy).apply(
        table,
        suppression=request.suppression,
        population=request.population,
        pseudonym_key=pseudonym_key_bytes(request.pseudonym_key, request.output),
        order="keep" if request.keep_order else "shuffle",
        seed=request.seed,
    )
    saved = save_release(
        release, request.output, file_format=folder.file_format, replace=folder.force,
        formulas="guard" if folder.guard_formulas else "keep",
        report=not folder.no_report, ledger=record.ledger, purpose=record.purpose, by=login(),
    )  # fmt: skip
    if not request.quiet:
        tell(release, saved.path)
