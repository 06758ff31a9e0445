"""From a file of places to boxes for `sfumato cloak`: read, cloak, check, attack, tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.anonymize.places.promise import CloakPromise
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.audit.verification.cloaks import CloaksVerification
    from sfumato.report.places.page import PlacesPage
    from sfumato.requests.places import CloakCommand

TRIED = 20_000
"""Users whom the attack by the middle of boxes is tried on, at most."""


@dataclass(frozen=True)
class CloakedFile:
    """Boxes as columns of a file, what is promised and told of them, and the page about them."""

    columns: dict[str, Any]
    promise: CloakPromise
    checked: CloaksVerification
    facts: list[tuple[str, str]]
    plain: dict[str, Any]
    page: Callable[[], PlacesPage]


def cloak_snapshot(request: CloakCommand) -> CloakedFile:
    """Cloak everybody at one moment."""
    from sfumato.anonymize.places.snapshot import cloak  # noqa: PLC0415 - heavy
    from sfumato.audit.verification.cloaks import verify_cloaks  # noqa: PLC0415 - heavy
    from sfumato.data.places.files import read_point_file  # noqa: PLC0415 - heavy
    from sfumato.data.places.profiles import read_profiles  # noqa: PLC0415 - heavy

    own, profiles = request.own, read_profiles(request.own.profiles)
    file = read_point_file(request.points, {"k": own.k_column, "place": own.place_column})
    points, people = file.points, file.points.people.tolist()
    k = profiles.of_each("k", people, request.k, file.also.get("k"))
    least = profiles.of_each("min_area", people, request.min_area)
    labels = _labels(request, file.also.get("place"))
    made = cloak(
        points, k=k, method=request.method, min_area=least, diversity=own.diversity, labels=labels
    )
    checked = verify_cloaks(
        points.places.tolist(), made.boxes.tolist(), k=k.tolist(), people=people,
        min_area=least.tolist(), diversity=own.diversity, labels=labels,
    )  # fmt: skip
    promise = CloakPromise(
        int(k.min()), int(k.max()), made.reciprocal, float(least.max()), own.diversity
    )

    def page() -> PlacesPage:
        from sfumato.attack.places import cloaks as attack  # noqa: PLC0415 - for a page alone
        from sfumato.report.places.cloaks import snapshot_page  # noqa: PLC0415 - for a page alone

        found = (
            attack.who_asked(made.boxes, k=k),
            attack.centre_of_box(points.places, made.boxes, k=k, most=TRIED),
        )
        return snapshot_page(request.points.name, made, promise, checked, found)

    facts = [
        ("users", f"{len(made):,}"),
        ("boxes", f"{checked.boxes:,}"),
        ("mean area", f"{made.mean_area:,.0f} m²"),
        ("method", made.method + (", reciprocal" if made.reciprocal else ", NOT reciprocal")),
    ]
    plain = {"users": len(made), "boxes": checked.boxes, "mean_area": made.mean_area,
             "method": made.method, "reciprocal": made.reciprocal}  # fmt: skip
    columns = {name: column.tolist() for name, column in made.columns().items()}
    return CloakedFile(columns, promise, checked, facts, plain, page)


def _labels(request: CloakCommand, cells: list[str] | None) -> list[str | None] | None:
    """Return the kinds of places, None where nothing is known."""
    if request.own.diversity > 1 and cells is None:
        raise ParameterError(
            "--diversity is about kinds of places; name their column with --place-column."
        )
    return None if cells is None else [cell or None for cell in cells]


def cloak_stream(request: CloakCommand) -> CloakedFile:
    """Cloak requests in the order of their moments."""
    from sfumato.anonymize.places.cloaker import Cloaker  # noqa: PLC0415 - heavy
    from sfumato.audit.verification.request_stream import verify_stream  # noqa: PLC0415 - heavy
    from sfumato.data.places.files import read_request_file  # noqa: PLC0415 - heavy
    from sfumato.data.places.profiles import read_profiles  # noqa: PLC0415 - heavy

    own, rules = request.own, request.rules
    profiles = read_profiles(own.profiles)
    if request.min_area or any("min_area" in wishes for wishes in profiles.asked.values()):
        raise ParameterError(
            "A least area is for a snapshot: boxes of a stream are no larger than its requests "
            "need. Leave it out, or --stream."
        )
    file = read_request_file(
        request.points, bounds=rules.bounds, also={"k": own.k_column, "place": own.place_column}
    )
    people = file.user.tolist()
    asked = {
        **file.columns,
        "k": profiles.of_each("k", people, request.k, file.also.get("k"), file.row),
        "reach": profiles.of_each("reach", people, rules.reach),
        "wait": profiles.of_each("wait", people, rules.wait),
    }
    labels = _labels(request, file.also.get("place"))
    if labels is not None:
        asked["place"] = labels
    limits: Any = file.frame.plane_bounds
    cloaker = Cloaker(
        bounds=limits, k=request.k, reach=rules.reach, wait=rules.wait,
        mode=rules.mode, memory=rules.memory, session=rules.session, diversity=own.diversity,
    )  # fmt: skip
    result = cloaker.process(**asked)
    session = rules.session if rules.memory else None
    checked = verify_stream(asked, result, diversity=own.diversity, session=session)
    promise = CloakPromise(
        int(asked["k"].min()), int(asked["k"].max()), diversity=own.diversity, reach=rules.reach,
        wait=rules.wait, session=session,
    )  # fmt: skip

    def page() -> PlacesPage:
        from sfumato.attack.places import cloaks as attack  # noqa: PLC0415 - for a page alone
        from sfumato.report.places.cloaks import stream_page  # noqa: PLC0415 - for a page alone

        linked = None if result.since is None else list(zip(people, result.since, strict=True))
        sessions = attack.sessions_of(people, result.together, linked)
        found = (attack.intersection(sessions, k=promise.k),)
        return stream_page(
            request.points.name, file.places, result, promise, checked, found, outside=file.outside
        )

    dropped = int((~result.released).sum())
    facts = [
        ("requests", f"{len(result.released):,}"),
        ("left in a box", f"{int(result.released.sum()):,} ({100 * result.success:.1f} %)"),
        ("dropped", f"{dropped:,}"),
        ("outside the bounds, left out", f"{file.outside:,}"),
        ("mean delay", f"{result.mean_delay:.1f} s"),
        ("relative area", f"{result.relative_area:.3f}"),
    ]
    plain = {"requests": len(result.released), "dropped": dropped, "outside": file.outside,
             "success": result.success, "mean_delay": result.mean_delay,
             "relative_area": result.relative_area}  # fmt: skip
    return CloakedFile(_stream_columns(result, file.frame), promise, checked, facts, plain, page)


def _stream_columns(result: Any, frame: Any) -> dict[str, Any]:
    """Return a row per request in the order of boxes; nothing tells whose it is."""
    import numpy as np  # noqa: PLC0415 - help stays quick

    boxes = np.full((len(result.released), 6), np.nan)
    boxes[result.released] = result.boxes[result.together[result.released]]
    across, up = frame.names
    columns = {
        f"{across}_low": frame.restore(boxes[:, 0], 0),
        f"{across}_high": frame.restore(boxes[:, 1], 0),
        f"{up}_low": frame.restore(boxes[:, 2], 1),
        f"{up}_high": frame.restore(boxes[:, 3], 1),
        "time_first": boxes[:, 4], "time_last": boxes[:, 5],
        "moment": np.where(result.released, result.moment, np.nan),
    }  # fmt: skip
    left = np.flatnonzero(result.released)
    by_box = left[np.lexsort([result.together[left], result.moment[left]])]
    order = np.concatenate([by_box, np.flatnonzero(~result.released)])
    return {name: column[order].tolist() for name, column in columns.items()}
