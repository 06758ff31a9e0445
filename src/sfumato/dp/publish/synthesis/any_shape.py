"""``sf.dp.synthesize``: a synthetic copy of data of any shape that may be given away.

Contract: data that `sf.read` brought in say their shape; whatever else is given is a table. What a
shape wants to know is in the docstring of its own function (:mod:`.tables`, :mod:`.sets`,
:mod:`.trajectories`, :mod:`.graphs`); another option is refused by name. Facts that came in with
the data are used only where they are public: the leaves of a hierarchy that was given, bounds that
were stated when traces were read, the vertices of a graph, which privacy of edges takes as known.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sfumato.data.graphs.directed import refuse_directions
from sfumato.data.graphs.graph import require_listed
from sfumato.data.wording import did_you_mean, listed
from sfumato.dp.guarantees import PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.publish.synthesis.graphs import check_edges, synthesize_graph
from sfumato.dp.publish.synthesis.prediction import (
    predict_graph,
    predict_sets,
    predict_table,
    predict_trajectories,
)
from sfumato.dp.publish.synthesis.sets import read_sets_budget, synthesize_sets
from sfumato.dp.publish.synthesis.tables import synthesize_table
from sfumato.dp.publish.synthesis.trajectories import (
    read_trips_budget,
    synthesize_trajectories,
)
from sfumato.dp.rounding import stated_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.publish.forecast import Forecast
    from sfumato.dp.publish.synthesis.prediction import Prediction
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

T = TypeVar("T")
SHAPES = ("table", "sets", "trajectories", "graph")


def synthesize(
    people: Any,
    *,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    **options: Any,
) -> Release:
    """Make a synthetic copy of a table, of sets, traces or a graph that may be given away.

    A *table*: the domain of every column comes from the schema or from ``columns``, a list of
    values, bounds or a `Column` for each; ``search`` is the share of the budget that may be spent
    to find the others, whose kind is declared. ``target`` is a column that others
    will be asked to predict; ``constraints`` are conditions on a row, in SQL, that no synthetic row
    breaks. ``neighbours=Unit("person", rows=5)`` protects people with several rows, keeping five of
    each. ``size`` is the number of synthetic rows; without it, an estimate of the number of real
    ones.

    *Sets* (unit transaction, or customer): ``items``, ``top``, ``typical``, ``most``. *Traces*
    (unit trip, or person): ``neighbours``; they are read with public bounds. A *graph* (unit edge):
    ε alone. See `synthesize_sets`, `synthesize_trajectories` and `synthesize_graph`.

        >>> import sfumato as sf
        >>> ages = {"age": list(range(20, 60)), "ill": ["yes", "no"] * 20}
        >>> known = {"age": sf.dp.Column(bounds=(0, 99)), "ill": sf.dp.Column(values=["yes", "no"])}
        >>> made = sf.dp.synthesize(ages, columns=known, epsilon=5, delta=1e-6, size=30)
        >>> len(made.data["age"]), set(made.data["ill"]) <= {"yes", "no", None}
        (30, True)
    """
    price = {"epsilon": epsilon, "delta": delta, "rho": rho}
    if shape_of(people) == "table":
        return _called(synthesize_table, people, {**price, **options})
    return prepare_copy(people, **price, **options).make()


@dataclass(frozen=True)
class CopyPlan:
    """A copy of sets, traces or a graph that is checked and priced; ``make`` reads the data."""

    guarantee: Guarantee
    make: Callable[[], Release]


def prepare_copy(
    data: Any,
    *,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    **options: Any,
) -> CopyPlan:
    """Check and price a copy of data that are no table, without reading them.

    Everything that can be refused is refused here: `predict_synthesis` reads the same parameters.
    """
    price = {"epsilon": epsilon, "delta": delta, "rho": rho}
    shape = shape_of(data)
    if shape == "sets":
        given = {**price, **_facts_of_sets(data), **options}
        check_options(synthesize_sets, given)
        near = given.get("neighbours", "transaction")
        budget = read_sets_budget(**price, neighbours=near, unknown=given["items"] is None)
        return CopyPlan(budget.guarantee, lambda: synthesize_sets(data.lists(), **given))
    if shape == "trajectories":
        given = {**price, **_facts_of_traces(data), **options}
        check_options(synthesize_trajectories, given)
        with warnings.catch_warnings():  # what there is to warn of is said when it is made
            warnings.simplefilter("ignore")
            budget = read_trips_budget(**price, neighbours=given.get("neighbours", "trip"))
        return CopyPlan(budget.guarantee, lambda: synthesize_trajectories(_trips(data), **given))
    if shape != "graph":
        raise ParameterError("Tables are prepared by themselves.")
    edges, facts = _facts_of_graph(data)
    given = {**_stated(price), **facts, **options}
    check_options(synthesize_graph, given)
    if epsilon is None:
        raise ParameterError("A synthetic graph is priced by epsilon=.")
    near = check_edges(given.get("neighbours", "edge"))
    promised = PureDP(stated_up(parameters.budget(epsilon)), neighbours=near)
    return CopyPlan(promised, lambda: synthesize_graph(edges, **given))


def predict_synthesis(people: Any, *, rows: int, **options: Any) -> Prediction | Forecast:
    """Tell how much noise `synthesize` will meet, for about so many rows; nothing is spent.

    ``rows`` is a public guess of the number of rows, sets or trips, of a graph that of edges. No
    cell is read.
    """
    shape = shape_of(people)
    if shape == "sets":
        facts = _facts_of_sets(people)
        known = facts["items"]
        public = {"items": None if known is None else len(known)}
        return _called(predict_sets, rows, {**public, **options})
    if shape == "trajectories":
        return _called(predict_trajectories, rows, options)
    if shape == "graph":
        return _called(predict_graph, rows, {"vertices": people.nodes, **_stated(options)})
    return predict_table(people, rows=rows, **options)


def shape_of(data: Any) -> str:
    """Give the shape of data; whatever says none is a table."""
    shape = getattr(data, "shape", None)
    if not isinstance(shape, str) or shape == "table":
        return "table"
    if shape not in SHAPES:
        raise ParameterError(
            f"Synthetic copies are made of {listed(SHAPES)}, not of data of the shape '{shape}'; "
            "count what they hold in a session instead."
        )
    return shape


def _called(make: Callable[..., T], data: Any, options: dict[str, Any]) -> T:
    check_options(make, options)
    return make(data, **options)


def check_options(make: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse an option that a function has not, by name."""
    known = [n for n, p in signature(make).parameters.items() if p.kind is Parameter.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            raise ParameterError(
                f"There is no option '{name}' here; there are {listed(known)}."
                f"{did_you_mean(name, known)}"
            )


def _stated(price: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not stated; a graph has no use for δ and ρ."""
    return {name: value for name, value in price.items() if value is not None}


def _facts_of_sets(sets: Any) -> dict[str, Any]:
    public = list(sets.tree.labels[: sets.tree.items]) if sets.given else None
    return {"items": public, "name": sets.name}


def _facts_of_traces(traces: Any) -> dict[str, Any]:
    frame = traces.frame
    if frame.bounds is None:
        raise ParameterError(
            "Read the traces with bounds=(low x, high x, low y, high y), from knowledge and never "
            "from the data; a synthetic copy keeps within them."
        )
    owners = traces.person.tolist() if traces.unit == "trip" else None
    return {"box": frame.bounds, "degrees": frame.degrees, "people": owners, "name": traces.name}


def _trips(traces: Any) -> list[Any]:
    """Give each trace as points in the coordinates that it came in."""
    frame, places = traces.frame, traces.places
    points = np.stack([frame.restore(places[:, axis], axis) for axis in (0, 1)], axis=1)
    return np.split(points, traces.starts[1:-1]) if len(traces) else []


def _facts_of_graph(graph: Any) -> tuple[list[tuple[Any, Any]], dict[str, Any]]:
    refuse_directions(graph, "Synthetic copies are made")
    require_listed(graph)
    names = graph.labels
    pairs = graph.edges.tolist()
    if names is None:
        return [(u, v) for u, v in pairs], {"vertices": graph.nodes, "name": graph.name}
    return [(names[u], names[v]) for u, v in pairs], {"vertices": names, "name": graph.name}
