"""`sfumato serve`: the owner, the analyst, the person and the public at one address."""

from __future__ import annotations

from sfumato.cli.display.terminal import out
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.serve import ServeCommand


@takes_request
def serve(request: ServeCommand) -> None:
    """Serve datasets: questions under a budget, releases, surveys, people's rights, openness.

    Example: sfumato serve clinic-site --example

    Example: sfumato serve /srv/sfumato --bind 0.0.0.0 --host data.example.org --workers 2

    Everything is kept in FOLDER: the ledger, the signing key, uploaded data, releases. The first
    start prints a link that works once and makes whoever opens it the owner. It listens on loopback
    unless --bind says otherwise; beyond that, put a proxy with TLS before it and name the host.
    """
    from sfumato.errors import MissingExtra  # noqa: PLC0415 - help stays quick

    try:
        from sfumato.service.startup import serve as start  # noqa: PLC0415 - heavy
    except ImportError as error:
        if isinstance(error, MissingExtra) or error.name not in {"starlette", "uvicorn"}:
            raise
        raise MissingExtra("Starlette", "server", "A server") from None
    start(request, lambda words: out.print(words, markup=False, soft_wrap=True, highlight=False))
