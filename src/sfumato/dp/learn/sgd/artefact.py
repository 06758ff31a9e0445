"""A trained module as the artefact of a release: its numbers in a plain archive, no code.

Contract: ``model.npz`` holds the state of the module as arrays, which reading runs nothing of; who
wants to use it builds the module again and gives it the state (:func:`read_network`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sfumato.decision import SearchRecord
from sfumato.errors import DataError
from sfumato.release import Provenance, Release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.dp.learn.sgd.training import Training

FILE = "model.npz"
LABEL = "noisy gradient steps on secret random lots; noise drawn exactly"
_TOLD = ("lot", "steps", "clip", "rate", "multiplier", "rows", "declared")


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """A trained module and what its training promised."""

    training: Training
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> Any:
        """The module."""
        return self.training.model

    def __len__(self) -> int:
        return sum(value.numel() for value in self.data.state_dict().values())

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `model.npz`."""
        if file_format not in {None, "npz"}:
            raise DataError(f"A network is written as 'npz', not '{file_format}'.")
        path = folder / FILE
        state = {name: value.cpu().numpy() for name, value in self.data.state_dict().items()}
        with path.open("wb") as file:
            np.savez(file, **state)
        return path

    def manifest(self) -> dict[str, Any]:
        """Return what a receiver may know."""
        plan = self.training.plan
        return {
            "model": type(self.data).__name__,
            "predicts": None,
            "architecture": str(self.data),
            "plan": str(plan).partition(";")[0],
            "noise": {"gradient of a lot (of the clip)": plan.multiplier / plan.lot},
            "training": {n: v for n, v in asdict(plan).items() if n in _TOLD},
            **self.facts,
        }


def release_network(training: Training, name: str, facts: Mapping[str, Any]) -> Release:
    """Hand a trained module over as a release whose promise is its guarantee."""
    return Release(
        name=name,
        shape="model",
        artefact=Network(training, facts),
        promise=training.guarantee,
        provenance=Provenance(SearchRecord("DP-SGD", label=LABEL)),
    )


def read_network(model: Any, place: str | Path) -> Any:
    """Give a module of the same architecture the state that was saved."""
    path = Path(place)
    path = path / FILE if path.is_dir() else path
    try:
        with np.load(path, allow_pickle=False) as held:
            state = {name: torch.from_numpy(held[name].copy()) for name in held.files}
        model.load_state_dict(state)
    except (OSError, ValueError, RuntimeError):
        raise DataError(
            f"{path} does not hold the state of this module; build it as it was trained."
        ) from None
    return model
