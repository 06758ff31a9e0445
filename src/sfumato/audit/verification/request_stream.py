"""Verify what left a stream of requests, by code that shares nothing with the cloaking.

`requests` is what users asked for, a column each: user, time, x, y, and where they differ, k, reach
and wait; `place` labels where each was. `result` says what became of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sfumato.audit.verification.cloaks import (
    TOLERANCE,
    CloaksVerification,
    asked_by_each,
    count_alike,
    is_inside,
)
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def verify_stream(
    requests: Mapping[str, Any],
    result: Any,
    *,
    wait: Any = None,
    diversity: int = 1,
    session: float | None = None,
) -> CloaksVerification:
    """Check that every box keeps what each of its requests asked for.

    A box holds its requests in space and time, has as many different users as each asked for, lies
    within `reach` of each, and left at one moment, before any of them had waited longer than its
    `wait` (one number, or one per request; the column of `requests` if absent). With `diversity`, a
    box has places of so many labels. With `session`, users were promised memory for so many
    seconds: the users that all boxes of a session had in common stay as many as each request asked
    for, and no session ends earlier.
    """
    users = list(requests["user"])
    count = len(users)
    asked = {
        "k": asked_by_each("k", requests.get("k", result.k), count),
        "reach": asked_by_each("reach", requests.get("reach", result.reach), count),
        "wait": asked_by_each("wait", _patience(requests, result, wait), count),
    }
    if len(result.released) != count:
        raise DataError(f"There are {count:,} requests and {len(result.released):,} results.")
    rows = list(zip(requests["time"], requests["x"], requests["y"], strict=True))
    members: dict[int, list[int]] = defaultdict(list)
    outside = late = far = 0
    for i in range(count):
        if not result.released[i]:
            continue
        (time, x, y), reach = rows[i], asked["reach"][i] + TOLERANCE
        number = int(result.together[i])
        x0, x1, y0, y1, first, last = result.boxes[number]
        outside += not (is_inside((x0, x1, y0, y1), (x, y)) and first <= time <= last)
        late += not time <= float(result.moment[i]) <= time + asked["wait"][i] + TOLERANCE
        far += not (x - reach <= x0 and x1 <= x + reach and y - reach <= y0 and y1 <= y + reach)
        members[number].append(i)
    sizes = {number: len({users[i] for i in left}) for number, left in members.items()}
    return CloaksVerification(
        sum(map(len, members.values())), len(members), min(sizes.values(), default=0), outside,
        sum(asked["k"][i] > sizes[number] for number, left in members.items() for i in left),
        sum(len({float(result.moment[i]) for i in left}) > 1 for left in members.values()),
        late, far,
        alike=count_alike(members.values(), requests.get("place"), diversity),
        linked=0 if session is None else _linked(users, asked["k"], result, members, session),
    )  # fmt: skip


def _patience(requests: Mapping[str, Any], result: Any, wait: Any) -> Any:
    if wait is not None:
        return wait
    return requests.get("wait", result.wait)


def _linked(
    users: Sequence[Any],
    k: Sequence[float],
    result: Any,
    members: Mapping[int, Sequence[int]],
    session: float,
) -> int:
    """Count requests whose boxes of a session leave too few users, or whose session was cut short.

    A session is what one pseudonym joins: the requests of a user with one `since`. Another may
    begin when the first box of the one before is longer ago than `session`.
    """
    if result.since is None:
        raise ParameterError("The result says nothing of sessions: it was made without memory.")
    inside = {number: {users[i] for i in left} for number, left in members.items()}
    order = sorted(
        (float(result.moment[i]), number, i) for number, left in members.items() for i in left
    )
    common: dict[tuple[Any, float], set[Any]] = {}
    began: dict[Any, tuple[float, float]] = {}
    faults = 0
    for moment, number, i in order:
        user, since = users[i], float(result.since[i])
        name, first = began.get(user, (math.nan, -math.inf))
        if since != name:
            faults += not moment > first + session - TOLERANCE
            began[user] = (since, moment)
        left = common.get((user, since), inside[number]) & inside[number]
        common[user, since] = left
        faults += len(left) < k[i]
    return faults
