"""Release: what leaves the building, with the promise, the evidence and the price.

Everything Sfumato does ends in this noun. It can be handed on as a table in the kind it
came in, verified from its own content, written as a folder, and turned into a page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.audit.verification.verify import Verification
    from sfumato.data.schema import Schema
    from sfumato.data.tables.rows import Rows
    from sfumato.data.tables.table import Kind


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
        from sfumato.release_folder import verify_rows  # noqa: PLC0415 - the audit room loads when used

        return verify_rows(self)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write the one-page report; returns its path."""
        from sfumato.report.release_page import write_report  # noqa: PLC0415 - loaded when used

        return write_report(self, Path(path), **options)

    def manifest(self) -> dict[str, Any]:
        """Return what `release.json` says: everything a receiver may know."""
        from sfumato import __version__  # noqa: PLC0415 - avoids a cycle
        from sfumato.promise import to_json  # noqa: PLC0415 - loaded when used

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
            "roles": {
                "quasi": [n for n in self.schema.quasi_names if n in self.rows.columns],
                "sensitive": [n for n in self.schema.sensitive_names if n in self.rows.columns],
            },
            "pseudonyms": list(self.pseudonyms),
            "truthful": self.is_truthful,
            "untruthful_operations": list(self.untruthful),
            "algorithm": record.algorithm,
            "label": record.label,
            "proven_optimal": record.proven_optimal,
            "levels": self.levels,
            "loss": {name: round(value, 6) for name, value in self.loss.items()},
            "settings": dict(self.settings),
        }

    @property
    def levels(self) -> dict[str, int] | None:
        """Level per quasi-identifier, where all records are treated alike."""
        levels = getattr(self.decision.recoding, "levels", None)
        if levels is None:
            return None
        return dict(zip(self.schema.quasi_names, (int(v) for v in levels), strict=True))

    def save(self, folder: str | Path, **options: Any) -> Path:
        """Write the release as a folder that appears whole or not at all; returns the data file.

        Options: `file_format` ("csv" or "parquet"), `report` (False for no page), `replace`
        (True to write over an earlier release), `sweep` (points for the trade-off curve),
        `ledger` (a Ledger or its place, where the release is recorded before it appears), `purpose`
        (one that the schema names; others are refused) and `by` (who releases).
        """
        from sfumato.release_folder import save_release  # noqa: PLC0415 - loaded when used

        return save_release(self, Path(folder), **options).path
