"""Sets of items: baskets, clicks, diagnoses; one set per person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.anonymize.sets.options import KnownItemsOptions, SetFileOptions, SetOptions
from sfumato.data.reading_options import SetsReading, check_reading
from sfumato.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sfumato.anonymize.sets.artefact import SetsArtefact
    from sfumato.attack.attack import Attack, Knowledge
    from sfumato.audit.verification.verify import Verification
    from sfumato.data.sets.sets import Sets
    from sfumato.decision import Decision
    from sfumato.promise import StatedPromise
    from sfumato.release import Release
    from sfumato.released.chunks import ChunksView
    from sfumato.released.sets import SetsView


class SetShape(Shape):
    """One set of items per person."""

    name: ClassVar[str] = "sets"
    unit: ClassVar[str] = "set"
    files: ClassVar[tuple[str, ...]] = (
        "release.dat", "release.csv", "release.parquet", "chunks.json",
    )  # fmt: skip
    options: ClassVar[Mapping[str, Any]] = {
        "read": SetFileOptions,
        "anonymize": SetOptions,
        "attack": KnownItemsOptions,
    }

    def read(self, source: Any, *, schema: Any = None, **options: Any) -> Sets:
        """Bring lines, long tables or lists in; `hierarchy` (or `schema`) is that of the items."""
        from sfumato.data.sets.sources import read_sets  # noqa: PLC0415 - loaded when used

        if schema is not None:
            options.setdefault("hierarchy", schema)
        check_reading(SetsReading, options)
        return read_sets(source, **options)

    def algorithms(self) -> Mapping[str, Callable[..., Decision]]:
        """Return the algorithms by name."""
        from sfumato.anonymize.sets.algorithms import ALGORITHMS  # noqa: PLC0415 - heavy

        return ALGORITHMS

    def apply(self, data: Sets, decision: Decision) -> SetsArtefact:
        """Make the released sets."""
        from sfumato.anonymize.sets.artefact import apply  # noqa: PLC0415 - heavy

        made: SetsArtefact = apply(data, decision)
        return made

    def check(self, data: Sets, promise: Any) -> None:
        """Refuse a promise that no release of these sets can keep."""
        from sfumato.anonymize.sets.algorithms import check_promise  # noqa: PLC0415 - heavy

        check_promise(data, promise)

    def losses(self, data: Sets, decision: Decision, artefact: Any) -> Mapping[str, float]:
        """Return NCP and what became of pairs and items."""
        from sfumato.anonymize.sets.loss import measure  # noqa: PLC0415 - heavy

        return measure(data, decision, artefact)

    def view(self, source: Any, *, schema: Any = None, **options: Any) -> SetsView | ChunksView:
        """Count the distinct sets of a released file, or look at its clusters and chunks."""
        from sfumato.released.chunks import is_chunked, see_chunks  # noqa: PLC0415 - loaded when used
        from sfumato.released.sets import see_sets  # noqa: PLC0415 - loaded when used

        if is_chunked(source):
            return see_chunks(source, **options)
        return see_sets(source, schema=schema, **options)

    def verify(
        self, view: SetsView | ChunksView, promise: StatedPromise, **options: Any
    ) -> Verification:
        """Count supports by formulas of its own."""
        from sfumato.released.chunks import ChunksView  # noqa: PLC0415 - loaded when used

        if isinstance(view, ChunksView):
            from sfumato.audit.verification.chunks import verify_chunks  # noqa: PLC0415 - compiles

            return verify_chunks(view, promise, **options)
        from sfumato.audit.verification.sets import verify_sets  # noqa: PLC0415 - loads the compiler

        return verify_sets(view, promise, **options)

    def original(self, release: Release) -> Any:
        """Return the sets as they came."""
        return release.decision.content.data

    def attacks(self, view: SetsView | ChunksView, knowledge: Knowledge) -> Iterable[Attack]:
        """Return the attacks of somebody who knows some items."""
        from sfumato.attack.releases.sets import set_attacks  # noqa: PLC0415 - loaded when used

        return set_attacks(view, knowledge)

    def sections(self) -> tuple[Any, ...]:
        """Return what the report says of items and supports."""
        from sfumato.report.sets.sections import SECTIONS  # noqa: PLC0415 - loaded when used

        return SECTIONS


SETS = SetShape()
