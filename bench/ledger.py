"""What a charge costs: our own CPU time, and the database's sync beside it.

    python bench/ledger.py

A charge with a limit per dataset, analyst and purpose, on SQLite (a file) and, where it is
installed, Postgres (a cluster of its own, which never syncs). Own CPU: `process_time` with the sync put off, which
leaves the work of Python, SQLAlchemy and SQLite. Sync: wall time with `synchronous=FULL` less wall
time with OFF, beside a bare fsync of the same disk. A ledger of 20,000 entries must not be
slower than an empty one. Best of several rounds.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import sfumato as sf
from sfumato.dp.accounting.filters import Cost
from sfumato.govern import Charge, Limits, Registration

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "services"))

GOAL = 1.0  # milliseconds of CPU per charge, the sync not counted
LONG = 20_000
KINDS = {
    "pure ε": (sf.PureDP(10**6), Cost(Fraction(1, 1000))),
    "Gaussian, (ε, δ)": (sf.ApproxDP(100, 1e-6), Cost(mu_squared=Fraction(1, 10**6))),
}


def opened(place, limit):
    ledger = sf.Ledger(place)
    limits = Limits(dataset=limit, analyst=limit, purposes={"care": limit})
    ledger.register(Registration("patients", limits, purposes=("care",)))
    return ledger


def question(cost):
    return Charge(
        dataset="patients",
        analyst="ann",
        purpose="care",
        fingerprint="f" * 64,
        question="SELECT COUNT(*) FROM patients WHERE age >= 50 GROUP BY region",
        cost=cost,
        guarantee=str(cost),
    )


def milliseconds(call, clock, rounds=40, each=20):
    call()
    best = float("inf")
    for _ in range(rounds):
        start = clock()
        for _ in range(each):
            call()
        best = min(best, (clock() - start) / each)
    return best * 1000


def put_off_sync(ledger, place):
    statement = "SET synchronous_commit = off" if "://" in place else "PRAGMA synchronous = OFF"
    raw = ledger._store._open().connection.dbapi_connection  # noqa: SLF001 - no option turns it off
    raw.execute(statement)
    raw.commit()


def bare_fsync(folder):
    handle = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY)

    def sync():
        os.write(handle, b"x" * 4096)
        os.fsync(handle)

    try:
        return milliseconds(sync, time.perf_counter)
    finally:
        os.close(handle)


def measured(place, limit, cost):
    ledger, one = opened(place, limit), question(cost)
    full = milliseconds(lambda: ledger.charge(one), time.perf_counter)
    put_off_sync(ledger, place)
    off = milliseconds(lambda: ledger.charge(one), time.perf_counter)
    cpu = milliseconds(lambda: ledger.charge(one), time.process_time)
    ledger.close()
    return cpu, full, max(0.0, full - off)


def growth(folder):
    """Charge 20,000 times with the sync put off; compare, and verify the whole."""
    place = str(folder / "long.sqlite")
    limit, cost = KINDS["pure ε"]
    ledger, one = opened(place, limit), question(cost)
    put_off_sync(ledger, place)
    early = milliseconds(lambda: ledger.charge(one), time.process_time)
    while ledger.head().number < LONG:
        for _ in range(500):
            ledger.charge(one)
    late = milliseconds(lambda: ledger.charge(one), time.process_time)
    start = time.process_time()
    sound = ledger.verify()
    seconds = time.process_time() - start
    ledger.close()
    return early, late, sound, seconds


def places(folder):
    yield "SQLite", lambda name: str(folder / f"{name}.sqlite"), None
    import throwaway_postgres

    home = throwaway_postgres.prepare()
    try:
        server = throwaway_postgres.url(home)
    except throwaway_postgres.Unavailable as reason:
        print(f"Postgres was not measured: {reason}")
        throwaway_postgres.stop(home)
        return
    yield "Postgres", lambda name: f"{server}/{name}", home


def main():
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("BENCH_FOLDER")))
    print("milliseconds per charge, three limits checked; best of several rounds\n")
    print(f"{'':32}{'own CPU':>9}{'goal':>7}{'wall':>9}{'of it sync':>12}")
    missed = []
    for database, address, home in places(folder):
        for number, (kind, (limit, cost)) in enumerate(KINDS.items()):
            name = f"bench_{number}"
            if home is not None:
                import psycopg

                with psycopg.connect(address("postgres"), autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE {name}")
            cpu, wall, sync = measured(address(name), limit, cost)
            shown = f"{sync:.2f}" if home is None else "off"
            print(f"{database + ', ' + kind:32}{cpu:9.2f}{GOAL:7.1f}{wall:9.2f}{shown:>12}")
            if cpu > GOAL:
                missed.append(f"{database}, {kind}")
        if home is not None:
            import throwaway_postgres

            throwaway_postgres.stop(home)
    print(f"\na bare 4 kB write and fsync in that folder: {bare_fsync(folder):.2f} ms")
    early, late, sound, seconds = growth(folder)
    print(f"own CPU at the start {early:.2f} ms, after {LONG:,} entries {late:.2f} ms")
    print(
        f"verify {sound.count:,} entries: {seconds:.2f} s CPU, {'sound' if sound.ok else 'BROKEN'}"
    )
    print("goal missed by " + "; ".join(missed) if missed else "goal reached: below 1 ms of CPU")


if __name__ == "__main__":
    main()
