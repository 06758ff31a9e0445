"""What can be released of a dataset that is held: anonymised, published once, copied, or learnt.

The fields are those of `sfumato anonymize`, `synthesize`, `topk`, `kmeans`, `histogram`, `train`;
here they come in one body or form, without files, because a server knows where the data are.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from sfumato.data.wording import explained
from sfumato.errors import ParameterError
from sfumato.requests.anonymize import AnonymizeRequest
from sfumato.requests.publish import MODELS, OncePrice
from sfumato.requests.request import Texts, option
from sfumato.requests.synthesize import CopyLikeness, ShapedSynthesize
from sfumato.requests.texts import pairs_of
from sfumato.shape import TABLE, find_shape

ShortText = Annotated[str, Field(max_length=200)]
TABLES = ("table", "hybrid")
"""Shapes whose rows answer SQL."""

KINDS = {
    "anonymize": "anonymise",
    "synthesize": "a synthetic copy",
    "topk": "most frequent values",
    "kmeans": "clusters",
    "histogram": "counts in bins",
    "distribution": "a distribution",
    "map": "a map",
    "train": "a model",
}
"""What can be made, and how a page calls it."""


_OF_TABLES = ("heuristic", "ranges", "scope", "steps", "strict", "target", "width")
"""Options of the algorithms for tables; what names another file is no option here."""


def kinds_for(shape: str) -> tuple[str, ...]:
    """Tell what can be made of data of a shape."""
    if shape in TABLES:
        return tuple(KINDS)
    return ("anonymize", "topk") if shape == "trees" else ("anonymize", "synthesize", "topk")


def _bins(texts: list[str]) -> dict[str, Any]:
    """Read COLUMN=A,B,C: edges or categories, or a number of bins."""
    pairs = pairs_of("bins", texts, "COLUMN=EDGES, as in age=0,18,65,110 or age=10")
    found: dict[str, Any] = {}
    for name, spec in pairs.items():
        parts = [part.strip() for part in spec.split(",")]
        found[name] = int(parts[0]) if len(parts) == 1 and parts[0].isdecimal() else parts
    return found


_ALGORITHM = option(help="Algorithm of the shape; its first if absent.")


class ReleaseRequest(AnonymizeRequest, CopyLikeness, OncePrice):
    """A release to be made: of which kind, what is promised or spent, and how it is made."""

    kind: Annotated[
        Literal[
            "anonymize", "synthesize", "topk", "kmeans", "histogram", "distribution", "map", "train"
        ],
        option(help="What is made."),
    ] = "anonymize"
    purpose: Annotated[ShortText | None, option(help="What it is for.")] = None
    algorithm: Annotated[ShortText | None, _ALGORITHM] = None  # type: ignore[assignment]
    columns: Annotated[list[ShortText], option(help="Columns it is about.")] = []
    k: Annotated[int, option(help="How many winners or clusters.", ge=1, le=1000)] = 10
    counts: Annotated[bool, option(help="Pay for noisy counts beside the names of winners.")] = (
        False
    )
    bins: Annotated[
        dict[str, Any],
        option(help="Bins by column: edges or categories, or a number of them within bounds."),
        Texts(_bins),
    ] = {}
    where: Annotated[str | None, option(help="Condition in SQL.", max_length=2000)] = None
    cells: Annotated[
        int | None,
        option(
            help="Cells of a distribution, or of each side of a grid over traces.", ge=2, le=1 << 20
        ),
    ] = None
    model: Annotated[
        str,
        option(help=f"Model to train: {', '.join(MODELS)}."),
    ] = "additive"
    classes: Annotated[list[str] | None, option(help="Public list of the labels.")] = None

    def check(self, shape: str) -> None:
        """Refuse what cannot be made of data of a shape, and what nobody should give away."""
        possible = kinds_for(shape)
        if self.kind not in possible:
            raise ParameterError(
                f"Of data of the shape '{shape}' there can be made: "
                f"{', '.join(KINDS[kind] for kind in possible)}."
            )
        if self.seed is not None or "seed" in self.options:
            raise ParameterError(
                "What leaves the house has no seed: whoever knows it knows the order of records."
            )
        if self.kind == "anonymize" and self.promise is None:
            raise ParameterError("Nothing is promised; say for instance that k is 5.")
        self.shape_options(shape)

    def shape_options(self, shape: str) -> dict[str, Any]:
        """Give the options in the words of the shape, checked by the shape's own model."""
        if shape == TABLE:
            strange = set(self.options) - set(_OF_TABLES)
            if strange:  # a population, say, would be a file or address that a server opens
                raise ParameterError(
                    f"There is no option {min(strange)!r} here; there are: {', '.join(_OF_TABLES)}."
                )
            return dict(self.options)
        if self.kind == "anonymize":
            return read_shape_options(find_shape(shape).options.get("anonymize"), self.options)
        copies = ShapedSynthesize.own_models if self.kind == "synthesize" else {}
        return read_shape_options(copies.get(shape), self.options)


def read_shape_options(model: type[BaseModel] | None, given: dict[str, Any]) -> dict[str, Any]:
    """Check options by the model that a shape states; what was not said is left out."""
    known = set() if model is None else set(model.model_fields) - {"listed"}
    unknown = set(given) - known
    if unknown or model is None:
        if not given:
            return {}
        allowed = ", ".join(sorted(known)) or "none"
        raise ParameterError(f"There is no option {min(unknown)!r} here; there are: {allowed}.")
    try:
        said = model.model_validate(given)
    except ValidationError as error:
        raise ParameterError(explained(error, model)) from None
    found = {name: getattr(said, name) for name in given}
    return {name: value for name, value in found.items() if value is not None}
