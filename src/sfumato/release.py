"""Release: what leaves the building, with the promise, the evidence and the price.

Everything Sfumato does ends in this noun. It can be handed on as a table in the kind it
came in, verified from its own content, written as a folder, and turned into a page.

`save` writes a folder with

* `release.csv` or `release.parquet`: the data, the only file meant to be given away together
  with `release.json`;
* `release.json`: the promise, what was done, and what it cost;
* `policy.yaml`: the decision, to be applied to the next batch (full-domain releases);
* `report.html`: the page for the data steward. It compares with the original data, so it
  stays in the house.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.anonymize.definitions import Definition
    from sfumato.anonymize.problem import Problem
    from sfumato.anonymize.recoding import Recoding
    from sfumato.audit.verify import Verification
    from sfumato.data.rows import Rows
    from sfumato.data.schema import Schema
    from sfumato.data.table import Kind


@dataclass(frozen=True, eq=False, repr=False)
class Decision:
    """What was asked and what was decided; the report explains a release from this."""

    problem: Problem
    recoding: Recoding


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """An anonymised table with its promise.

    `loss` holds every measure normalised to [0, 1]; `records` counts what came in,
    `suppressed` what was left out. `left_out` names columns that were not released,
    `pseudonyms` identifiers released under keyed pseudonyms, `untruthful` the operations
    after which single records are no longer facts.
    """

    name: str
    rows: Rows
    promise: Definition
    schema: Schema
    decision: Decision
    loss: Mapping[str, float]
    records: int
    suppressed: int
    kind: Kind
    delimiter: str = ","
    left_out: tuple[str, ...] = ()
    pseudonyms: tuple[str, ...] = ()
    untruthful: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say what it is without showing a cell: a representation ends up in logs."""
        return (
            f"<Release of {self.name}: {self.promise}, {len(self.rows):,} of {self.records:,} "
            f"records, LM {self.loss['LM']:.4f}>"
        )

    @cached_property
    def table(self) -> Any:
        """The released rows, in the kind the data came in (a file comes as a frame)."""
        return self.rows.frame(self.kind)

    @property
    def is_truthful(self) -> bool:
        """Whether every released record still states facts about one person."""
        return not self.untruthful

    def verify(self) -> Verification:
        """Check the promise from the released rows and the schema alone."""
        from sfumato.audit.verify import verify  # noqa: PLC0415 - the audit room loads when used

        with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
            self._fill(Path(folder), "csv", report=False)
            return verify(
                Path(folder) / "release.csv",
                self.schema,
                self.promise,
                population=self.decision.problem.population_source,
            )

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write the one-page report; returns its path."""
        from sfumato.report.release_page import write_report  # noqa: PLC0415 - loaded when used

        return write_report(self, Path(path), **options)

    def manifest(self) -> dict[str, Any]:
        """Return what `release.json` says: everything a receiver may know."""
        from sfumato import __version__  # noqa: PLC0415 - avoids a cycle
        from sfumato.audit.promise import to_json  # noqa: PLC0415 - loaded when used

        record = self.decision.recoding.record
        return {
            "sfumato": __version__,
            "name": self.name,
            "promise": to_json(self.promise),
            "promise_in_words": str(self.promise),
            "records_released": len(self.rows),
            "records_suppressed": self.suppressed,
            "columns": list(self.rows.columns),
            "columns_left_out": list(self.left_out),
            "pseudonyms": list(self.pseudonyms),
            "truthful": self.is_truthful,
            "untruthful_operations": list(self.untruthful),
            "algorithm": record.algorithm,
            "label": record.label,
            "proven_optimal": record.proven_optimal,
            "levels": self._levels(),
            "loss": {name: round(value, 6) for name, value in self.loss.items()},
            "settings": dict(self.settings),
        }

    def _levels(self) -> dict[str, int] | None:
        levels = getattr(self.decision.recoding, "levels", None)
        if levels is None:
            return None
        return dict(zip(self.schema.quasi_names, (int(v) for v in levels), strict=True))

    def save(
        self,
        folder: str | Path,
        *,
        file_format: str | None = None,
        report: bool = True,
        replace: bool = False,
        **report_options: Any,
    ) -> Path:
        """Write the release as a folder that appears whole or not at all; returns the data file."""
        target = Path(folder)
        form = file_format or ("parquet" if self.kind == "parquet" else "csv")
        if form not in {"csv", "parquet"}:
            raise DataError(f"A release is written as 'csv' or 'parquet', not '{form}'.")
        if target.exists() and (not target.is_dir() or any(target.iterdir())) and not replace:
            raise DataError(
                f"{target} exists and is not empty; choose another folder, or ask to replace it."
            )
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            staging = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        except OSError as error:
            raise DataError(
                f"{target} cannot be written ({error.strerror}); choose a folder that may be "
                "written to."
            ) from None
        try:
            self._fill(staging, form, report=report, **report_options)
            _put_in_place(staging, target)
        except OSError as error:
            raise DataError(f"{target} cannot be written ({error.strerror}).") from None
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        return target / f"release.{form}"

    def _fill(self, folder: Path, form: str, *, report: bool, **report_options: Any) -> None:
        folder.chmod(0o777 & ~_umask())
        if form == "csv":
            self.rows.write_csv(folder / "release.csv", self.delimiter)
        else:
            self.rows.write_parquet(folder / "release.parquet")
        text = json.dumps(self.manifest(), indent=2, ensure_ascii=False)
        (folder / "release.json").write_text(text + "\n", encoding="utf-8")
        if self._levels() is not None:
            from sfumato.anonymize.policy import Policy  # noqa: PLC0415 - loaded when used

            Policy.of(self).write(folder / "policy.yaml")
        if report:
            self.report(folder / "report.html", **report_options)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _put_in_place(staging: Path, target: Path) -> None:
    """Rename the finished folder; over an existing one, file by file."""
    if not target.exists():
        staging.rename(target)
        return
    for file in sorted(staging.iterdir()):
        file.replace(target / file.name)
