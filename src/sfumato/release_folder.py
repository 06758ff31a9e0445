"""Put a release on disk: verified first, whole or not at all.

The folder holds

* the data file, such as `release.csv`: the only file meant to be given away together with
  `release.json`;
* `release.json`: the promise, what was done, what it cost, and the digest of the data file;
* what the shape writes beside it for the house, such as a table's `policy.yaml`;
* `report.html`: the page for the data steward. It compares with the original data, so it
  stays in the house.

It is filled out of sight, verified from its own data file, recorded in a ledger where one is
named, and renamed into place. A release that does not keep its promise, that is for a purpose which
the schema does not name, or that cannot be recorded, is never put in place.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.audit.verification.verify import digest, verify
from sfumato.data.formulas import guard_formulas
from sfumato.errors import DataError, OutputError, ParameterError
from sfumato.govern.purposes import check_purpose
from sfumato.shape import find_shape
from sfumato.staging import staged

if TYPE_CHECKING:
    import os

    from sfumato.audit.verification.verify import Verification
    from sfumato.govern.ledger.ledger import Ledger
    from sfumato.release import Release
    from sfumato.shape import Shape


@dataclass(frozen=True)
class SavedRelease:
    """Where a release was put, and what its file was found to be."""

    path: Path
    verification: Verification


def verify_release(release: Release) -> Verification:
    """Verify a release that has not been saved, from a temporary file."""
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        return _verify(release, _write(release, Path(folder), None))


def save_release(
    release: Release,
    target: Path,
    *,
    file_format: str | None = None,
    formulas: str = "keep",
    report: bool = True,
    replace: bool = False,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    purpose: str | None = None,
    by: str | None = None,
    dataset: str | None = None,
    recorded_as: str | None = None,
    **report_options: Any,
) -> SavedRelease:
    """Write the folder; raise `PromiseBroken` instead if the file does not keep the promise.

    ``dataset`` is what the ledger calls the data, where the release is named for what it is;
    ``recorded_as`` is the folder that the entry names, where the true path is not to be told.
    """
    form = find_shape(release.shape)
    _check_target(target, replace, form)
    if formulas not in {"keep", "guard"}:
        raise ParameterError(f"Formulas are 'keep' or 'guard', not {formulas!r}.")
    if ledger is None and purpose is not None:
        check_purpose(release.name, getattr(release.schema, "purposes", ()), purpose)
    try:
        with staged(target) as staging:
            data = _write(release, staging, file_format, guard=formulas == "guard")
            checked = _verify(release, data, called=str(target / data.name))
            checked.raise_if_broken()
            form.write_extras(release, staging)
            if report:
                release.report(staging / "report.html", verification=checked, **report_options)
            if ledger is not None:
                from sfumato.govern.releases import record_release  # noqa: PLC0415 - a database

                known = str((target / data.name).absolute())
                called = known if recorded_as is None else f"{recorded_as}{data.name}"
                record_release(
                    release,
                    digest(data),
                    ledger,
                    called=called,
                    purpose=purpose,
                    by=by,
                    dataset=dataset,
                    checked=checked.told,
                )
            _put_in_place(staging, target, replace, form)
    except OSError as error:
        raise OutputError(
            f"{target} cannot be written ({error.strerror}); choose a folder that may be "
            "written to."
        ) from None
    return SavedRelease(target / data.name, checked)


def _write(release: Release, folder: Path, file_format: str | None, *, guard: bool = False) -> Path:
    """Write the data and what is said about it; return the data file."""
    path = release.artefact.write(folder, file_format)
    if guard and path.suffix == ".csv":
        guard_formulas(path, getattr(release.artefact, "delimiter", ","))
    facts = release.manifest() | {"file": path.name, "sha256": digest(path)}
    text = json.dumps(facts, indent=2, ensure_ascii=False)
    (folder / "release.json").write_text(text + "\n", encoding="utf-8")
    return path


def _verify(release: Release, path: Path, called: str = "the release") -> Verification:
    options = find_shape(release.shape).evidence_options(release)
    return verify(
        path, release.schema, release.promise, shape=release.shape, called=called, **options
    )


SHARED_FILES = frozenset({"release.json", "report.html"})
"""Files that a folder may hold whatever the shape of the release."""


def _check_target(target: Path, replace: bool, form: Shape) -> None:
    """Refuse a target that holds anything but an earlier release that may be replaced."""
    if not target.exists():
        return
    if not target.is_dir():
        raise DataError(f"{target} exists and is not a folder; choose another one.")
    there = {file.name for file in target.iterdir()}
    if there and not replace:
        raise DataError(
            f"{target} exists and is not empty; choose another folder, or ask to replace it."
        )
    if there - SHARED_FILES - {*form.files, *form.extras}:
        raise DataError(
            f"{target} holds files that are not of a release, so it is not replaced; choose "
            "another folder."
        )


def _put_in_place(staging: Path, target: Path, replace: bool, form: Shape) -> None:
    """Rename the finished folder into place; an earlier release is swapped out whole.

    A folder that appeared meanwhile is another run's: without `replace` that is an error.
    """
    _check_target(target, replace, form)
    if target.exists() and any(target.iterdir()):
        aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old."))
        target.rename(aside / "release")
        try:
            staging.rename(target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return
    try:
        staging.rename(target)
    except OSError:
        _check_target(target, replace, form)
        raise
