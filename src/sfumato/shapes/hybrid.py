"""Hybrid records: attributes, sets of items and places in one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.anonymize.hybrid.options import HybridOptions
from sfumato.data.reading_options import HybridReading, check_reading
from sfumato.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sfumato.anonymize.hybrid.artefact import HybridArtefact
    from sfumato.attack.attack import Attack, Knowledge
    from sfumato.audit.verification.verify import Verification
    from sfumato.data.hybrid.records import HybridRecords
    from sfumato.decision import Decision
    from sfumato.promise import StatedPromise
    from sfumato.release import Release
    from sfumato.released.hybrid import HybridView


class HybridShape(Shape):
    """A table whose schema has attributes of type set, and perhaps place."""

    name: ClassVar[str] = "hybrid"
    files: ClassVar[tuple[str, ...]] = ("release.csv", "release.parquet")
    options: ClassVar[Mapping[str, Any]] = {"anonymize": HybridOptions}

    def read(self, source: Any, *, schema: Any = None, **options: Any) -> HybridRecords:
        """Bring a file or frame in."""
        from sfumato.data.hybrid.records import read_hybrid  # noqa: PLC0415 - loaded when used

        check_reading(HybridReading, options)
        return read_hybrid(source, schema=schema, **options)

    def algorithms(self) -> Mapping[str, Callable[..., Decision]]:
        """Return merging of clusters."""
        from sfumato.anonymize.hybrid.algorithms import merge_clusters  # noqa: PLC0415 - heavy

        return {"merge": merge_clusters}

    def check(self, data: HybridRecords, promise: Any) -> None:
        """Refuse a promise that no release of these records can keep."""
        from sfumato.anonymize.hybrid.algorithms import check_promise  # noqa: PLC0415 - heavy

        check_promise(data, promise)

    def apply(self, data: HybridRecords, decision: Decision) -> HybridArtefact:
        """Make the released records."""
        from sfumato.anonymize.hybrid.artefact import apply  # noqa: PLC0415 - heavy

        return apply(data, decision)

    def warnings(self, data: HybridRecords) -> Iterable[str]:
        """Say which columns released as they are tell people apart by themselves."""
        from sfumato.data.tables.singling_out import nearly_unique  # noqa: PLC0415 - loaded when used
        from sfumato.data.tables.sources import read  # noqa: PLC0415 - loaded when used

        plain = {n for n in data.schema.insensitive_names if n not in data.schema.accepted}
        columns = {name: cells for name, cells in data.others.items() if name in plain}
        found = nearly_unique(read(columns), tuple(columns)) if columns else ()
        return [column.warning for column in found]

    def losses(self, data: HybridRecords, decision: Decision, artefact: Any) -> Mapping[str, float]:
        """Return what sets, rows and counts of both lost."""
        from sfumato.anonymize.hybrid.loss import measure  # noqa: PLC0415 - heavy

        return measure(data, decision, artefact)

    def view(self, source: Any, *, schema: Any = None, **options: Any) -> HybridView:
        """Look at a released file."""
        from sfumato.released.hybrid import see_hybrid  # noqa: PLC0415 - loaded when used

        return see_hybrid(source, schema=schema, **options)

    def verify(self, view: HybridView, promise: StatedPromise, **options: Any) -> Verification:
        """Judge rows as a table, and sets within its classes."""
        from sfumato.audit.verification.hybrid import verify_hybrid  # noqa: PLC0415 - compiles

        return verify_hybrid(view, promise, **options)

    def original(self, release: Release) -> Any:
        """Return the records as they came."""
        return release.decision.content.data

    def attacks(self, view: HybridView, knowledge: Knowledge) -> Iterable[Attack]:
        """Return the attacks of somebody who knows a row and some items."""
        from sfumato.attack.releases.hybrid import hybrid_attacks  # noqa: PLC0415 - loaded when used

        return hybrid_attacks(view, knowledge)

    def known(self, release: Release) -> Sequence[str]:
        """Name the quasi-identifiers."""
        artefact: Any = release.artefact
        return tuple(artefact.quasi)

    def sections(self) -> tuple[Any, ...]:
        """Return the trade-off between rows and sets."""
        from sfumato.report.hybrid.sections import SECTIONS  # noqa: PLC0415 - loaded when used

        return SECTIONS


HYBRID = HybridShape()
