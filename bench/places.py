"""Places and traces on the cabs of San Francisco: the goals, what others reach, what we do.

Best known figures are those of public tools and prototypes on the same data and a two-core machine
(CPU seconds): Casper, Hilbert and kd cloaking and CliqueCloak in Python, libqif, mdl-anonymizer,
GLOVE (TrjPrivacy), scikit-mobility.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.anonymize.places.mix_zones import keep_valid
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
    for named, values in (("2 most often", [2, 3, 4, 5]), ("5 most often", [5, 4, 3, 2])):
        k = np.random.default_rng(0).choice(values, len(order), p=weights)
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
    begin = time.process_time()
    zones = sf.places.MixZones.learn(day, k=4, zones=12)
    passages = zones.passages(day)
    habits = Habits.learn(passages, len(zones))
    batch, moment = zones.batch(passages)
    found = match_exits(passages, batch, moment, habits)
    good = keep_valid(zones, found.by_zone)
    kept = good.passages(day)
    batch, moment = good.batch(kept)
    ours = match_exits(kept, batch, moment, Habits.learn(kept, len(good)), seed=1)
    naive = match_exits(passages, naive_batches(passages, 4), passages.left, habits)
    row(
        "mix zones, k=4", "none to compare", "matching within 5 % of 1/k where valid",
        f"{100 * ours.success:.1f} % at {len(good)} valid of {len(zones)} zones (all: "
        f"{100 * found.success:.1f} %), 1/k is 25.0 %; naive {100 * naive.success:.1f} %; "
        f"{time.process_time() - begin:.1f} s",
    )  # fmt: skip


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
