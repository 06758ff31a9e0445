"""Running the function: in batches where it can, in processes where that pays, else one by one.

Contract: a ``Sampler`` gives ``count`` independent outputs on an input. An exception is an output,
and so is an attempt to end the program. The function is trusted in one respect only: that its runs
are independent of each other. Where processes would share a copied random generator, and so repeat
each other, they are not used. Every run gets an input of its own, which it may spoil. Where the
deadline is over, ``TimeIsUp`` is raised.

How a function says that it is vectorised: ``batched=True`` means ``func(dataset, n)`` gives n
outputs; an attribute ``func.batch(dataset, n)`` or a parameter ``batch`` does the same; a mechanism
has ``simulate(value, n)``. n outputs are an array with n rows or a list of n objects.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from sfumato.audit.claims.outputs import Outputs, Raised, joined, read, read_objects
from sfumato.audit.claims.workers import Workers
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sfumato.audit.claims.deadline import Deadline

Single = Callable[[Any], Any]
Batch = Callable[[Any, int], Any]

CHUNK = 1 << 17
"""A batch has at most so many numbers, so that they stay in the processor's cache."""

_SMALLEST = 1 << 13

_POOL_AFTER = 0.0005
"""Seconds per call from which processes are worth their start."""

_REMEMBERED = 64
_SPOILT_BY_NOBODY = frozenset({int, float, bool, str, bytes, complex, type(None)})


@dataclass
class Sampler:
    """Runs a function many times on one input."""

    single: Single | None
    batch: Batch | None
    timing: bool = False
    processes: int | None = None
    calls: int = 0
    seconds_per_output: float = 0.0
    deadline: Deadline | None = None
    seed: int | None = None
    width: int = 1
    """How many numbers an output had when last one was read."""
    _workers: Workers | None = field(default=None, repr=False)
    _copiers: dict[int, tuple[Any, Callable[[Any], Any]]] = field(default_factory=dict, repr=False)

    @property
    def vectorised(self) -> bool:
        """Whether outputs come in batches."""
        return self.batch is not None and not self.timing

    @property
    def chunk(self) -> int:
        """How many outputs to draw at once."""
        return max(_SMALLEST, CHUNK // max(1, self.width))

    def draw(self, data: Any, count: int) -> Outputs:
        """Give ``count`` independent outputs on an input, at least one."""
        size = self.chunk
        chunks = [min(size, count - done) for done in range(0, count, size)]
        return joined([self._chunk(data, size) for size in chunks])

    def _chunk(self, data: Any, count: int) -> Outputs:
        begin = time.perf_counter()
        if self.vectorised:
            self._check_time()
            outputs = self._batch(data, count)
        else:
            (outputs,) = self._one_by_one((data,), [0] * count)
        self.calls += count
        self.width = outputs.numbers.shape[1]
        self.seconds_per_output = (time.perf_counter() - begin) / count
        return outputs

    def interleaved(
        self, data: tuple[Any, Any], order: npt.NDArray[np.int64]
    ) -> tuple[Outputs, Outputs]:
        """Run on two inputs in a given order, so that a drift of any kind favours neither."""
        begin = time.perf_counter()
        first, second = self._one_by_one(data, order.tolist())
        self.calls += order.size
        self.seconds_per_output = (time.perf_counter() - begin) / max(1, order.size)
        return first, second

    def _one_by_one(self, data: tuple[Any, ...], order: list[int]) -> list[Outputs]:
        """Run on inputs in a given order, in processes where that pays."""
        workers = self._pool(len(order))
        if workers is not None and len(order) >= 2 * workers.count and _can_be_sent(data):
            return workers.draw(data, order, self.deadline)
        outputs: list[list[Any]] = [[] for _ in data]
        for side in order:
            self._check_time()
            outputs[side].append(self._one(data[side]))
        return [read_objects(runs) for runs in outputs]

    def _fresh(self, data: Any) -> Any:
        """Give the function an input it may spoil; how to copy is found out once per input."""
        known = self._copiers.get(id(data))
        if known is None or known[0] is not data:
            if len(self._copiers) > _REMEMBERED:
                self._copiers.clear()
            known = self._copiers[id(data)] = (data, _copier(data))
        return known[1](data)

    def _run(self, func: Callable[..., Any], *given: Any) -> Any:
        """Call the function, which alone may be interrupted when the time is up."""
        if self.deadline is None:
            return func(*given)
        self.deadline.inside = True
        try:
            return func(*given)
        finally:
            self.deadline.inside = False

    def _check_time(self) -> None:
        if self.deadline is not None:
            self.deadline.check()

    def _batch(self, data: Any, count: int) -> Outputs:
        assert self.batch is not None
        try:
            outputs = self._run(self.batch, self._fresh(data), count)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what it raises is its output
            if count == 1:
                return read_objects([_raised(error)])
            self._check_time()
            return joined([self._batch(data, 1) for _ in range(count)])
        columns = read(outputs, count)
        if columns is None:
            raise ParameterError(
                f"The batched function was asked for {count} outputs and did not give an array or "
                f"list of that length but {type(outputs).__name__}; fix it or use batched=False."
            )
        return columns

    def _one(self, data: Any) -> Any:
        assert self.single is not None
        given = self._fresh(data)
        begin = time.perf_counter_ns()
        try:
            output = self._run(self.single, given)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what it raises is its output
            output = _raised(error)
        elapsed = time.perf_counter_ns() - begin
        return (output, elapsed) if self.timing else output

    def _pool(self, count: int) -> Workers | None:
        if self.timing or self.processes == 1:
            return None
        if self.processes is None and self.seed is not None:
            return None  # which runs go where would depend on the clock
        if self._workers is None:
            slow = self.seconds_per_output > _POOL_AFTER and count * self.seconds_per_output > 0.2
            if self.processes is None and not slow:
                return None
            self._workers = Workers.start(self._one, self.processes, self.seed)
            if self._workers is None:
                self.processes = 1
        return self._workers

    def close(self) -> None:
        """End the processes."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def outcome(self, data: Any) -> Any:
        """Run once and give the output itself, for a witness."""
        if self.single is not None:
            return self._one(data)
        assert self.batch is not None
        try:
            return self._run(self.batch, self._fresh(data), 1)[0]
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what it raises is its output
            return _raised(error)


def sampler_of(
    func: Any,
    *,
    arguments: dict[str, Any],
    batched: bool | None,
    timing: bool,
    processes: int | None,
) -> Sampler:
    """Find out how a function or a mechanism is run."""
    if hasattr(func, "release") and hasattr(func, "simulate"):
        return Sampler(func.release, None if batched is False else func.simulate, timing, processes)
    if not callable(func):
        raise ParameterError(
            f"A check needs a function of a data set or a mechanism, and {type(func).__name__} was "
            "given."
        )
    call = partial(func, **arguments) if arguments else func
    if batched:
        if timing:
            raise ParameterError("Timing is measured call by call; use it with batched=False.")
        return Sampler(None, call, timing, processes)
    if batched is None and not timing:
        own = getattr(func, "batch", None)
        if callable(own):
            return Sampler(call, partial(own, **arguments) if arguments else own, timing, processes)
        if _has_batch_parameter(func):
            return Sampler(call, lambda data, n: call(data, batch=n), timing, processes)
    return Sampler(call, None, timing, processes)


def _has_batch_parameter(func: Any) -> bool:
    try:
        return "batch" in list(inspect.signature(func).parameters)[1:]
    except (TypeError, ValueError):
        return False


def _copier(data: Any) -> Callable[[Any], Any]:
    """Tell how to make an input that may be spoilt: all new, down to the parts of records."""
    if type(data) is list and all(map(_safe, data)):
        return list.copy
    if type(data) is list and all(type(r) is dict and all(map(_safe, r.values())) for r in data):
        return lambda given: [record.copy() for record in given]
    try:
        copy.deepcopy(data)
    except Exception:  # noqa: BLE001 - what cannot be copied is handed over as it is
        return list.copy if type(data) is list else lambda given: given
    if type(data) is list:  # record by record: one that comes twice is two afterwards
        return lambda given: [copy.deepcopy(record) for record in given]
    return copy.deepcopy


def _safe(record: Any) -> bool:
    if type(record) is tuple:
        return all(type(part) in _SPOILT_BY_NOBODY for part in record)
    return type(record) in _SPOILT_BY_NOBODY


def _can_be_sent(data: Any) -> bool:
    try:
        pickle.dumps(data)
    except Exception:  # noqa: BLE001 - whatever the reason, the input stays here
        return False
    return True


def _raised(error: BaseException) -> Raised:
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - even printing may fail, and that shows nothing more
        message = "(no message)"
    return Raised(type(error).__name__, message)
