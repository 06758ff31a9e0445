"""Trajectories: where people were and when, one trace per trip or per person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, Field

from sfumato.data.reading_options import TracesReading, check_reading
from sfumato.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sfumato.anonymize.trajectories.artefact import TracesArtefact
    from sfumato.attack.attack import Attack, Knowledge
    from sfumato.audit.verification.verify import Verification
    from sfumato.data.trajectories.trajectories import Trajectories
    from sfumato.decision import Decision
    from sfumato.promise import StatedPromise
    from sfumato.release import Release
    from sfumato.released.trajectories import TracesView


class TraceOptions(BaseModel):
    """What `sfumato anonymize --shape trajectories` can be told beside the promise."""

    places: int | None = Field(
        None, ge=2, le=256, description="Places shown of each trip, at equal shares of its way; 8."
    )
    time_bin: float | None = Field(
        None, gt=0, description="Seconds of a time bin, for whole days of people."
    )
    metres: float | None = Field(
        None, gt=0, description="Grid that boxes are rounded outwards to, in metres; 10."
    )
    levels: int | None = Field(
        None,
        ge=1,
        le=8,
        description="For k^m: finest cells are 2^levels to a side of the bounds; 6.",
    )
    cuts: int | None = Field(
        None, ge=0, description="With 'split': the most cuts made; as many as pay by default."
    )
    price: float | None = Field(
        None,
        ge=0,
        description="With 'split': what a cut costs a trace, in observations left out; 1.",
    )


class PointFileOptions(BaseModel):
    """How a file of points is read, where its columns do not have their usual names."""

    unit: str | None = Field(None, description="What is protected: 'trip' or 'person'.")
    bounds: str | None = Field(
        None, description="Public bounds 'low x,high x,low y,high y'; what is outside is left out."
    )
    gap: float | None = Field(
        None, gt=0, description="Seconds without a point after which a new trip begins."
    )
    person: str | None = Field(None, description="Column of the person.")
    x: str | None = Field(None, description="Column of x or of the longitude.")
    y: str | None = Field(None, description="Column of y or of the latitude.")
    time: str | None = Field(None, description="Column of the time.")
    trip: str | None = Field(None, description="Column of the trip.")


class TrajectoryShape(Shape):
    """Time-ordered points of people."""

    name: ClassVar[str] = "trajectories"
    unit: ClassVar[str] = "trace"
    files: ClassVar[tuple[str, ...]] = ("release.csv", "release.parquet")

    options: ClassVar[Mapping[str, Any]] = {"anonymize": TraceOptions, "read": PointFileOptions}

    def read(self, source: Any, *, schema: Any = None, **options: Any) -> Trajectories:
        """Bring points in; `schema` states options of `sf.read` in a file or a mapping."""
        from sfumato.data.trajectories.settings import read_settings  # noqa: PLC0415 - loaded when used
        from sfumato.data.trajectories.sources import read_trajectories  # noqa: PLC0415 - loaded when used

        if schema is not None:
            options = {**read_settings(schema), **options}
        check_reading(TracesReading, options)
        return read_trajectories(source, **options)

    def algorithms(self) -> Mapping[str, Callable[..., Decision]]:
        """Return boxes that k people share, cells that m observations leave k people in, moves."""
        from sfumato.anonymize.trajectories.algorithms import ALGORITHMS  # noqa: PLC0415 - loaded when used

        return ALGORITHMS

    def check(self, data: Trajectories, promise: Any) -> None:
        """Refuse a promise that no release of these traces can keep."""
        from sfumato.anonymize.trajectories.algorithms import check_promise  # noqa: PLC0415 - loaded when used

        check_promise(data, promise)

    def apply(self, data: Trajectories, decision: Decision) -> TracesArtefact:
        """Make the released traces."""
        from sfumato.anonymize.trajectories.artefact import apply  # noqa: PLC0415 - loaded when used

        return apply(data, decision)

    def losses(self, data: Trajectories, decision: Decision, artefact: Any) -> Mapping[str, float]:
        """Return what became of places, times, counts, trips and lengths."""
        from sfumato.anonymize.trajectories.loss import measure  # noqa: PLC0415 - loaded when used

        return measure(data, decision, artefact)

    def view(self, source: Any, *, schema: Any = None, **options: Any) -> TracesView:
        """Look at a released file."""
        from sfumato.released.trajectories import see_traces  # noqa: PLC0415 - loaded when used

        return see_traces(source, schema=schema, **options)

    def verify(self, view: TracesView, promise: StatedPromise, **options: Any) -> Verification:
        """Count the people behind each trace by code of its own."""
        from sfumato.audit.verification.trajectories import verify_traces  # noqa: PLC0415 - loaded when used

        return verify_traces(view, promise, **options)

    def original(self, release: Release) -> Trajectories:
        """Return the traces as they came."""
        data: Trajectories = release.decision.content.data
        return data

    def attacks(self, view: TracesView, knowledge: Knowledge) -> Iterable[Attack]:
        """Return the attacks of somebody who saw a person somewhere."""
        from sfumato.attack.places.attacks import trace_attacks  # noqa: PLC0415 - loaded when used

        return trace_attacks(view, knowledge)

    def sections(self) -> tuple[Any, ...]:
        """Return maps and sizes of boxes."""
        from sfumato.report.trajectories.sections import SECTIONS  # noqa: PLC0415 - loaded when used

        return SECTIONS


TRAJECTORIES = TrajectoryShape()
