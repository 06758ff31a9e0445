"""What can be asked about data that are no table: the same commands, with options of the shape.

A shape states its options as pydantic models by command (`Shape.options`), and under "read" how
its files are read; `with_options` puts them into the command's own model, so help, HTTP requests
and forms show them like all others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, create_model

from sfumato.requests.attack import Adversary
from sfumato.requests.files import Quiet, Record, ReleaseFolder, ShapeName
from sfumato.requests.promises import Promised
from sfumato.requests.request import Request, argument, option, piece

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.shape import Shape

SchemaOfShape = Annotated[
    Path | None,
    option(
        "--schema", "-s", help="YAML file that says what the data mean, where the shape has one."
    ),
]


class NoOptions(Request):
    """The options of a shape that has none of its own."""


class ShapedCommand(Request):
    """A command about data of some shape, with what that shape adds."""

    own_models: ClassVar[Mapping[str, type[BaseModel]]] = {}
    """Options by shape, where the command knows them and not the shape."""

    shape: ShapeName = "table"
    own: NoOptions = piece(NoOptions)
    reading: NoOptions = piece(NoOptions)

    def own_options(self) -> dict[str, Any]:
        """Return what was said in the words of the shape; what was not said is left out."""
        return _said(self.own)

    def reading_options(self) -> dict[str, Any]:
        """Return what was said of how the data are read."""
        return _said(self.reading)


def _said(model: BaseModel) -> dict[str, Any]:
    found = {name: getattr(model, name) for name in type(model).model_fields}
    return {name: value for name, value in found.items() if value is not None}


class ShapedAnonymize(ShapedCommand):
    """`sfumato anonymize --shape NAME`."""

    data: Annotated[Path, argument(help="File of data.")]
    schema_file: SchemaOfShape = None
    output: Annotated[
        Path, option("--output", "-o", help="Folder for the release; made if absent.")
    ]
    promise: Promised = None
    algorithm: Annotated[
        str | None, option(help="Algorithm of the shape; its first if absent.")
    ] = None
    folder: ReleaseFolder = piece(ReleaseFolder)
    record: Record = piece(Record)
    quiet: Quiet = False


class ShapedVerify(ShapedCommand):
    """`sfumato verify --shape NAME`."""

    release: Annotated[Path, argument(help="Released file, or the folder of a release.")]
    schema_file: SchemaOfShape = None
    promise: Promised = None
    measure: Annotated[
        bool, option("--measure", help="Only measure; exit with 0 whatever is found.")
    ] = False
    quiet: Quiet = False


class ShapedAttack(ShapedCommand):
    """`sfumato attack --shape NAME`."""

    release: Annotated[Path, argument(help="Released file, or the folder of a release.")]
    schema_file: SchemaOfShape = None
    original: Annotated[
        Path | None,
        option("--original", help="The data as they came, to compare before and after."),
    ] = None
    adversary: Adversary = piece(Adversary)
    report: Annotated[Path | None, option("--report", help="Also write an HTML page.")] = None
    reveal: Annotated[
        bool, option("--reveal", help="Show the sensitive values that were learnt.")
    ] = False
    strict: Annotated[bool, option("--strict", help="Exit code 1 when an attack succeeds.")] = False
    quiet: Quiet = False


READING = frozenset({"anonymize", "attack", "synthesize"})
"""Commands that read data as they came."""

C = TypeVar("C", bound=ShapedCommand)


def with_options(command: type[C], shape: Shape, name: str) -> type[C]:
    """Return the model of a command with the options that a shape states for it."""
    known = command.own_models.get(shape.name, NoOptions)
    own: type[BaseModel] = shape.options.get(name, known)
    reads = name in READING
    reading: type[BaseModel] = shape.options.get("read", NoOptions) if reads else NoOptions
    made: Any = create_model(
        f"{command.__name__}{shape.name.title()}",
        __base__=command,
        shape=(ShapeName, shape.name),
        own=(own, piece(own)),
        reading=(reading, piece(reading)),
    )
    found: type[C] = made
    return found
