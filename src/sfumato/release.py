"""Release: what leaves the building, with the promise, the evidence and the price.

Everything Sfumato does ends in this noun, whatever the shape of the data and whether the promise is
a definition (about the output) or a guarantee (about the process). It can be handed on in the kind
the data came in, verified from its own content, written as a folder, turned into a page and
recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.artefact import Artefact
    from sfumato.audit.verification.verify import Verification
    from sfumato.decision import SearchRecord
    from sfumato.shapes.parts import ArtefactParts
else:

    class ArtefactParts:
        """Gives whatever else is asked of a release from its artefact."""

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name == "artefact":
                raise AttributeError(name)
            return getattr(self.artefact, name)


@dataclass(frozen=True, eq=False)
class Provenance(Shown):
    """Where a release comes from, as far as a receiver may know.

    ``records`` counts the units that came in, ``suppressed`` those left out, of which there might
    have been ``allowed`` (None where nobody set a limit); ``untruthful`` names the operations after
    which single units are no longer facts, ``settings`` is what was asked for.
    """

    record: SearchRecord
    records: int | None = None
    suppressed: int = 0
    allowed: int | None = None
    untruthful: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Release(ArtefactParts, Shown):
    """An artefact with its promise, what it cost and where it comes from.

    ``loss`` holds every measure normalised to [0, 1], the one that was minimised first.
    ``decision`` stays inside: the report explains a release from it, and nothing of it is written.
    ``warnings`` say what is wrong with it whatever it promises, such as a column that tells people
    apart by itself; it cannot be saved until that is mended or accepted in the schema.
    What the artefact of a shape has beside that (such as ``rows`` or ``levels`` of a table) can be
    asked of the release.

    >>> import sfumato as sf
    >>> people = sf.read({"age": [30, 30, 41, 41]}, schema=sf.Schema(quasi=["age"]))
    >>> release = sf.anonymize(people, sf.KAnonymity(2))
    >>> release.verify().holds
    True
    """

    name: str
    shape: str
    artefact: Artefact
    promise: Any
    provenance: Provenance
    loss: Mapping[str, float] = field(default_factory=dict)
    schema: Any = None
    decision: Any = None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Say what it is without showing a cell: a representation ends up in logs."""
        came = "" if self.records is None else f" of {self.records:,}"
        lost = "".join(f", {name} {value:.4f}" for name, value in list(self.loss.items())[:1])
        return (
            f"<Release of {self.name}: {self.promise}, {len(self.artefact):,}{came} records{lost}>"
        )

    @cached_property
    def data(self) -> Any:
        """The content, in the kind the data came in: rows, sets, traces, trees, a graph."""
        return self.artefact.data

    @property
    def records(self) -> int | None:
        """How many units came in; None where that is not to be told."""
        return self.provenance.records

    @property
    def suppressed(self) -> int:
        """How many units were left out."""
        return self.provenance.suppressed

    @property
    def untruthful(self) -> tuple[str, ...]:
        """The operations after which single units are no longer facts."""
        return self.provenance.untruthful

    @property
    def settings(self) -> Mapping[str, Any]:
        """What was asked for."""
        return self.provenance.settings

    @property
    def is_truthful(self) -> bool:
        """Whether every released unit still states facts."""
        return not self.provenance.untruthful

    def verify(self) -> Verification:
        """Check the promise from the released content and the schema alone."""
        from sfumato.release_folder import verify_release  # noqa: PLC0415 - loads the audit when used

        return verify_release(self)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write the one-page report; returns its path."""
        from sfumato.report.release_page import write_report  # noqa: PLC0415 - loaded when used

        return write_report(self, Path(path), **options)

    def manifest(self) -> dict[str, Any]:
        """Return what `release.json` says: everything a receiver may know."""
        from sfumato import __version__  # noqa: PLC0415 - the package is complete only when used
        from sfumato.promise import to_json  # noqa: PLC0415 - loaded when used

        record = self.provenance.record
        return {
            "sfumato": __version__,
            "name": self.name,
            "shape": self.shape,
            "promise": to_json(self.promise),
            "promise_in_words": str(self.promise),
            "records_released": len(self.artefact),
            "records_suppressed": self.suppressed,
            **self.artefact.manifest(),
            "truthful": self.is_truthful,
            "untruthful_operations": list(self.untruthful),
            "algorithm": record.algorithm,
            "label": record.label,
            "proven_optimal": record.proven_optimal,
            "loss": {name: round(value, 6) for name, value in self.loss.items()},
            "settings": dict(self.settings),
        }

    def save(self, folder: str | Path, **options: Any) -> Path | str:
        """Write the release as a folder that appears whole or not at all; returns the data file.

        The name of a table (`postgresql://…/database?table=people_released`, `spark:released` or
        `clinic.duckdb::released`) lets the database write it there instead; the name is returned,
        and `report` is the path of a page to write.

        Options: `file_format` (such as "csv" or "parquet"), `formulas` ("guard" to put a quote mark
        before cells of a CSV file that a spreadsheet would run), `report` (False for no page),
        `replace` (True to write over an earlier release), `sweep` (points for the trade-off curve),
        `ledger` (a Ledger or its place, where the release is recorded before it appears), `purpose`
        (one that the schema names; others are refused), `by` (who releases) and `dataset` (what the
        ledger calls the data, if not as the release is named). ``session.save`` fills these in.
        """
        from sfumato.data.engines.addresses import is_database  # noqa: PLC0415 - loaded when used
        from sfumato.shape import find_shape  # noqa: PLC0415 - loaded when used

        if isinstance(folder, str) and is_database(folder):
            return find_shape(self.shape).save_to_database(self, folder, **options)
        from sfumato.release_folder import save_release  # noqa: PLC0415 - loaded when used

        return save_release(self, Path(folder), **options).path
