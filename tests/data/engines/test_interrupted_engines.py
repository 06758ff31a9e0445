"""Ctrl-C while an engine works: it ends at once, as Ctrl-C, and nothing is left."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from sfumato.data.engines.duckdb import DuckDB
from sfumato.data.engines.postgres import Postgres


def _interrupted(work):
    """Press Ctrl-C while work is done; give how long it went on."""
    pressed = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    pressed.start()
    begun = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        pressed.join()
    return time.perf_counter() - begun


def test_duckdb_is_interrupted(monkeypatch):
    """Its library raises a plain RuntimeError, between two of its tasks."""

    class Pressed:
        def execute(self, _):
            raise RuntimeError("Query interrupted")

    engine = DuckDB()
    with monkeypatch.context() as patch, engine.explained("people.csv"):
        patch.setattr(engine, "connection", Pressed())
        with pytest.raises(KeyboardInterrupt):
            engine.run("SELECT 1")
    assert engine.run("SELECT 1") == [(1,)]
    engine.close()


def test_postgres_is_interrupted(postgres_url):
    """The server ends its statement, too, and the connection goes on."""
    engine = Postgres(postgres_url)
    with engine.explained("people"):
        assert _interrupted(lambda: engine.ask("SELECT pg_sleep(120)")) < 60
    assert engine.ask("SELECT 1") == [(1,)]
    engine.close()
