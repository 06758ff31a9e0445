"""Killed at every instant over HTTP: no answer without a charge, and no charge is lost."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import text

from sfumato.govern.ledger import faults
from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.office.office import Office

from .live import free_port, serving
from .load import question, send_all, send_stubbornly
from .setup_site import make_site

POINTS = [p for p in faults.POINTS if p.startswith(("charge", "settle", "repeat"))]
COUNT = "SELECT COUNT(*) AS n FROM people WHERE age > {}"


class Zygote:
    """Forks servers that die at a point."""

    child = 0

    def __init__(self, settings):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.service.zygote", settings.folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip

    def _told(self):
        """The next number that it prints; what says nothing for a minute never will."""
        assert select.select([self.process.stdout], [], [], 60)[0], "nothing was heard of the fork"
        return int(self.process.stdout.readline())

    def start(self, point):
        port = free_port()
        self.process.stdin.write(f"{point} {port}\n".encode())
        self.child = self._told()
        return self.child, port

    def ended(self):
        status = self._told()
        self.child = 0
        return status

    def close(self):
        if self.child:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.child, signal.SIGKILL)
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


@pytest.fixture
def crashing(tmp_path):
    settings, [token] = make_site(tmp_path / "site")
    zygote = Zygote(settings)
    yield settings, token, zygote
    zygote.close()


def ask(port, token, sql, epsilon):
    """Ask; None if the server died over it."""
    method, path, headers, body = question("people", token, sql, epsilon, wait=10)
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers, method=method)
    for _ in range(400):
        try:
            with socket.create_connection(("127.0.0.1", port), 5):
                break
        except OSError:
            time.sleep(0.02)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        raise AssertionError(refused.read()) from None
    except (urllib.error.URLError, OSError):
        return None


def crash_once(settings, token, zygote, point, number):
    """Ask under a fault; check that charge, answer and row agree. Tell whether it was killed."""
    sql = COUNT.format(number)
    if point.startswith("repeat"):
        child, port = zygote.start("none")
        assert ask(port, token, sql, "0.01")["state"] == "ready"
        os.kill(child, signal.SIGKILL)
        zygote.ended()
    child, port = zygote.start(point)
    told = ask(port, token, sql, "0.01")
    if told is not None:
        os.kill(child, signal.SIGKILL)
    assert os.WTERMSIG(zygote.ended()) == signal.SIGKILL  # it died there, and of nothing else
    with Ledger(settings.place) as ledger:
        assert ledger.verify()
        entries = ledger.entries("people")
        charges = [e for e in entries if e.kind == "charged"]
        answered = {e.refers for e in entries if e.kind == "answered"}
        spent = ledger.spent("people")
        total = sum(Fraction(e.cost["epsilon"]) for e in charges)
        assert Fraction(spent.to_json()["epsilon"]) == total  # no charge is lost
    office = Office(settings.place)
    rows = office.rows(text("SELECT charge FROM sfumato_office_questions"))
    office.close()
    assert {one.number for one in charges} <= {row["charge"] for row in rows}  # nor without a row
    if told is not None and told["answer"] is not None and told["charge"]:
        assert told["charge"] in answered  # no answer without its charge
    return told is None


@pytest.mark.slow("starts and kills servers")
def test_killed_at_instants_over_http(crashing):
    settings, token, zygote = crashing
    for number, point in enumerate(("charge-checked", "charge-committed", "settle-appended")):
        assert crash_once(settings, token, zygote, point, number + 1), f"{point} was not reached"
    office = Office(settings.place)
    states = {
        row["state"] for row in office.rows(text("SELECT state FROM sfumato_office_questions"))
    }
    assert states == {"charged", "failed"}  # the last one, and those that the next server closed
    office.close()


@pytest.mark.soak
def test_killed_at_every_instant_500_times(crashing):
    settings, token, zygote = crashing
    rounds = int(os.environ.get("SFUMATO_CRASHES", "500"))
    killed = 0
    for number in range(rounds):
        killed += crash_once(settings, token, zygote, POINTS[number % len(POINTS)], number + 10)
    print(f"{killed} of {rounds} were killed", file=sys.stderr)
    assert killed > rounds * 0.9


def check_spent(place, budget):
    """Nothing is overspent, totals are the sum of charges, and the chain holds."""
    with Ledger(place) as ledger:
        assert ledger.verify()
        charges = [e for e in ledger.entries("people") if e.kind == "charged"]
        total = sum(Fraction(e.cost["epsilon"]) for e in charges)
        assert Fraction(ledger.spent("people").to_json()["epsilon"]) == total
        assert total <= Fraction(budget)
        return len(charges), total


def many_analysts(tmp_path, ledger, analysts):
    """Analysts who together want twice the budget, at two workers, at once."""
    budget = str(Fraction(analysts, 20))
    settings, tokens = make_site(
        tmp_path / "site", ledger=ledger, analysts=analysts, budget=f"{analysts / 20}"
    )
    options = ["--workers", "2", "--rate", "1000000"] + (["--ledger", ledger] if ledger else [])
    with serving(settings.folder, *options) as live:
        wanted = [question("people", token, COUNT.format(20 + i % 50), "0.1")
                  for i, token in enumerate(tokens)]  # fmt: skip
        found = send_all(live.port, wanted, lanes=32)
    by_status = {s: sum(1 for status, _ in found if status == s) for s in {s for s, _ in found}}
    count, total = check_spent(settings.place, budget)
    assert total == Fraction(budget)
    answered = sum(status == 200 for status, _ in found)
    assert answered == count
    assert by_status == {200: count, 409: analysts - count}
    return by_status


@pytest.mark.slow("starts servers of two processes")
def test_two_workers_and_nobody_overspends(tmp_path):
    many_analysts(tmp_path, "", 60)


@pytest.mark.soak
def test_a_thousand_analysts_at_two_workers_sqlite(tmp_path):
    many_analysts(tmp_path, "", 1000)


@pytest.mark.soak
def test_a_thousand_analysts_at_two_workers_postgres(tmp_path, fresh_postgres_url):
    many_analysts(tmp_path, fresh_postgres_url, 1000)


JUMPING = """import time
_real, _began = time.time, time.monotonic()
time.time = lambda: _real() + 3600 * (int(time.monotonic() / 5) % 3 - 1)
"""
"""The clock of every process of a server jumps by an hour or two, to and fro, every 5 seconds."""


def workers_of(live):
    """The processes that answer, of a server that was started here."""
    pids = Path(f"/proc/{live.process.pid}/task/{live.process.pid}/children").read_text().split()
    lines = {int(pid): Path(f"/proc/{pid}/cmdline") for pid in pids}
    found = []
    for pid, file in lines.items():
        with contextlib.suppress(OSError):
            if b"spawn_main" in file.read_bytes():
                found.append(pid)
    return found


class Killer(threading.Thread):
    """Kills one worker after the other, so that some live most of the time."""

    def __init__(self, live, kills, seed, pause):
        super().__init__(daemon=True)
        self.live, self.kills, self.pause = live, kills, pause
        self.random, self.killed = random.Random(seed), 0

    def run(self):
        end = time.monotonic() + 420
        while self.killed < self.kills and time.monotonic() < end:
            time.sleep(self.pause * self.random.random())
            found = workers_of(self.live)
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.random.choice(found), signal.SIGKILL)
                    self.killed += 1


def killed_analysts(tmp_path, monkeypatch, *, analysts, workers, kills, pause):
    """Analysts of one budget, workers that are killed, a clock that jumps: nothing is overspent."""
    (tmp_path / "jumping").mkdir()
    (tmp_path / "jumping" / "sitecustomize.py").write_text(JUMPING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "jumping"))
    settings, tokens = make_site(tmp_path / "site", analysts=analysts, budget="2")
    with serving(settings.folder, "--workers", str(workers), "--rate", "1000000") as live:
        killer = Killer(live, kills, 7, pause)
        killer.start()

        def wanted():
            number = 0
            while killer.is_alive() or number < analysts:
                sql = COUNT.format(number // analysts + 1)
                yield question("people", tokens[number % analysts], sql, "0.004", wait=10)
                number += 1

        found = send_stubbornly(live.port, wanted(), lanes=16)
        killer.join(10)
    assert killer.killed == kills
    charged, total = check_spent(settings.place, "2")
    answers = [json.loads(body) for status, body in found if status == 200]
    paid = {one["charge"] for one in answers if one["state"] == "ready" and one["charge"]}
    assert {status for status, _ in found} <= {200, 409}
    assert len(paid) <= charged
    told = f"{len(found)} asked, {charged} charged ({float(total)} of 2), {killer.killed} killed"
    print(told, file=sys.stderr)
    return charged


def test_a_worker_is_killed_and_the_clock_jumps_and_nothing_is_overspent(tmp_path, monkeypatch):
    assert killed_analysts(tmp_path, monkeypatch, analysts=12, workers=2, kills=1, pause=1.0)


@pytest.mark.soak
def test_a_thousand_analysts_at_four_workers_that_are_killed_100_times(tmp_path, monkeypatch):
    kills = int(os.environ.get("SFUMATO_KILLS", "100"))
    assert killed_analysts(tmp_path, monkeypatch, analysts=1000, workers=4, kills=kills, pause=4.0)
