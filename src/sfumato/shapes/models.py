"""Models: what was learnt under a guarantee, seen from its file, and its card."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from zipfile import BadZipFile

import numpy as np

from sfumato.anonymize.definitions.classes import Classes
from sfumato.errors import DataError, ParameterError
from sfumato.released.view import View
from sfumato.report.models.sections import CARD
from sfumato.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.artefact import Artefact
    from sfumato.decision import Decision
    from sfumato.report.section import TemplateSection


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelView(View):
    """A file of learnt numbers: none of them is a person, so it has no groups."""

    shape: ClassVar[str] = "model"
    unit: ClassVar[str] = "learnt number"

    numbers: int

    @property
    def records(self) -> int:
        """How many numbers were learnt."""
        return self.numbers

    def groups(self, definition: Definition | None = None) -> Classes:  # noqa: ARG002 - there are none
        """Return no group."""
        return Classes(np.zeros(0, dtype=np.int64))

    def describe(self, group: int) -> Mapping[str, str]:
        """Name a number by its place."""
        return {"number": str(group + 1)}


class Models(Shape):
    """What `sf.dp`'s estimators and training give."""

    name: ClassVar[str] = "model"
    unit: ClassVar[str] = "learnt number"
    files: ClassVar[tuple[str, ...]] = ("model.json", "model.npz")
    open_report: ClassVar[bool] = True
    report_title: ClassVar[str] = "model card"

    def read(self, source: Any, *, schema: Any = None, **options: Any) -> Any:  # noqa: ARG002 - refused
        """Refuse: models are learnt."""
        raise ParameterError("A model is learnt, with session.fit; read one with sf.dp.read_model.")

    def algorithms(self) -> Mapping[str, Callable[..., Decision]]:
        """Return none: they are learnt under a guarantee."""
        return {}

    def apply(self, data: Any, decision: Decision) -> Artefact:  # noqa: ARG002 - refused
        """Refuse: there is nothing to decide."""
        raise ParameterError("A model is released as it was learnt.")

    def view(
        self,
        source: Any,
        *,
        schema: Any = None,  # noqa: ARG002 - columns are in the model
        called: str | None = None,
        **options: Any,  # noqa: ARG002 - columns are in the model
    ) -> ModelView:
        """Count the learnt numbers of a released file, all of which must be numbers."""
        if not isinstance(source, str | Path):
            raise ParameterError("A model is verified from its file; give its path.")
        return ModelView(source=called or str(source), numbers=_count(Path(source)))

    def sections(self) -> tuple[TemplateSection, ...]:
        """Show the model card."""
        return CARD


def _count(path: Path) -> int:
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as held:
                found = [held[name] for name in held.files]
        else:
            learnt = json.loads(path.read_text(encoding="utf-8"))["learnt"]
            found = [np.array(value, dtype=np.float64) for value in learnt.values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, BadZipFile):
        raise DataError(f"{path} cannot be read as a model.") from None
    if not all(np.isfinite(array).all() for array in found if array.dtype.kind == "f"):
        raise DataError(f"{path} holds numbers that are not finite, so it is not a model.")
    return sum(array.size for array in found)


MODELS = Models()
