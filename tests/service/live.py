"""A server of its own process, as a user starts it, on loopback."""

from __future__ import annotations

import os
import re
import select
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Live:
    """A running `sfumato serve`."""

    def __init__(self, folder, *options, fault=None, port=None):
        self.port = port or free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        environment.pop("SFUMATO_FAULT", None)
        if fault is not None:
            environment["SFUMATO_FAULT"] = fault
        command = [sys.executable, "-m", "sfumato", "serve", str(folder), "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=environment,
        )  # fmt: skip
        self._wait()

    def _wait(self):
        end = time.monotonic() + 90
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(f"{self.address}/readyz", timeout=5).read()
            except (urllib.error.URLError, OSError):
                if self.process.poll() is not None:
                    raise AssertionError("the server ended before it was ready") from None
                time.sleep(0.03)
            else:
                return
        raise AssertionError("the server was not ready in time")

    def link(self):
        """The one-time link that was printed."""
        assert select.select([self.process.stdout], [], [], 60)[0], "no link was printed"
        return re.search(r"http://\S+/welcome/\S+", self.process.stdout.readline())[0]

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(15)
        self.process.stdout.close()


@contextmanager
def serving(folder, *options, **more):
    live = Live(folder, *options, **more)
    try:
        yield live
    finally:
        live.stop()
