"""A process that has loaded everything and opened nothing: it forks servers that will be killed.

A line "POINT PORT" on standard input forks a server that dies at that point; its process id is
printed. Forking a process that has used DuckDB would hang, so the tests do not fork themselves.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import sys

import uvicorn

from sfumato.govern.ledger import faults
from sfumato.service.door import Door
from sfumato.service.routes import ROUTES
from sfumato.service.settings import Settings

LOADED = ("sfumato.ask", "sfumato.govern", "sfumato.data.tables", "sfumato.data.engines")


def load():
    """Load what a question needs, once, so that a child starts in a moment."""
    for route in ROUTES:
        route.load()
    for name in LOADED:
        package = importlib.import_module(name)
        for one in pkgutil.walk_packages(package.__path__, f"{name}."):
            with contextlib.suppress(ImportError):
                importlib.import_module(one.name)


def main(folder):
    load()
    for line in sys.stdin:
        point, port = line.split()
        child = os.fork()
        if child:
            print(child, flush=True)
            _, status = os.waitpid(child, 0)
            print(status, flush=True)
            continue
        faults.armed = point
        door = Door(Settings(folder=folder, rate=1e9, jobs=0))
        config = uvicorn.Config(door, host="127.0.0.1", port=int(port), log_level="critical")
        uvicorn.Server(config).run()
        os._exit(0)


main(sys.argv[1])
