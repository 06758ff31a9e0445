"""`sfumato verify`: is the promise kept, told from the released file alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.display.terminal import out, result, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.errors import DataError, ParameterError, PromiseBroken
from sfumato.requests.verify import VerifyCommand

if TYPE_CHECKING:
    from sfumato.audit.verification.verify import Verification
    from sfumato.requests.shapes import ShapedVerify


@takes_request
def verify(request: VerifyCommand) -> None:
    """Check a released file against its promise; exit code 1 when it is broken.

    Example: sfumato verify out/release.csv -s patients.yaml -k 5

    Example: sfumato verify release.csv --certificate certificate.json --key sfumato-keys.json

    Without a promise, the one in release.json beside the file is checked. With --measure the
    file is only measured: which k, l, c and t it has, and its weakest class.
    """
    if request.certificate is not None:
        _check_certificate(request)
        return
    if request.release is None:
        raise ParameterError("Name the released file; or a certificate, with --certificate.")
    from sfumato.audit.verification.verify import verify as check  # noqa: PLC0415 - heavy

    found = check(
        request.release,
        request.schema_file,
        request.promise,
        population=request.population,
        delimiter=request.csv.delimiter,
        encoding=request.csv.encoding,
    )
    end(found, request)


def _check_certificate(request: VerifyCommand) -> None:
    """Check a certificate from the file and the certificate alone, and tell what it proves."""
    from sfumato.govern.certificates.check import check_certificate  # noqa: PLC0415 - rarely needed

    found = check_certificate(
        _json(request.certificate),
        file=None if request.release is None else Path(request.release),
        keys=None if request.key is None else _json(request.key),
        noted=None if request.checkpoint is None else _json(request.checkpoint),
        growth=None if request.growth is None else _json(request.growth),
    )
    if not request.quiet:
        for line in found.lines():
            out.print(line, markup=False, highlight=False, soft_wrap=True)
        about = "" if found.file is None else f" and {found.file} is the file it is about"
        out.print(f"the certificate holds{about}", markup=False, style="bold", soft_wrap=True)
    told = found.statement["predicate"]
    if found.file is not None and told.get("roles") and told.get("promise"):
        _check_promise(found.file, told, request)


def _check_promise(file: Path, told: dict[str, Any], request: VerifyCommand) -> None:
    """Check the certified promise from the file, with the roles that the certificate states."""
    from sfumato.audit.verification.verify import verify as check  # noqa: PLC0415 - heavy
    from sfumato.released.manifest import Manifest, read_manifest  # noqa: PLC0415 - the same

    facts = dict(read_manifest(file).facts)
    for name in ("shape", "promise", "roles", "linkable", "people"):
        if name in told:
            facts[name] = told[name]
    manifest = Manifest(facts)
    end(check(file, request.schema_file, manifest=manifest, population=request.population), request)


def _json(path: Path | None) -> Any:
    import json  # noqa: PLC0415 - rarely needed

    assert path is not None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from None
    except ValueError:
        raise PromiseBroken(f"{path} is no JSON; it was changed.") from None


def end(found: Verification, request: VerifyCommand | ShapedVerify) -> None:
    """Show what was found, and end with the exit code that says it."""
    result(_plain(found))
    if not request.quiet:
        _show(found)
    if not found.promises and not found.unchecked and not request.measure:
        raise ParameterError(
            f"Nothing is promised about {found.source}, so nothing was checked; say for "
            "instance -k 5, or --measure if figures are all you want."
        )
    raise typer.Exit(0 if found.holds or request.measure else 1)


def _plain(found: Verification) -> dict[str, Any]:
    rows = [
        {"name": r.name, "promised": r.promised, "found": r.found, "holds": r.holds}
        for r in found.table
    ]
    return {
        "holds": found.holds,
        "records": found.records,
        "classes": found.classes,
        "measures": rows,
        "risk": dict(found.rows()),
        "findings": [str(finding) for finding in found.findings],
        "unchecked": [str(text) for text in found.unchecked],
    }


def _show(found: Verification) -> None:
    title = found.title
    rows = [
        (row.promised, _figure(row.found), "yes" if row.holds else "NO") for row in found.promises
    ]
    if rows:
        show_table(title, ("promised", "found", "holds"), rows)
    for row in found.promises:
        if row.bottleneck:
            out.print(f"{row.name}: decided by the class {row.bottleneck}", markup=False)
    rest = [(row.name, _figure(row.found)) for row in found.table if not row.promised]
    if rest or not rows:
        show_table("What else it has" if rows else title, ("measure", "found"), rest)
    risks = [(name, _figure(value)) for name, value in found.rows()]
    if risks:
        show_table("Risk of re-identification", ("measure", "value"), risks)
    for finding in found.findings:
        out.print(f"• {finding}", markup=False)
    for text in found.unchecked:
        out.print(f"• not checked: {text}; hand it over with --definition", markup=False)
    if not found.promises and not found.unchecked:
        out.print("no promise was stated; this is what the file has", style="bold")
    else:
        out.print("the promise holds" if found.holds else "the promise is broken", style="bold")


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"
