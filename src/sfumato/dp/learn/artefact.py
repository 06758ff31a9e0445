"""A fitted model as the artefact of a release, and read back from where it was saved.

Contract: whoever has the folder has the model and its guarantee: ``model.json`` holds what was
published by the fit, ``release.json`` what it promises and the digest of the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.decision import SearchRecord
from sfumato.dp.learn.saved import column_to_json, model_from_json, model_to_json
from sfumato.errors import DataError
from sfumato.release import Provenance, Release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.dp.learn.estimator import PrivateEstimator

FILE = "model.json"
LABEL = "learnt from noisy sums of whole numbers; noise drawn exactly from a cryptographic stream"


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A fitted estimator; everything in it is noisy or public.

    ``predicts`` names the column that it predicts, ``facts`` go to `release.json`.
    """

    estimator: PrivateEstimator
    predicts: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> PrivateEstimator:
        """The model itself."""
        return self.estimator

    def __len__(self) -> int:
        return sum(np.size(value) for value in self.estimator.learnt().values())

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `model.json`."""
        if file_format not in {None, "json"}:
            raise DataError(f"A model is written as 'json', not '{file_format}'.")
        path = folder / FILE
        path.write_text(self.dump() + "\n", encoding="utf-8")
        return path

    def dump(self) -> str:
        """Write all of it as text, from which ``load`` makes it again."""
        whole = model_to_json(self.estimator) | {"predicts": self.predicts, "facts": self.facts}
        return json.dumps(whole, ensure_ascii=False)

    @classmethod
    def load(cls, text: str) -> Model:
        """Read what ``dump`` wrote."""
        try:
            whole = json.loads(text)
        except ValueError:
            raise DataError("This is not a model that was written by Sfumato.") from None
        model = model_from_json(whole)
        return cls(model, whole.get("predicts"), whole.get("facts") or {})

    def manifest(self) -> dict[str, Any]:
        """Return what a receiver may know."""
        model = self.estimator
        classes = getattr(model, "classes_", None)
        return {
            "model": type(model).__name__,
            "predicts": self.predicts,
            "classes": None if classes is None else classes.tolist(),
            "columns": [column_to_json(column) for column in model.columns_],
            "noise": model.noise_told(),
            **self.facts,
        }

    def release(self, name: str, **settings: Any) -> Release:
        """Hand it over as a release whose promise is its guarantee."""
        kind = type(self.estimator).__name__
        return Release(
            name=name,
            shape="model",
            artefact=self,
            promise=self.estimator.guarantee_,
            provenance=Provenance(SearchRecord(kind, label=LABEL), settings=settings),
        )


def read_model(place: str | Path) -> Any:
    """Read a model that was saved: its folder, or its file; ``guarantee_`` is what it promises."""
    path = Path(place)
    path = path / FILE if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path} cannot be read; give the folder of a saved model.") from None
    return Model.load(text).estimator
