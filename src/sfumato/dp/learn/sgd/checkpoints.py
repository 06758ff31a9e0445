"""The state of a training in a file, with its account: begun, and taken.

Contract: before a stretch of steps begins, the file says that they have begun. If training is
interrupted, the steps of the unfinished stretch count as taken when it goes on: their noise was
drawn and their outcome may have been seen, so they are not run again for free. The plan is
kept, so the same noise and the same promise hold to the end; an interruption costs steps, never
privacy. The file appears whole or not at all, and one training at a time goes on with it: two would
take the same steps twice and pay for them once.

A copy of the file is a second account that nobody keeps: who trains twice from it publishes two
trainings, and pays for both.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from sfumato.dp.learn.sgd.plan import TrainingPlan
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator


class TrainingCheckpoint:
    """A file with a module, its optimiser, its plan and how far it got."""

    def __init__(self, path: Path, every: int) -> None:
        self.path = path
        self.every = max(1, int(every))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others away from the file; refuse where they hold it."""
        from filelock import FileLock, Timeout  # noqa: PLC0415 - takes a while to load

        lock = FileLock(self.path.with_name(self.path.name + ".lock"), timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise ParameterError(
                f"Another training goes on with {self.path}; wait for its end, or choose another "
                "file for a new training."
            ) from None
        except OSError:
            raise DataError(f"There can be no checkpoint at {self.path}.") from None
        try:
            yield
        finally:
            lock.release()

    @property
    def exists(self) -> bool:
        """Whether a training was begun."""
        return self.path.exists()

    def plan(self) -> TrainingPlan:
        """Read the plan that was begun."""
        try:
            return TrainingPlan(**self._read()["plan"])
        except (KeyError, TypeError):
            raise self._stranger() from None

    def resume(self, model: Any, optimizer: Any) -> int:
        """Load the state, and give the number of the next step: all that were begun are spent."""
        if not self.exists:
            return 0
        state = self._read()
        begun = int(state["begun"])
        if not 0 <= begun <= int(state["plan"]["steps"]):
            raise DataError(f"{self.path} has begun more or fewer steps than its plan has.")
        try:
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
        except (RuntimeError, KeyError, ValueError):
            raise DataError(
                f"{self.path} was begun with another module or optimiser; build them as they were, "
                "or choose another file for a new training."
            ) from None
        return begun

    def save(self, step: int, first: int, plan: TrainingPlan, model: Any, optimizer: Any) -> None:
        """Write the state where a stretch begins: at the first step and every so many."""
        if step != plan.steps and (step - first) % self.every:
            return
        state = {
            "plan": asdict(plan),
            "begun": min(step + self.every, plan.steps),
            "taken": step,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
        }
        staged = self.path.with_name(self.path.name + ".staged")
        torch.save(state, staged)
        Path(staged).replace(self.path)

    def _read(self) -> dict[str, Any]:
        try:
            state: dict[str, Any] = torch.load(self.path, weights_only=True)
        except Exception:  # noqa: BLE001 - whatever is wrong with it, it is no checkpoint
            raise self._stranger() from None
        return state

    def _stranger(self) -> DataError:
        return DataError(f"{self.path} is not a checkpoint of a training.")
