"""`sfumato cloak`: boxes instead of places, for everybody at once or for requests as they come."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfumato.cli.display.terminal import note, out, result, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.login import login
from sfumato.errors import ParameterError
from sfumato.requests.places import CloakCommand

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.anonymize.places.promise import CloakPromise
    from sfumato.anonymize.places.snapshot import Cloaks
    from sfumato.audit.verification.cloaks import CloaksVerification
    from sfumato.data.trajectories.trajectories import Frame
    from sfumato.report.places.page import PlacesPage

LOSSES = ("mean_area", "relative_area", "mean_delay")
"""What an entry in the ledger tells of the cost: square metres, a share of them, seconds."""
SWAPPED = 3
"""Users who ask in place of another of their box, to see that the same one comes out."""
TRIED = 20_000
"""Users whom the attack by the middle of boxes is tried on, at most."""


@dataclass(frozen=True)
class _CloakedFile:
    """Boxes as columns of a file, what is promised and told of them, and the page about them."""

    columns: dict[str, Any]
    promise: CloakPromise
    checked: CloaksVerification
    facts: list[tuple[str, str]]
    plain: dict[str, Any]
    page: Callable[[], PlacesPage]


@takes_request
def cloak(request: CloakCommand) -> None:
    """Replace the places of users by boxes that at least k of them share.

    Example: sfumato cloak users.csv -k 5 -o boxes.csv --report boxes.html

    Example: sfumato cloak users.csv --profiles wishes.csv --diversity 2 --place-column kind
    -o boxes.csv

    Example: sfumato cloak requests.csv --stream -k 3 --wait 60 --memory
    --bounds=-122.52,-122.36,37.70,37.82 -o boxes.csv -L ledger.sqlite

    A snapshot gets a box per row, in the order of the file. A stream gets a box per request that
    left, with its moment; dropped requests have empty cells. Both are checked by code that shares
    nothing with the cloaking; exit code 1 when it finds a fault, and nothing is written.
    """
    from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - help stays quick

    made = _cloak_stream(request) if request.rules.stream else _cloak_snapshot(request)
    if made.promise.reciprocal is not False:
        made.checked.raise_if_broken()  # before anything is written
    page = None if request.report is None else made.page()
    text = _csv(made.columns)
    if request.record.ledger is not None:
        _record(request, made, text)
    write_text_atomically(request.output, text)
    if page is not None and request.report is not None:
        page.write(request.report)
    result({"file": str(request.output), "promise": made.promise.to_json(), **made.plain})
    if not request.quiet:
        show_table("Cloaked", ("what", "value"), made.facts)
        out.print(f"checked        {made.checked}", markup=False)
        out.print(f"boxes          {request.output}", markup=False)
        if request.report is not None:
            out.print(f"report         {request.report} (for you: it shows places)", markup=False)
    if made.promise.reciprocal is False:
        note("this method is not reciprocal: whoever knows it learns who can have asked.")


def _cloak_snapshot(request: CloakCommand) -> _CloakedFile:
    """Cloak everybody at one moment."""
    from sfumato.anonymize.places.promise import CloakPromise  # noqa: PLC0415 - heavy
    from sfumato.anonymize.places.snapshot import cloak as run  # noqa: PLC0415 - heavy
    from sfumato.audit.verification.cloaks import verify_cloaks  # noqa: PLC0415 - heavy
    from sfumato.data.places.files import read_point_file  # noqa: PLC0415 - heavy
    from sfumato.data.places.points import Points  # noqa: PLC0415 - heavy
    from sfumato.data.places.profiles import read_profiles  # noqa: PLC0415 - heavy

    own, profiles = request.own, read_profiles(request.own.profiles)
    file = read_point_file(request.points, {"k": own.k_column, "place": own.place_column})
    points, people = file.points, file.points.people.tolist()
    k = profiles.of_each("k", people, request.k, file.also.get("k"))
    least = profiles.of_each("min_area", people, request.min_area)
    labels = _labels(request, file.also.get("place"))

    def ask(first: int) -> Cloaks:
        """Cloak with a user asking: the rows begin with hers."""
        turned = deque(range(len(points)))
        turned.rotate(-first)
        order = list(turned)
        return run(
            Points(points.places[order], points.people[order], points.frame), k=k[order],
            method=request.method, min_area=least[order], diversity=own.diversity,
            labels=None if labels is None else [labels[i] for i in order],
        )  # fmt: skip

    made = ask(0)
    checked = verify_cloaks(
        points.places.tolist(), _as_written(made.boxes, points.frame), k=k.tolist(), people=people,
        min_area=least.tolist(), diversity=own.diversity, labels=labels,
        again=(lambda user: _as_written(ask(user).boxes[:1], points.frame)[0])
        if made.reciprocal
        else None,
        samples=SWAPPED,
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
    return _CloakedFile(columns, promise, checked, facts, plain, page)


def _labels(request: CloakCommand, cells: list[str] | None) -> list[str | None] | None:
    """Return the kinds of places, None where nothing is known."""
    if request.own.diversity > 1 and cells is None:
        raise ParameterError(
            "--diversity is about kinds of places; name their column with --place-column."
        )
    return None if cells is None else [cell or None for cell in cells]


def _cloak_stream(request: CloakCommand) -> _CloakedFile:
    """Cloak requests in the order of their moments."""
    import numpy as np  # noqa: PLC0415 - help stays quick

    from sfumato.anonymize.places.cloaker import Cloaker  # noqa: PLC0415 - heavy
    from sfumato.anonymize.places.promise import CloakPromise  # noqa: PLC0415 - heavy
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
    made = cloaker.process(**asked)
    session = rules.session if rules.memory else None
    written = replace(made, boxes=np.array(_as_written(made.boxes, file.frame)))
    checked = verify_stream(asked, written, diversity=own.diversity, session=session)
    promise = CloakPromise(
        int(asked["k"].min()), int(asked["k"].max()), diversity=own.diversity, reach=rules.reach,
        wait=rules.wait, session=session,
    )  # fmt: skip

    def page() -> PlacesPage:
        from sfumato.attack.places import cloaks as attack  # noqa: PLC0415 - for a page alone
        from sfumato.report.places.cloaks import stream_page  # noqa: PLC0415 - for a page alone

        linked = None if made.since is None else list(zip(people, made.since, strict=True))
        sessions = attack.sessions_of(people, made.together, linked)
        found = (attack.intersection(sessions, k=promise.k),)
        return stream_page(
            request.points.name, file.places, made, promise, checked, found, outside=file.outside
        )

    dropped = int((~made.released).sum())
    facts = [
        ("requests", f"{len(made.released):,}"),
        ("left in a box", f"{int(made.released.sum()):,} ({100 * made.success:.1f} %)"),
        ("dropped", f"{dropped:,}"),
        ("outside the bounds, left out", f"{file.outside:,}"),
        ("mean delay", f"{made.mean_delay:.1f} s"),
        ("relative area", f"{made.relative_area:.3f}"),
    ]
    plain = {"requests": len(made.released), "dropped": dropped, "outside": file.outside,
             "success": made.success, "mean_delay": made.mean_delay,
             "relative_area": made.relative_area}  # fmt: skip
    columns = {name: column.tolist() for name, column in made.columns(file.frame).items()}
    return _CloakedFile(columns, promise, checked, facts, plain, page)


def _as_written(boxes: Any, frame: Frame) -> list[list[float]]:
    """Return boxes as whoever reads the file finds them: in its coordinates, and back in metres."""
    found = boxes.copy()
    for side in range(4):
        axis = side // 2
        shown = frame.restore(boxes[:, side], axis)
        found[:, side] = (shown - frame.origin[axis]) * frame.scale[axis]
    rows: list[list[float]] = found.tolist()
    return rows


def _csv(columns: dict[str, Any]) -> str:
    rows = zip(*columns.values(), strict=True)
    return ",".join(columns) + "\n" + "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else repr(value)  # noqa: PLR0124 - not a number
    return str(value)


def _record(request: CloakCommand, made: _CloakedFile, text: str) -> None:
    """Record the boxes in the ledger before they are in their place."""
    import hashlib  # noqa: PLC0415 - help stays quick

    from sfumato.govern.releases import record_given_away  # noqa: PLC0415 - rarely needed

    assert request.record.ledger is not None
    record_given_away(
        request.points.name.split(".")[0], hashlib.sha256(text.encode()).hexdigest(),
        request.record.ledger, purpose=request.record.purpose, by=login(),
        told={
            "guarantee": str(made.promise), "promise": made.promise.to_json(), "shape": "places",
            "file": request.output.name, "records": made.checked.users,
            "suppressed": made.plain.get("dropped", 0),
            "algorithm": made.plain.get("method", request.rules.mode), "truthful": True,
            "loss": {name: round(made.plain[name], 6) for name in LOSSES if name in made.plain},
        },
    )  # fmt: skip
