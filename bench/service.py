"""The service: requests a second of one core, and what HTTP adds to a question.

Rates are requests per CPU second of the server's process, so other programs on the machine do not
count; the client is another process. FastAPI's hello-world runs in an environment of its own
(`.venv-bench-service`, made here if pip can).

`python bench/service.py [page] [questions] [reports]` measures some of it; all without a name.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tests.service.load import question, send_all  # noqa: E402 - after the path
from tests.service.setup_site import make_site  # noqa: E402 - the same

VENV = HERE.parent / ".venv-bench-service"
TICKS = os.sysconf("SC_CLK_TCK")
COUNT = "SELECT COUNT(*) AS n FROM people WHERE age > {} AND salary > {}"


def cpu_of(pid):
    """CPU seconds of a process so far, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(command, port):
    """Start a server; wait until it takes connections."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while time.monotonic() < begun + 60:
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return process
        except OSError:
            time.sleep(0.02)
    raise SystemExit("a server did not start")


def rate(process, port, requests, lanes=16, good=(200, 202)):
    """Requests per CPU second of the server."""
    before = cpu_of(process.pid)
    found = send_all(port, requests, lanes=lanes)
    spent = cpu_of(process.pid) - before
    bad = [one for one in found if one[0] not in good]
    if bad:
        raise SystemExit(f"{len(bad)} of {len(found)} failed: {bad[0]}")
    return len(found) / spent, spent / len(found)


def hello():
    """FastAPI's rate, or None."""
    if not (VENV / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=False)
        subprocess.run([str(VENV / "bin" / "pip"), "install", "-q", "fastapi", "uvicorn", "uvloop",
                        "httptools"], check=False)  # fmt: skip
    port = free_port()
    script = str(HERE / "rival_scripts" / "fastapi_hello.py")
    process = started([str(VENV / "bin" / "python"), script, str(port)], port)
    try:
        get = ("GET", "/", {}, b"")
        send_all(port, [get] * 500)
        return max(rate(process, port, [get] * 8000)[0] for _ in range(3))
    finally:
        process.terminate()
        process.wait()


class InProcess:
    """A session of this process, beside the server's, to be measured in turns with it."""

    def __init__(self, settings):
        from sfumato.service.house import House

        self.house = House(settings)
        found = self.house.opened("people")
        self.desks = [self.house.desk(found, f"somebody {i}", "research", pricing=False)
                      for i in range(400)]  # fmt: skip

    def cost(self, sqls, parsed=None):
        """CPU seconds of a question; of one that was parsed before, with what came of that."""
        begun = time.process_time()
        for i, sql in enumerate(sqls):
            asked = self.parsed(i, sql) if parsed is None else parsed[i]
            self.desks[i % 400].ask(asked, epsilon="0.001")
        return (time.process_time() - begun) / len(sqls)

    def parsed(self, i, sql):
        """A question as the session reads it."""
        from sfumato.ask.session.submission import read_submission

        desk = self.desks[i % 400]
        return read_submission(desk.opened, sql, bounds={}, keys={}, blocks=None,
                               answerable=desk.answerable)  # fmt: skip


def main():
    parts = set(sys.argv[1:]) or {"page", "questions", "reports"}
    rows = []
    fastapi = hello() if parts & {"page", "reports"} else None
    folder = Path(tempfile.mkdtemp(prefix="sfumato-bench-"))
    settings, tokens = make_site(folder / "site", analysts=400, budget="100000", rows=2000)
    port = free_port()
    begun = time.monotonic()
    command = [sys.executable, "-m", "sfumato", "serve", settings.folder, "--port", str(port),
               "--rate", "1000000"]  # fmt: skip
    process = started(command, port)
    rows.append(("start", "ready in 2 s", (f"{cpu_of(process.pid):.2f} s CPU, "
                 f"{time.monotonic() - begun:.2f} s by the clock")))  # fmt: skip
    try:
        if "page" in parts:
            rows += openness_page(process, port, fastapi)
        if "questions" in parts:
            rows += questions_over_http(process, port, settings, tokens)
        if "reports" in parts:
            rows += reports(process, port, settings, fastapi)
    finally:
        process.terminate()
        process.wait()
    width = max(len(name) for name, _, _ in rows)
    for name, goal, found in rows:
        print(f"{name:<{width}}  {goal:<28}  {found}")


def openness_page(process, port, fastapi):
    page = ("GET", "/", {"Accept": "text/html"}, b"")
    send_all(port, [page] * 300)
    best = max(rate(process, port, [page] * 8000)[0] for _ in range(3))
    return [("openness page", "≥ 1.5 × FastAPI hello",
             f"{best:,.0f}/s = {best / fastapi:.2f} × {fastapi:,.0f}/s")]  # fmt: skip


def questions_over_http(process, port, settings, tokens):
    head = {"Authorization": f"Bearer {tokens[0]}", "Content-Type": "application/json"}

    def estimate(i):
        body = {"questions": [{"question": COUNT.format(i % 60, i), "price": {"epsilon": "0.1"}}]}
        return "POST", "/api/v1/datasets/people/estimates", head, json.dumps(body).encode()

    send_all(port, [estimate(i) for i in range(100)])
    estimates, _ = rate(process, port, [estimate(i) for i in range(1500)])
    numbers = iter(range(10**9))

    def sqls(count=160):
        return [COUNT.format(i % 60, next(numbers)) for i in range(count)]

    def asked(texts):
        return [question("people", tokens[i % 400], sql, "0.001") for i, sql in enumerate(texts)]

    session = InProcess(settings)
    session.cost(sqls(440))
    rate(process, port, asked(sqls(440)), lanes=32)
    rounds = []
    for _ in range(7):  # in turns, so that what else the machine does falls on both
        ours, theirs = sqls(), asked(sqls())
        rounds.append((
            rate(process, port, theirs, lanes=32)[1], session.cost(ours),
            rate(process, port, theirs, lanes=32)[1], session.cost(ours),
            session.cost(ours, [session.parsed(i, sql) for i, sql in enumerate(ours)]),
        ))  # fmt: skip
    session.house.close()
    fresh_cost, own_fresh, repeat_cost, own_repeat, own_parsed = (
        statistics.median(column) for column in zip(*rounds, strict=True)
    )
    pairs = ((0, 1), (2, 3), (2, 4))  # the server keeps what it parsed, and a session does not
    over = [statistics.median(row[i] - row[j] for row in rounds) for i, j in pairs]
    fresh, repeats = 1 / fresh_cost, 1 / repeat_cost
    return [
        ("estimates", "≥ 500 /s a core", f"{estimates:,.0f}/s"),
        ("repeats", "≥ 300 /s a core", f"{repeats:,.0f}/s"),
        ("fresh questions", "≥ 120 /s a core", f"{fresh:,.0f}/s"),
        ("HTTP over a session, fresh", "≤ 0.5 ms CPU", (f"{1e3 * over[0]:.2f} ms "
         f"({1e3 * fresh_cost:.2f} over {1e3 * own_fresh:.2f})")),
        ("HTTP over a session, repeat", "≤ 0.5 ms CPU", (f"{1e3 * over[1]:.2f} "
         f"ms ({1e3 * repeat_cost:.2f} over {1e3 * own_repeat:.2f})")),
        ("the same, nothing parsed anew", "", (f"{1e3 * over[2]:.2f} "
         f"ms ({1e3 * repeat_cost:.2f} over {1e3 * own_parsed:.2f})")),
    ]  # fmt: skip


def reports(process, port, settings, fastapi):
    from sfumato.govern.office.office import Office
    from sfumato.govern.office.surveys import add_survey
    from sfumato.local.collect.survey import Survey
    from sfumato.local.collect.survey_files import write_survey
    from sfumato.local.wire.messages import encode

    survey = Survey.of("bench", "Which?", [f"a{i}" for i in range(16)], epsilon=1)
    file = Path(settings.folder) / "surveys" / "bench.yaml"
    file.parent.mkdir(exist_ok=True)
    write_survey(survey, file)
    office = Office(settings.place)
    add_survey(office, "bench", owner="", file="surveys/bench.yaml")
    office.close()
    sent = [encode(survey.protocol.perturb(["a3"]), survey.address) for _ in range(12_000)]
    wanted = [("POST", "/api/v1/surveys/bench/reports", {}, body) for body in sent]
    rate(process, port, wanted[:2000], lanes=64)
    found, _ = rate(process, port, wanted[2000:], lanes=256)
    return [("single reports, durable", "≥ 0.8 × FastAPI hello",
             f"{found:,.0f}/s = {found / fastapi:.2f} ×")]  # fmt: skip


if __name__ == "__main__":
    main()
