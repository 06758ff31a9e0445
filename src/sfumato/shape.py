"""Shapes of data: what has to be known about tables, sets, traces, trees or graphs to release them.

One value per shape, found by its name. Everything that is the same for every shape (saving,
verifying, reporting, attacking, recording) asks the shape for the rest and knows no shape itself.
`sf.read` begins here. A user adds one with `sf.register_shape`; ours are in the table below and
load on first use. `docs/how-to/own-shape.md` builds one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack, overload

from sfumato.errors import ParameterError
from sfumato.lazy import find
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from sfumato.artefact import Artefact
    from sfumato.data.graphs.graph import Graph
    from sfumato.data.hybrid.records import HybridRecords
    from sfumato.data.reading_options import (
        GraphReading,
        HybridReading,
        SetsReading,
        TableReading,
        TracesReading,
        TreesReading,
    )
    from sfumato.data.schema import Schema
    from sfumato.data.sets.sets import Sets
    from sfumato.data.tables.table import Table
    from sfumato.data.trajectories.trajectories import Trajectories
    from sfumato.data.trees.trees import Trees
    from sfumato.decision import Decision

_BUILT_IN = {
    "table": "sfumato.shapes.tables:TABLES",
    "numbers": "sfumato.shapes.numbers:NUMBERS",
    "synthetic": "sfumato.shapes.synthetic:SYNTHETIC",
    "model": "sfumato.shapes.models:MODELS",
    "sets": "sfumato.shapes.sets:SETS",
    "hybrid": "sfumato.shapes.hybrid:HYBRID",
    "trees": "sfumato.shapes.trees:TREES",
    "graph": "sfumato.shapes.graphs:GRAPHS",
    "trajectories": "sfumato.shapes.trajectories:TRAJECTORIES",
}
"""Shapes that come with Sfumato, and where they live: the one line that a new one needs."""

TABLE = "table"
"""The shape of data for which none is named."""

_LIBRARIES = {"networkx": "graph"}
"""Libraries whose values have one shape, which need not be named."""

_REGISTERED: dict[str, Shape] = {}


class Shape(Shown, ABC):
    """What one shape of data brings along.

    Four methods are needed; the others have defaults that serve any shape whose release falls into
    groups of units nobody can tell apart. A dataset that `read` returns has a ``name``, the name of
    its ``shape``, a length (how many units it holds, unless decisions tell), and, where there is
    such a thing, a ``schema`` and ``untruthful`` (operations after which its units are no longer
    facts).
    """

    name: ClassVar[str]
    unit: ClassVar[str] = "record"
    """What one released unit is called."""
    files: ClassVar[tuple[str, ...]] = ()
    """Names that the data file of a saved release may have."""
    extras: ClassVar[tuple[str, ...]] = ()
    """Names of further files that `write_extras` may write."""
    report_title: ClassVar[str] = "report for the data steward"
    """What the page about a release is called."""
    look_options: ClassVar[tuple[str, ...]] = ("delimiter", "encoding")
    """Options of `verify` that say how the released file is read: they go to `view`."""
    open_report: ClassVar[bool] = False
    """Whether reports show nothing but what was released, so that they may be given away."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Pydantic models of the options that commands ("anonymize", "verify", "attack") have for this
    shape: what they state goes to the algorithm, to `verify` and to the attacks by name; what the
    one under "read" states goes to `read`."""

    # -- needed -----------------------------------------------------------------------------

    @abstractmethod
    def read(self, source: Any, *, schema: Any = None, **options: Any) -> Any:
        """Bring data in."""

    @abstractmethod
    def algorithms(self) -> Mapping[str, Callable[..., Decision]]:
        """Return the algorithms by name, the default first.

        Each is called as ``algorithm(data, promise, progress=…, **options)``.
        """

    @abstractmethod
    def apply(self, data: Any, decision: Decision) -> Artefact:
        """Do what was decided."""

    @abstractmethod
    def view(self, source: Any, *, schema: Any = None, **options: Any) -> Any:
        """Look at a released file as a stranger would; share no code with the algorithms.

        Returns a `sfumato.released.view.View`.
        """

    # -- with defaults ----------------------------------------------------------------------

    def check(self, data: Any, promise: Any) -> None:
        """Refuse a promise that cannot be made about these data."""

    def warnings(self, data: Any) -> Iterable[str]:  # noqa: ARG002 - the signature of the method
        """Say why a release of these data would be refused whatever it promises."""
        return ()

    def losses(self, data: Any, decision: Decision, artefact: Artefact) -> Mapping[str, float]:  # noqa: ARG002 - the signature of the method
        """Return what the release cost, each loss in [0, 1], the one that was minimised first."""
        return {}

    def original(self, release: Any) -> Any:  # noqa: ARG002 - the signature of the method
        """Return a view of the data as they came, for attacks before and after; None if unknown."""
        return None

    def verify(self, view: Any, promise: Any, **options: Any) -> Any:  # noqa: ARG002 - the signature
        """Verify a view in a way of its own; None to let every group be judged."""
        return None

    def suggest(self, source: Any) -> Any:  # noqa: ARG002 - the signature of the method
        """Suggest a schema from the data themselves, with reasons."""
        raise ParameterError(f"There is no schema to suggest for data of the shape '{self.name}'.")

    def evidence_options(self, release: Any) -> dict[str, Any]:  # noqa: ARG002 - the signature of the method
        """Return what verification of a release needs beside its file, such as a population."""
        return {}

    def known(self, release: Any) -> Sequence[str]:  # noqa: ARG002 - the signature of the method
        """Name what others may know of a person, for the sentences of a promise."""
        return ()

    def attacks(self, view: Any, knowledge: Any) -> Iterable[Any]:  # noqa: ARG002 - the signature
        """Return the attacks to try; none to try finding people by their group."""
        return ()

    def sections(self) -> tuple[Any, ...]:
        """Return the sections that a report has for this shape alone."""
        return ()

    def save_to_database(self, release: Any, address: str, **options: Any) -> str:  # noqa: ARG002 - the signature
        """Let a database write a release; returns the address as it may be shown."""
        raise ParameterError(
            f"A release of the shape '{self.name}' is saved as a folder; only anonymised tables "
            "are written to a database."
        )

    def write_extras(self, release: Any, folder: Path) -> None:
        """Write further files of a release that stay in the house, such as a policy."""


def register_shape(shape: Shape) -> None:
    """Make a shape known by its name; `sf.read(…, shape=name)` then brings its data in."""
    if not isinstance(shape, Shape):
        raise ParameterError(f"A shape is an instance of a subclass of sf.Shape, not {shape!r}.")
    if shape.name in _BUILT_IN:
        raise ParameterError(f"The shape '{shape.name}' is built in; choose another name.")
    _REGISTERED[shape.name] = shape


def shape_names() -> tuple[str, ...]:
    """Return the names of all shapes that are known."""
    return (*_BUILT_IN, *_REGISTERED)


def find_shape(name: str) -> Shape:
    """Return a shape by its name."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name not in _BUILT_IN:
        raise ParameterError(
            f"There is no shape '{name}'; there are {', '.join(shape_names())}. One of your own "
            "must be registered first, with sf.register_shape."
        )
    found: Shape = find(_BUILT_IN[name])
    return found


@overload
def read(
    source: Any,
    *,
    schema: Schema | str | Path | None = None,
    shape: Literal["table"] | None = None,
    **options: Unpack[TableReading],
) -> Table: ...
@overload
def read(
    source: Any,
    *,
    schema: Schema | str | Path | None = None,
    shape: Literal["hybrid"],
    **options: Unpack[HybridReading],
) -> HybridRecords: ...
@overload
def read(
    source: Any, *, schema: Any = None, shape: Literal["sets"], **options: Unpack[SetsReading]
) -> Sets: ...
@overload
def read(
    source: Any, *, schema: Any = None, shape: Literal["trees"], **options: Unpack[TreesReading]
) -> Trees: ...
@overload
def read(
    source: Any, *, schema: Any = None, shape: Literal["graph"], **options: Unpack[GraphReading]
) -> Graph: ...
@overload
def read(
    source: Any,
    *,
    schema: Any = None,
    shape: Literal["trajectories"],
    **options: Unpack[TracesReading],
) -> Trajectories: ...
@overload
def read(source: Any, *, schema: Any = None, shape: str | None) -> Any: ...
def read(source: Any, *, schema: Any = None, shape: str | None = None, **options: Any) -> Any:
    """Return data in the shape they have: a `Table` unless `shape` names another.

    `schema` is a `Schema` or the path of a YAML file. A table comes from a CSV or Parquet file, a
    frame (pandas, Polars, Arrow) or a mapping of columns, with the options `name`, `delimiter`,
    `encoding` and `types`; other shapes say in their own pages what they read. A networkx graph
    needs no `shape`.

    >>> import sfumato as sf
    >>> sf.read({"age": [30, 41]}).columns
    ('age',)
    """
    held = getattr(source, "shape", None)
    if isinstance(held, str) and held in shape_names() and held != TABLE:
        if shape not in {None, held}:
            raise ParameterError(f"The data have the shape '{held}', not '{shape}'.")
        return source if schema is None else find_shape(held).read(source, schema=schema, **options)
    if shape is None and type(source).__module__.partition(".")[0] in _LIBRARIES:
        shape = _LIBRARIES[type(source).__module__.partition(".")[0]]
    return find_shape(shape or TABLE).read(source, schema=schema, **options)
