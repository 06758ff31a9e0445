"""How many modules of Sfumato work on one journey: `python tools/journeys.py SRC JOURNEY`.

A module is on a journey when the body of at least one function in it runs, once or a thousand
times, in the thread that began or in any other. What only loads a module (its own body, bodies of
classes) does not count, nor what runs in processes of its own. Journeys are those that the README
shows, in a fresh process:

    anonymize   the whole command `sfumato anonymize … -k 5 -l 2:diagnosis`, from `main` to its end
    question    the first question of a session: two measures of rows under a condition, in SQL
    http        a question over HTTP, to a server that has answered another one about the same data
    synthesis   a copy of a table by `sf.dp.synthesize`
    checker     `sf.audit.check` of a function that counts with noise

Of several definitions this one came nearest to what was counted by hand at commit c86982f:
anonymize 122 (122 then), question 87 (87 then), http 99 (101 then; what other threads do at the
time makes it two more or less).
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

CO_OPTIMIZED = 1
"""What the code of functions has, and that of modules and classes has not."""


class Trace:
    """Notes the files whose functions run while it watches."""

    def __init__(self, root: Path) -> None:
        self.root = f"{root}{os.sep}"
        self.seen: set[str] = set()
        self.watching = False
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if (
            self.watching
            and event == "call"
            and code.co_flags & CO_OPTIMIZED
            and code.co_filename.startswith(self.root)
        ):
            self.seen.add(code.co_filename)

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """Count what runs inside."""
        self.watching = True
        try:
            yield
        finally:
            self.watching = False

    def modules(self) -> list[str]:
        """Name the modules that were seen."""
        return sorted(name.removeprefix(self.root).removesuffix(".py") for name in self.seen)


def command(*words: str) -> None:
    """Run a command line in this process, as the installed script does."""
    from sfumato.cli import main

    sys.argv = ["sfumato", *words]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise


def anonymize(trace: Trace) -> None:
    """Run the command with which the README begins."""
    from sfumato import examples

    examples.patients(200, seed=1).write(Path())
    with trace.watch():
        command("anonymize", "patients.csv", "-s", "patients.yaml", "-k", "5",
                "-l", "2:diagnosis", "-o", "released")  # fmt: skip


def question(trace: Trace) -> None:
    """Ask a session its first question."""
    import sfumato as sf

    sf.examples.patients(200, seed=1).write(Path())
    session = sf.Session(
        "patients.csv", schema="patients.yaml", unit="row", budget=sf.PureDP(10),
        ledger="patients.sqlite",
    )  # fmt: skip
    asked = "SELECT COUNT(*) AS nurses, AVG(age) AS age FROM patients WHERE job = 'nurse'"
    with trace.watch():
        session.sql(asked, epsilon=1, bounds={"age": (18, 100)})


def synthesis(trace: Trace) -> None:
    """Make a synthetic copy of a table."""
    import sfumato as sf

    table = {"age": [20 + n % 40 for n in range(200)], "sex": ["fm"[n % 2] for n in range(200)]}
    known = {"age": sf.dp.Column(bounds=(0, 99)), "sex": sf.dp.Column(values=["f", "m"])}
    with trace.watch():
        sf.dp.synthesize(table, columns=known, epsilon=1, delta=1e-6)


def checker(trace: Trace) -> None:
    """Check a function that does what it claims."""
    import sfumato as sf

    def counted(dataset: Any) -> Any:
        return sf.dp.laplace(len(dataset), sensitivity=1, epsilon=1)

    counted([1])
    with trace.watch():
        sf.audit.check(counted, claim=sf.PureDP(1.0), samples=5_000)


def over_http(trace: Trace) -> None:
    """Start a server in this process, and ask it from another thread."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    signal.signal(signal.SIGTERM, lambda *_: None)  # the server ends by it, this process goes on
    reading, writing = os.pipe()
    sys.stdout = os.fdopen(writing, "w", buffering=1)  # the link for the first owner is printed
    asking = threading.Thread(target=_ask_twice, args=(trace, port, reading), daemon=True)
    asking.start()
    command("serve", "site", "--example", "--port", str(port), "--deletions", "3600")
    asking.join(10)
    if not trace.seen:
        raise RuntimeError("the server has answered no question")


def _ask_twice(trace: Trace, port: int, printed: int) -> None:
    """Become the first owner, ask a question that opens the dataset, then the one that counts."""
    try:
        link = re.search(r"/welcome/\S+", _until(printed, "\n"))
        assert link is not None
        secret = {"name": "ada", "password": "a long password", "again": "a long password"}
        form = "&".join(f"{key}={value.replace(' ', '+')}" for key, value in secret.items())
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        entered, _ = _sent(port, link[0], form, kind)
        kind = {"Content-Type": "application/json", "Cookie": entered.split(";")[0],
                "Prefer": "wait=30"}  # fmt: skip
        data, grant = "/api/v1/datasets/patients", {"analyst": "ada", "purpose": "research"}
        _sent(port, f"{data}/grants", json.dumps(grant), kind)
        for rest, counted in ((" WHERE age > 50", contextlib.nullcontext()), ("", trace.watch())):
            asked = f"SELECT COUNT(*) AS n FROM patients{rest}"
            body = json.dumps({"question": asked, "price": {"epsilon": "0.01"}})
            with counted:
                _, answer = _sent(port, f"{data}/questions", body, kind)
            assert json.loads(answer).get("state") == "ready", answer
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _until(descriptor: int, end: str) -> str:
    """Read what is printed until a line ends."""
    text = ""
    while not text.endswith(end):
        text += os.read(descriptor, 1).decode()
    return text


def _sent(port: int, path: str, body: str, headers: dict[str, str]) -> tuple[str, str]:
    """Post something as a page of the site would, once the server listens; give cookie and body."""
    origin = {"Origin": f"http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"}
    for _ in range(600):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("POST", path, body, {**origin, **headers})
        except ConnectionRefusedError:
            time.sleep(0.1)
            continue
        answer = connection.getresponse()
        return answer.headers.get("Set-Cookie", ""), answer.read().decode()
    raise RuntimeError("the server does not listen")


JOURNEYS: dict[str, Callable[[Trace], None]] = {
    "anonymize": anonymize,
    "question": question,
    "http": over_http,
    "synthesis": synthesis,
    "checker": checker,
}


def run(source: Path, journey: str, told: Path) -> None:
    """Go on one journey with the code below `source`; write the names of modules to a file."""
    sys.path.insert(0, str(source))
    trace = Trace(source / "sfumato")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        os.chdir(folder)
        JOURNEYS[journey](trace)
        os.chdir("/")
    told.write_text("\n".join(trace.modules()), encoding="utf-8")


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve(), sys.argv[2], Path(sys.argv[3]).resolve())
