"""Protocols to check, fixed coins, and a tiny HTTP endpoint around a collector.

The product's own server is elsewhere.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import sfumato as sf
from sfumato.dp.noise import insecure_seeded

PURE = [
    sf.local.GRR,
    sf.local.SUE,
    sf.local.OUE,
    sf.local.OLH,
    sf.local.Hadamard,
    sf.local.SubsetSelection,
    sf.local.ProjectiveGeometry,
]


@pytest.fixture(params=PURE, ids=lambda kind: kind.__name__)
def kind(request):
    """A protocol for frequencies."""
    return request.param


@pytest.fixture
def seeded():
    """Fixed coins, so that a statistical test gives the same verdict every time."""
    with insecure_seeded(20_240_517):
        yield


class Endpoint(BaseHTTPRequestHandler):
    """Shows the page and takes reports; `server` carries both, and remembers what came."""

    def do_GET(self):
        body = self.server.page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, dict(self.headers), body))
        if self.server.failures:
            self.server.failures -= 1
            if self.server.failing_after_storing:
                self.server.collector.receive(body)
            self.send_error(503)
            return
        answer = json.dumps(self.server.collector.receive(body).record()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoint():
    """A server on this machine; set its `page` and `collector` before use."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.received, server.failures, server.failing_after_storing = [], 0, False
    server.page, server.collector = "", None
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(120)
