"""Places and traces on the cabs of San Francisco: the goals, what others reach, what we do.

Best known figures are those of public tools and prototypes on the same data and a two-core machine
(CPU seconds): Casper, Hilbert and kd cloaking and CliqueCloak in Python, libqif, mdl-anonymizer,
GLOVE (TrjPrivacy), scikit-mobility.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.attack.places.cloaks import centre_of_box, sessions_of, who_asked
from sfumato.attack.places.mixing import Habits, match_exits, naive_batches
from sfumato.dp.places.optimal import _solve

HERE = Path(__file__).resolve().parent
SHARED = next((p / "shared" for p in HERE.parents if (p / "shared").is_dir()), HERE)
FILE = SHARED / "data" / "trajectories" / "cabs_dataset_20080608.parquet"
BOUNDS = (-122.52, -122.36, 37.70, 37.82)
WIDE = 30


def timed(work, *args, **options):
    """Return CPU seconds and the result; the second of two runs, so that compiling is not counted."""
    work(*args, **options)
    begin = time.process_time()
    found = work(*args, **options)
    return time.process_time() - begin, found


def row(task, best, reach, ours):
    print(f"{task:<{WIDE}} {best:<46} {reach:<46} {ours}", flush=True)


def hours(first, last, unit):
    import duckdb

    low, high = f"2008/06/08 {first:02}", f"2008/06/08 {last:02}"
    frame = duckdb.sql(
        f"SELECT * FROM '{FILE}' WHERE timestamp >= '{low}' AND timestamp < '{high}'"
    ).to_arrow_table()
    return sf.read(frame, shape="trajectories", bounds=BOUNDS, unit=unit)


def snapshot(day):
    rng = np.random.default_rng(0)
    places = day.places[rng.choice(len(day.places), 100_000, replace=False)]
    goals = {5: 3851, 25: 40_361, 100: 183_653}
    for k, goal in goals.items():
        seconds, made = timed(sf.places.cloak, places, k=k)
        rivals = {
            m: sf.places.cloak(places, k=k, method=m).mean_area for m in ("casper", "hilbert")
        }
        told = ", ".join(f"{m} {area:,.0f}" for m, area in rivals.items())
        row(
            f"snapshot, 100,000 users, k={k}", "Casper 0.05-0.09 s, not reciprocal",
            f"<= 0.1 s, <= {goal:,} m2",
            f"{seconds:.3f} s, {made.mean_area:,.0f} m2 by {made.method}, reciprocal "
            f"(here also {told})",
        )  # fmt: skip
    few = places[:4000]
    for method in ("nearest", "casper", "kd"):
        boxes = sf.places.cloak(few, k=5, method=method).boxes
        print(f"    {method}: {who_asked(boxes, k=5)}; {centre_of_box(few, boxes, k=5)}")


def stream(day):
    order = np.argsort(day.times, kind="stable")
    requests = {
        "user": day.person[day.owner][order], "time": day.times[order],
        "x": day.places[order, 0], "y": day.places[order, 1],
    }  # fmt: skip
    limits = day.frame.plane_bounds
    weights = np.arange(1, 5) ** -0.6
    weights /= weights.sum()
    even = np.full(4, 0.25)
    for named, values, shares in (
        ("2 most often", [2, 3, 4, 5], weights),
        ("uniform", [2, 3, 4, 5], even),
        ("5 most often", [5, 4, 3, 2], weights),
    ):
        k = np.random.default_rng(0).choice(values, len(order), p=shares)
        for mode in ("eager", "marginal", "deadline"):
            seconds, found = timed(
                lambda mode=mode, k=k: sf.places.Cloaker(bounds=limits, mode=mode).process(
                    **requests, k=k
                )
            )
            checked = sf.places.verify_stream(requests, found, wait=120)
            row(
                f"stream, k {named}, {mode}", "success .87-.88, area .06 at 64 s (deadline)",
                ">= .90, <= .06 at <= 30 s, >= 30,000/s",
                f"{found.success:.3f}, {found.relative_area:.3f} at {found.mean_delay:.1f} s, "
                f"{len(order) / seconds:,.0f}/s, {'verified' if checked.holds else checked}",
            )  # fmt: skip
    print("    the dial: rate (m2/s) -> success, relative area, delay")
    for rate in (500, 1500, 4500, 15_000, 50_000):
        found = sf.places.Cloaker(bounds=limits, rate=rate).process(**requests, k=k)
        print(
            f"    {rate:>7} {found.success:.3f} {found.relative_area:.3f} {found.mean_delay:6.1f} s"
        )
    same = np.full(len(order), 3)
    for memory in (False, True):
        cloaker = sf.places.Cloaker(bounds=limits, k=3, memory=memory, mode="deadline")
        found = cloaker.process(**requests, k=same)
        linked = sessions(requests, found, 600.0)
        attacked = sf.attack.intersection(
            sessions_of(requests["user"], found.together, linked), k=3
        )
        print(f"    k=3, memory={memory}: success {found.success:.3f}; {attacked}")


def sessions(requests, found, session):
    """Name the session of every request as the cloaker counts them: by user and pseudonym."""
    events = [(t, 1, i) for i, t in enumerate(requests["time"].tolist())]
    events += [(found.moment[i], 0, i) for i in np.flatnonzero(found.released).tolist()]
    since, number, fresh, names = {}, {}, {}, [None] * len(requests["time"])
    for moment, kind, i in sorted(events):
        user = int(requests["user"][i])
        if kind == 1:
            if moment - since.get(user, -1e18) > session:
                number[user] = number.get(user, 0) + 1
                fresh[user] = True
        else:
            if fresh.get(user):
                since[user], fresh[user] = moment, False
            names[i] = (user, number.get(user, 0))
    return names


def optimal():
    for n, best, reach in (
        (7, "libqif 17 s", "2 s, <= 2.5 % above the optimum"),
        (10, "-", "20 s"),
    ):
        places = np.stack(np.meshgrid(np.arange(n), np.arange(n)), -1).reshape(-1, 2) * 100.0
        begin = time.process_time()
        made = sf.places.OptimalMechanism.solve(places, epsilon="0.01")
        seconds = time.process_time() - begin
        above = ""
        if n == 7:
            apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
            pairs = np.array([(u, v) for u in range(n * n) for v in range(u + 1, n * n)])
            begin = time.process_time()
            table = _solve(apart, made.prior, 0.01, pairs, 1.0)
            exact = float((made.prior[:, None] * table * apart).sum())
            above = f", {100 * (made.loss / exact - 1):.2f} % above the optimum (all pairs: {time.process_time() - begin:.0f} s)"
        row(
            f"optimal, {n} x {n}",
            best,
            reach,
            f"{seconds:.1f} s, loss {made.loss / 100:.4f} cells{above}",
        )
    mechanism = sf.places.PlanarLaplace(epsilon="0.01")
    points = np.random.default_rng(0).uniform(0, 5000, (1_000_000, 2))
    guess = sf.places.remap(mechanism, points[:400])
    _ = guess.table
    seconds, _ = timed(lambda: guess(mechanism.release(points)))
    row("planar Laplace + remap", "-", ">= 1 M points/s", f"{1 / seconds:.1f} M points/s")


def traces():
    trips = hours(8, 12, "trip")
    trips = trips.select(np.flatnonzero(trips.sizes >= 3))
    seconds, release = timed(sf.anonymize, trips, sf.KAnonymity(5))
    row(
        f"{len(trips):,} trips, k=5", "mdl-anonymizer 12-25 min", "<= 3 s, mean box <= 1.1 km",
        f"{seconds:.1f} s, {_sides(release)}, {release.verify().promises[0].holds}",
    )  # fmt: skip
    day = sf.read(FILE, shape="trajectories", bounds=BOUNDS)
    begin = time.process_time()
    release = sf.anonymize(day, sf.KAnonymity(5))
    row(
        f"{len(day):,} trips (the day), k=5", "-", "<= 30 s",
        f"{time.process_time() - begin:.1f} s, {_sides(release)}, {release.verify().promises[0].holds}",
    )  # fmt: skip
    people = hours(8, 12, "person")
    seconds, release = timed(sf.anonymize, people, sf.KAnonymity(5), time_bin=600)
    row(
        f"{len(people)} cabs, 4 h, user level, k=5", "GLOVE 69 s, 4.6 x 5.4 km, 4 unprotected",
        "<= 1 s, <= 3.3 km, none unprotected",
        f"{seconds:.2f} s, {_sides(release)}, {release.suppressed} unprotected or left out",
    )  # fmt: skip
    print(f"    {sf.attack.precheck(release)}".replace("\n", "\n    "))
    partial(people)


def partial(people):
    """Compare what is shown to whoever saw somebody twice: cells, cells of pieces, moved places."""
    promise, cells = sf.KmAnonymity(5, m=2), {"levels": 6, "time_bin": 1800}
    for algorithm in ("generalize", "split"):
        begin = time.process_time()
        release = sf.anonymize(people, promise, algorithm=algorithm, **cells)
        facts = release.provenance.record.facts
        told = f"{_sides(release)}, {facts['observations left out']:,} observations left out"
        if algorithm == "split":
            told += f", {facts['cuts common to all traces']} cuts; rejoined: {sf.attack.rejoin_pieces(release)}"
        row(
            f"5^2-anonymity by {algorithm}", "none to compare", "-",
            f"{time.process_time() - begin:.1f} s, {told}, {release.verify().promises[0].holds}",
        )  # fmt: skip
    for delta in (200, 1000):
        seconds, release = timed(sf.anonymize, people, sf.CoLocalization(5, delta), time_bin=600)
        moved = release.provenance.record.facts["mean move of a place (m)"]
        row(
            f"(5, {delta} m), no k-anonymity", "none to compare", "-",
            f"{seconds:.2f} s, places moved {moved:,.0f} m on average, {release.verify().promises[0].holds}",
        )  # fmt: skip


def _sides(release):
    facts = release.provenance.record.facts
    return f"{facts['mean width of a box (m)']:,.0f} x {facts['mean height of a box (m)']:,.0f} m"


def unicity():
    people = sf.read(FILE, shape="trajectories", unit="person")
    seconds, drawn = timed(sf.attack.unicity, people)
    exact_seconds, exact = timed(sf.attack.unicity, people, exact=True)
    row(
        f"unicity, {people.people} users", "scikit-mobility: hours", "<= 2 s sampled, <= 60 s exact pairs",
        f"{seconds:.2f} s sampled, {exact_seconds:.2f} s exact",
    )  # fmt: skip
    print(f"    {drawn}\n    {exact}")


def mixing(day):
    """Learn zones on every third hour, decide which are valid on the next, measure on the last."""
    begin = time.process_time()
    hour = np.floor(day.times[day.starts[:-1]] / 3600).astype(int)
    for turn in range(3):
        learnt, judged, held_out = (
            day.select(np.flatnonzero((hour + turn) % 3 == part)) for part in range(3)
        )
        zones = sf.places.MixZones.learn(learnt, k=4, zones=12)
        decided = sf.attack.try_zones(zones, learnt, judged)
        good = sf.places.keep_valid(zones, decided.by_zone)
        told = ", ".join(
            f"{by} {100 * sf.attack.try_zones(good, learnt, held_out, by=by, seed=1).success:.1f} %"
            for by in ("within", "last", "both")
        )
        row(
            f"mix zones, k=4, hours {turn}", "none to compare", "matching within 5 % of 1/k where valid",
            f"{told} on hours held out, at {len(good)} valid of {len(zones)} zones",
        )  # fmt: skip
        mixed = sf.places.mix(good, held_out)
        away = sf.attack.match_reappearances(mixed, held_out)
        true_times = replace(good, late=False)
        known = sf.attack.match_reappearances(sf.places.mix(true_times, held_out), held_out)
        passages = zones.passages(held_out)
        habits = Habits.learn(zones.passages(learnt), len(zones))
        naive = match_exits(passages, naive_batches(passages, 4), passages.left, habits)
        print(
            f"    decided on {100 * decided.success:.1f} %; {mixed}\n    naive zones: {naive}\n"
            f"    by distance when reports begin again: {away}\n    not late: {known}"
        )
    print(f"    {time.process_time() - begin:.1f} s")


def main():
    if not FILE.exists():
        sys.exit(f"{FILE} is absent")
    row("task", "best known", "to reach", "here (CPU seconds)")
    day = sf.read(FILE, shape="trajectories", bounds=BOUNDS, unit="person")
    snapshot(day)
    stream(day)
    optimal()
    traces()
    unicity()
    mixing(sf.read(FILE, shape="trajectories", bounds=BOUNDS))


if __name__ == "__main__":
    main()
