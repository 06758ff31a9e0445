"""Networks that are trained in a session: one charge for all steps, and only then rows are read.

Contract: as for every purchase (:mod:`sfumato.govern.spending`). Declared columns become inputs as
linear models have them: categories one-hot, numbers from their bounds to [−1, 1]. The target
becomes the number of its class, where its values are listed, or a number from its bounds to
[−1, 1]; a label that is not listed counts as the first. The same training of the same module on
the same data is given again for nothing; what is the same is :mod:`.sameness`'s business. Before
anything is charged the training is rehearsed on made-up rows, so that what is wrong with options,
module or loss costs nothing.

The account of training is about one example, so it is refused where a unit may have several rows.
"""

from __future__ import annotations

import base64
import inspect
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sfumato.ask.session.learn import FitRequest, prepare_fit
from sfumato.ask.session.publications import find_column
from sfumato.ask.session.sameness import fingerprint
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import ApproxDP
from sfumato.dp.learn.additive import AdditiveClassifier, AdditiveRegressor
from sfumato.dp.learn.estimator import read_labels
from sfumato.dp.learn.features import Number
from sfumato.dp.learn.linear_features import LinearLayout
from sfumato.dp.learn.sgd.plan import TrainingPlan, plan_training
from sfumato.dp.learn.sgd.reading import check_independent
from sfumato.dp.learn.sgd.training import Training, train
from sfumato.dp.mechanisms import parameters
from sfumato.dp.rounding import stated_up
from sfumato.errors import DataError, ParameterError
from sfumato.govern.spending import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sfumato.ask.session.desk import Desk
    from sfumato.dp.rounding import Stated
    from sfumato.govern.ledger.snapshots import Snapshot
    from sfumato.release import Release

_NUMBER_BITS = 12


def train_network(
    desk: Desk,
    network: Any,
    loss: Callable[..., Any],
    *,
    target: str,
    columns: Sequence[str] | None,
    epsilon: Stated,
    delta: Stated,
    **options: Any,
) -> Release:
    """Charge for a training and make it, or give it again."""
    desk.spending.refuse_replaced("Training a network")
    if parameters.rows_per_unit(desk.spending.neighbours) != 1:
        raise ParameterError(
            "Training hides one row, and here a person may have several; open the session with a "
            "unit of one row, or fit an estimator such as sf.dp.AdditiveClassifier instead."
        )
    if "checkpoint" in options:
        raise ParameterError(
            "A session keeps no checkpoints: a file would hold an account beside the ledger's. "
            "Leave checkpoint= out, or use sf.dp.train."
        )
    budget, failure = parameters.budget(epsilon), parameters.failure(delta)
    wanted = _prepare(desk, target, columns, epsilon, delta)
    layout = LinearLayout(wanted.columns)
    module = network if isinstance(network, torch.nn.Module) else network(layout.size - 1)
    told = {name: value for name, value in options.items() if name != "progress"}
    asked = fingerprint(module, loss, told)
    _check_inputs(module, layout.size - 1)
    _rehearse(module, loss, wanted, layout, {**told, "epsilon": epsilon, "delta": delta})
    promise = ApproxDP(stated_up(budget), stated_up(failure), neighbours=desk.spending.neighbours)

    def plan(now: Snapshot) -> Plan[FitRequest]:
        desk.spending.amount(now, promise.epsilon)
        return Plan(Cost.of(promise), promise, details={"network": type(module).__name__})

    def work(_: Any) -> dict[str, Any]:
        data = _encode(wanted, layout, *wanted.rows(desk))
        done = train(module, data, loss, epsilon=epsilon, delta=delta, **options)
        return {"plan": asdict(done.plan), "state": _dump(module)}

    what = f"train {module} {asked}: {wanted.text}"
    with desk.lock:
        kept = desk.spending.spend(plan, work, what=what)
    _load(module, kept["state"])
    done = Training(module, TrainingPlan(**kept["plan"]), kept["plan"]["steps"], None)
    return done.release(desk.opened.dataset, predicts=target)


def _check_inputs(module: Any, inputs: int) -> None:
    """Refuse a module that does not take the inputs, or mixes examples, before it is paid for."""
    try:
        check_independent(module, (torch.zeros(2, inputs),))
    except RuntimeError:
        fits = False
    else:
        fits = True
    if not fits:
        raise ParameterError(
            f"The columns make {inputs} inputs (categories one-hot, with one more for missing "
            "cells, then numbers), which this network does not take; give a function from the "
            "number of inputs to a network."
        )


def _rehearse(
    module: Any, loss: Callable[..., Any], wanted: FitRequest, layout: LinearLayout,
    options: dict[str, Any],
) -> None:  # fmt: skip
    """Refuse what would fail, before it is paid for: one step on made-up rows, all in the lot.

    The rows have missing cells and every class. The module is left as it was.
    """
    try:
        inspect.signature(train).bind(module, None, loss, **options)
    except TypeError as error:
        raise ParameterError(f"These are no options of sf.dp.train: {error}.") from None
    plan_training(
        epsilon=options["epsilon"], delta=options["delta"], lot=options["lot"],
        steps=options["steps"], clip=options.get("clip", 1.0), rows=options.get("rows"), count=0,
    )  # fmt: skip
    listed = wanted.estimator.get_params().get("classes")
    rows = 5 if listed is None else max(5, len(listed))
    cells: dict[str, NDArray[Any]] = {
        column.name: np.full(rows, None, dtype=object) for column in wanted.columns
    }
    target = np.empty(rows, dtype=object)
    target[:] = [None] * rows if listed is None else [listed[k % len(listed)] for k in range(rows)]
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    was = module.training
    try:
        train(
            module, _encode(wanted, layout, cells, target), loss,
            **{**options, "lot": rows, "rows": rows, "steps": 1},
        )  # fmt: skip
    except DataError:
        raise ParameterError(
            "The loss does not take the outputs of this network for every class or number; give it "
            "an output for each class that is declared, and a loss of such outputs."
        ) from None
    finally:
        module.load_state_dict(kept)
        module.train(was)


def _prepare(
    desk: Desk, target: str, columns: Sequence[str] | None, epsilon: Stated, delta: Stated
) -> FitRequest:
    """Find declarations as an estimator would: of classes where they are listed, else a number."""
    facts = desk.opened.facts[desk.opened.table]
    listed = find_column(desk, target).name in dict(facts.domains)
    kind = AdditiveClassifier if listed else AdditiveRegressor
    return prepare_fit(desk, kind(epsilon=epsilon, delta=delta), target, columns)


def _encode(
    wanted: FitRequest, layout: LinearLayout, cells: dict[str, NDArray[Any]], target: NDArray[Any]
) -> tuple[Any, Any]:
    """Turn rows into inputs and targets, each row by itself."""
    codes, steps = layout.read([cells[column.name] for column in wanted.columns])
    inputs = np.zeros((len(target), layout.size - 1), dtype=np.float32)
    np.put_along_axis(inputs, codes.astype(np.int64), 1.0, axis=1)
    inputs[:, layout.first :] = steps * 2.0**-_NUMBER_BITS
    options = wanted.estimator.get_params()
    if "classes" in options:
        _, places = read_labels(target, options["classes"], len(target))
        return inputs, np.maximum(places, 0)
    low, high = options["target"]
    wanted_steps = Number("target", low, high).steps(target, _NUMBER_BITS)
    return inputs, (wanted_steps * 2.0**-_NUMBER_BITS).astype(np.float32)


def _dump(module: Any) -> str:
    file = io.BytesIO()
    np.savez_compressed(file, **{n: v.cpu().numpy() for n, v in module.state_dict().items()})
    return base64.b64encode(file.getvalue()).decode("ascii")


def _load(module: Any, text: str) -> None:
    with np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False) as held:
        module.load_state_dict({n: torch.from_numpy(held[n].copy()) for n in held.files})
