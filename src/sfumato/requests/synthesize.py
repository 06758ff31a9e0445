"""What a synthetic copy is like: `sfumato synthesize`, of tables and of other shapes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sfumato.requests.ask import Bounds
from sfumato.requests.files import Quiet, Record, ReleaseFolder, ShapeName
from sfumato.requests.publish import OncePrice, SavedOnce
from sfumato.requests.request import Amount, Request, Texts, argument, option, piece
from sfumato.requests.session import DataPlace, DatasetOpening
from sfumato.requests.shapes import NoOptions, SchemaOfShape, ShapedCommand
from sfumato.requests.texts import pairs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel


def read_values(texts: list[str]) -> dict[str, list[str]]:
    """Read --values COLUMN=A,B,C."""
    pairs = pairs_of("--values", texts, "COLUMN=A,B,C, as in --values sex=female,male")
    return {name: [value.strip() for value in values.split(",")] for name, values in pairs.items()}


def _ends(ends: tuple[Any, Any]) -> tuple[Any, Any]:
    """Read ends as whole numbers where both are, as numbers, or as dates."""
    texts = [str(end) for end in ends]
    for kind in (int, float):
        try:
            return kind(texts[0]), kind(texts[1])
        except ValueError:
            continue
    return texts[0], texts[1]


class CopyLikeness(Request):
    """What a synthetic table is like."""

    target: Annotated[
        str | None, option("--target", help="Column that others will be asked to predict.")
    ] = None
    rules: Annotated[
        tuple[str, ...],
        option(
            "--rule",
            metavar="SQL",
            help="Condition on a row that no synthetic row breaks, from knowledge; may be "
            "repeated.",
        ),
    ] = ()
    bounds: Bounds = {}
    values: Annotated[
        dict[str, list[Any]],
        option(
            "--values",
            metavar="COLUMN=A,B,C",
            help="Public list of a column's values, beside the schema's; may be repeated.",
        ),
        Texts(read_values),
    ] = {}
    search: Annotated[
        Amount | None,
        option(
            "--search",
            metavar="SHARE",
            help="Share of the price to spend on finding domains that nobody declared, as in 0.1.",
        ),
    ] = None
    size: Annotated[
        int | None, option("--size", help="Number of synthetic rows; an estimate if absent.", ge=1)
    ] = None

    def copying(self) -> dict[str, Any]:
        """Return what is said about the copy, as a session takes it."""
        from sfumato.dp.publish.synthesis.columns import Column  # noqa: PLC0415 - heavy

        columns = {name: Column(bounds=_ends(ends)) for name, ends in self.bounds.items()}
        columns |= {name: Column(values=values) for name, values in self.values.items()}
        options = {
            "target": self.target, "constraints": list(self.rules) or None,
            "columns": columns or None, "search": self.search, "size": self.size,
        }  # fmt: skip
        return {name: value for name, value in options.items() if value is not None}


class SynthesizeCommand(Request):
    """`sfumato synthesize`: a table, what its copy is like, and the dataset that is opened."""

    data: DataPlace
    copied: CopyLikeness = piece(CopyLikeness)
    published: SavedOnce = piece(SavedOnce)
    opening: DatasetOpening = piece(DatasetOpening)
    shape: ShapeName = "table"


class CopiedSets(NoOptions):
    """What a copy of sets is like."""

    listed: Annotated[
        Path | None,
        option(
            "--listed",
            metavar="FILE",
            help="Public list of the items, one per line; without it, or a --hierarchy that was "
            "given, items are found for half of δ.",
        ),
    ] = None
    top: Annotated[
        int | None, option("--top", help="Items that are measured jointly; 30 if absent.", ge=2)
    ] = None
    typical: Annotated[
        int | None, option("--typical", help="About how many items a set has; 5 if absent.", ge=1)
    ] = None
    most: Annotated[
        int | None, option("--most", help="Items of one set that are used; 100 if absent.", ge=1)
    ] = None


class CopiedTraces(NoOptions):
    """What a copy of traces is like."""

    trips: Annotated[
        int | None,
        option(
            "--trips",
            help="Protect people, keeping so many trips of each; single trips if absent.",
            ge=1,
        ),
    ] = None


class ShapedSynthesize(ShapedCommand):
    """`sfumato synthesize --shape NAME`: sets, traces or a graph, in one copy."""

    own_models: ClassVar[Mapping[str, type[BaseModel]]] = {
        "sets": CopiedSets,
        "trajectories": CopiedTraces,
    }

    data: Annotated[Path, argument(help="File of data.")]
    schema_file: SchemaOfShape = None
    price: OncePrice = piece(OncePrice)
    predict: Annotated[
        int | None,
        option(
            "--predict",
            metavar="UNITS",
            help="Only tell how large the errors will be for about so many sets, trips or edges.",
            ge=1,
        ),
    ] = None
    output: Annotated[Path | None, option("--output", "-o", help="Folder to save the copy in.")] = (
        None
    )
    folder: ReleaseFolder = piece(ReleaseFolder)
    record: Record = piece(Record)
    quiet: Quiet = False

    def making(self) -> dict[str, Any]:
        """Return what is said about the copy, as `sf.dp.synthesize` takes it."""
        from sfumato.dp.neighbours import Unit  # noqa: PLC0415 - help stays quick

        said = {n: v for n, v in self.own_options().items() if n in {"top", "typical", "most"}}
        own = self.own_options()
        if "listed" in own:
            listed = own["listed"].read_text(encoding="utf-8").splitlines()
            said["items"] = [line.strip() for line in listed if line.strip()]
        if "trips" in own:
            said["neighbours"] = Unit("person", rows=own["trips"])
        return {**said, **self.price.given()}
