"""How each kind of release is made: a request becomes a call of the room that does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.ask.session.session import Session
from sfumato.errors import ParameterError
from sfumato.govern.purposes import check_purpose
from sfumato.requests.publish import make_estimator
from sfumato.service.held import is_table, open_shaped, read_held
from sfumato.service.sources import locate

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.ask.shaped.session import ShapedSession
    from sfumato.govern.office.catalogue import CatalogueEntry
    from sfumato.release import Release
    from sfumato.requests.releases import ReleaseRequest
    from sfumato.service.job import Work

CELLS, SIDE = 1024, 32
"""Cells of a distribution, and of each side of a grid over traces, where nobody says how many."""

_ITEMS = "items"


def make_release(work: Work, wanted: ReleaseRequest, listed: CatalogueEntry, by: str) -> Release:
    """Make what was asked for."""
    wanted.check(listed.facts.shape)
    if wanted.kind == "anonymize":
        return _anonymized(work, wanted, listed)
    if not is_table(listed.facts.shape):
        return _published_shaped(work, wanted, listed, by)
    source, schema = locate(work.settings, listed)
    with Session(
        source, schema=schema, name=listed.name, analyst=by, purpose=wanted.purpose,
        ledger=work.ledger,
    ) as session:  # fmt: skip
        work.tell("charging, then working")
        return _PUBLISHED[wanted.kind](session, wanted)


# -- anonymised -----------------------------------------------------------------------------


def _anonymized(work: Work, wanted: ReleaseRequest, listed: CatalogueEntry) -> Release:
    from sfumato.anonymize.run import anonymize  # noqa: PLC0415 - where it is done

    known = work.ledger.registration(listed.name)
    if known is not None:
        check_purpose(listed.name, known.purposes, wanted.purpose)  # before the search
    data = read_held(work.settings, listed)
    options = wanted.shape_options(listed.facts.shape)
    if listed.facts.shape == "table":
        data = _perturbed(data, wanted)
        options |= {
            "suppression": wanted.suppression, "objective": wanted.objective,
            "order": "keep" if wanted.keep_order else "shuffle", "time_limit": wanted.time_limit,
        }  # fmt: skip

    def told(*facts: Any) -> None:
        work.tell(" ".join(str(fact) for fact in facts)[:200])

    work.tell("searching")
    assert wanted.promise is not None
    return anonymize(data, wanted.promise, algorithm=wanted.algorithm, progress=told, **options)


def _perturbed(table: Any, wanted: ReleaseRequest) -> Any:
    operations = wanted.perturbation.operations()
    if not operations:
        return table
    from sfumato.anonymize.tables.perturb.operations import perturb  # noqa: PLC0415 - rarely needed

    return perturb(table, *operations)


# -- published once -------------------------------------------------------------------------


def _published_shaped(
    work: Work, wanted: ReleaseRequest, listed: CatalogueEntry, by: str
) -> Release:
    """Publish something of data that are no table."""
    data = read_held(work.settings, listed)
    session = open_shaped(data, listed.name, work.ledger, analyst=by, purpose=wanted.purpose)
    work.tell("charging, then working")
    return (_shaped_copy if wanted.kind == "synthesize" else _shaped_top)(session, wanted)


def _shaped_copy(session: ShapedSession, wanted: ReleaseRequest) -> Release:
    options = wanted.shape_options(session.shape)
    if options.pop("trips", None) is not None:
        raise ParameterError("Whose presence is hidden was registered with the dataset.")
    if wanted.values.get(_ITEMS):
        options[_ITEMS] = [str(item) for item in wanted.values[_ITEMS]]
    return session.synthesize(**wanted.given(), **options)


def _shaped_top(session: ShapedSession, wanted: ReleaseRequest) -> Release:
    """Name the most frequent items, values of a label, nodes, or cells of a public grid."""
    label = _columns(wanted, 1)[0] if wanted.columns else None
    grid = (wanted.cells or SIDE) if session.shape == "trajectories" else None
    return session.top_k(
        label, wanted.k, among=wanted.values.get(label or _ITEMS), cells=grid,
        counts=wanted.counts, **wanted.given(),
    )  # fmt: skip


def _top(session: Session, wanted: ReleaseRequest) -> Release:
    column = _columns(wanted, 1)[0]
    return session.top_k(
        column, wanted.k, counts=wanted.counts, values=wanted.values.get(column), **wanted.given()
    )


def _clusters(session: Session, wanted: ReleaseRequest) -> Release:
    return session.kmeans(
        _columns(wanted), wanted.k, bounds=wanted.bounds or None, **wanted.given()
    )


def _copy(session: Session, wanted: ReleaseRequest) -> Release:
    return session.synthesize(**wanted.copying(), **wanted.given())


def _binned(session: Session, wanted: ReleaseRequest) -> Release:
    found = session.histogram(
        _columns(wanted), bins=wanted.bins or None, where=wanted.where,
        bounds=wanted.bounds or None, **wanted.given(),
    )  # fmt: skip
    return found.release(session.dataset)


def _distribution(session: Session, wanted: ReleaseRequest) -> Release:
    column = _columns(wanted, 1)[0]
    return session.quantiles(
        column, cells=wanted.cells or CELLS, bounds=wanted.bounds.get(column), **wanted.given()
    )


def _map(session: Session, wanted: ReleaseRequest) -> Release:
    x, y = _columns(wanted, 2)
    return session.spatial_histogram(
        x, y, bounds=wanted.bounds or None, use="map", **wanted.given()
    )


def _model(session: Session, wanted: ReleaseRequest) -> Release:
    if wanted.target is None and wanted.model != "pca":
        raise ParameterError("Name the column that the model predicts.")
    estimator = make_estimator(
        wanted.model, wanted, target=wanted.target, bounds=wanted.bounds, classes=wanted.classes
    )
    made: Release = session.fit(estimator, target=wanted.target, columns=wanted.columns or None)
    return made


_PUBLISHED: dict[str, Callable[[Session, ReleaseRequest], Release]] = {
    "synthesize": _copy, "topk": _top, "kmeans": _clusters, "histogram": _binned,
    "distribution": _distribution, "map": _map, "train": _model,
}  # fmt: skip


def _columns(wanted: ReleaseRequest, count: int | None = None) -> list[str]:
    """Give the columns that were named, which are so many."""
    if not wanted.columns or (count is not None and len(wanted.columns) != count):
        words = {1: "one column", 2: "two columns, first that of x or the longitude"}
        raise ParameterError(f"Name {words.get(count or 0, 'columns')} it is about.")
    return wanted.columns
