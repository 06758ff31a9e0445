"""`sf.anonymize`: from data of any shape and a promise to a release.

Read → check → decide → apply → measure; what each step means is the shape's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from sfumato.anonymize.definitions.definition import Definition
from sfumato.data.wording import check_options, did_you_mean, listed
from sfumato.errors import ParameterError
from sfumato.release import Provenance, Release
from sfumato.shape import find_shape, read

if TYPE_CHECKING:
    from sfumato.anonymize.options import Options
    from sfumato.decision import Decision
    from sfumato.shape import Shape


def anonymize(
    data: Any,
    promise: Definition,
    *,
    schema: Any = None,
    shape: str | None = None,
    algorithm: str | None = None,
    **options: Unpack[Options],
) -> Release:
    """Return a release of `data` that keeps `promise`, at as little loss as the algorithm finds.

    `data` is what `sf.read` returned, or anything it reads. Without an `algorithm` the first of the
    shape is taken: for tables "optimal"; "auto" takes the best of those that are cheap. For tables,
    `suppression` is the largest share of records that may be left out, `objective` the loss to
    minimise, `population` the table of everybody who could be in the data (for k-map and
    δ-presence); `pseudonym_key` releases identifiers as keyed pseudonyms instead of dropping them;
    `seed` repeats the row order of a release (leave it out for anything you publish);
    `order="keep"` keeps it. `progress` is told how far it is, `time_limit` ends the search. Further
    options go to the algorithm: "optimal" takes `heuristic`, `width` and `levels`, "mondrian"
    `strict` and `ranges`, "topdown" `scope`, `steps` and `target`.

    For sets: `meaning`, `deletion`, `cluster`; for hybrid records: `strategy`, `row_bound`,
    `set_bound`; for trees: `cut`; for graphs: `edits`, `keep`; for traces: `places`, `levels`,
    `time_bin`, `metres`, `seconds`, `speed`, and with "split" `cuts` and `price`. An algorithm that
    has no such option says so, and what was probably meant.

    >>> import sfumato as sf
    >>> people = sf.read({"age": [30, 31, 41, 41]}, schema=sf.Schema(quasi=["age"]))
    >>> sf.anonymize(people, sf.KAnonymity(2), algorithm="local").suppressed
    0
    """
    dataset = read(data, schema=schema, shape=shape)
    form = find_shape(dataset.shape)
    check_promise(promise, form)
    form.check(dataset, promise)
    name, search = choose_algorithm(form, algorithm)
    check_options(f"Algorithm '{name}'", search, options, ("schema", "shape", "algorithm"))
    return assemble(form, dataset, promise, search(dataset, promise, **options), algorithm=name)


def check_promise(promise: Definition, form: Shape) -> None:
    """Refuse what is no definition, or none that makes sense for the shape."""
    if not isinstance(promise, Definition):
        raise ParameterError(
            f"The promise must be a definition such as sf.KAnonymity(5), not {promise!r}."
        )
    promise.check_shape(form.name)


def choose_algorithm(form: Shape, name: str | None) -> tuple[str, Any]:
    """Find an algorithm of a shape by its name; the first without one."""
    known = form.algorithms()
    if not known:
        raise ParameterError(f"There is no algorithm for data of the shape '{form.name}'.")
    chosen = next(iter(known)) if name is None else name
    if chosen not in known:
        raise ParameterError(
            f"There is no algorithm '{chosen}'; there are {listed(tuple(known))}."
            f"{did_you_mean(chosen, tuple(known))}"
        )
    return chosen, known[chosen]


def assemble(
    form: Shape, dataset: Any, promise: Definition, decision: Decision, *, algorithm: str
) -> Release:
    """Apply a decision and gather what a release carries."""
    artefact = form.apply(dataset, decision)
    return Release(
        name=dataset.name,
        shape=form.name,
        artefact=artefact,
        promise=promise,
        loss=form.losses(dataset, decision, artefact),
        provenance=Provenance(
            record=decision.record,
            records=len(dataset) if decision.records is None else decision.records,
            suppressed=decision.suppressed,
            allowed=decision.allowed,
            untruthful=(*getattr(dataset, "untruthful", ()), *decision.untruthful),
            settings={"algorithm": algorithm, **decision.settings},
        ),
        schema=getattr(dataset, "schema", None),
        decision=decision,
        warnings=tuple(form.warnings(dataset)),
    )
