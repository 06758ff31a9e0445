"""Where a server keeps what it keeps, and how it may be reached.

Contract: a frozen value that goes to every worker as JSON in the environment. The folder is the
operator's alone; what is in it is described in docs/how-to/run-the-service.md.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.staging import put_once

VARIABLE = "SFUMATO_SERVE"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
BODY = 1 << 20
"""Bytes of the body of a request; uploads and batches of reports have limits of their own."""

UPLOAD = 4 << 30
SLOWEST = 30.0
"""Seconds in which a body has to arrive."""

RATE, BURST = 200.0, 400
"""Requests a second of one account or address, and how many at once."""

STREAMS = 4
"""Event streams that one account may keep open."""

_SECRET = 32


@dataclass(frozen=True)
class Settings:
    """How a server is set up."""

    folder: str
    ledger: str = ""
    hosts: tuple[str, ...] = ()
    jobs: int = 1
    job_memory: int = 4 << 30
    job_seconds: float = 3600.0
    deletions: float = 3600.0
    rate: float = RATE
    databases: dict[str, str] = field(default_factory=dict)
    """Databases that owners may name, each with its address: the operator's, and no others."""

    spark: bool = False
    """Whether owners may name tables of the catalogue of the operator's Spark."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", str(Path(self.folder).expanduser().absolute()))
        object.__setattr__(self, "hosts", tuple(host.lower() for host in self.hosts))

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)

    @property
    def place(self) -> str:
        """Where the ledger is kept: in the folder, or in Postgres."""
        return self.ledger or str(self.path / "ledger.sqlite")

    def told(self, sentence: str) -> str:
        """Leave out of a sentence where the folder lies: that is the operator's to know."""
        for folder in (self.folder, str(self.path.resolve())):  # behind a link, too
            sentence = sentence.replace(f"{folder}/", "")
        return sentence

    def to_environment(self) -> None:
        """Hand the settings to the workers that are started from here."""
        os.environ[VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Settings:
        """Read the settings in a worker."""
        text = os.environ.get(VARIABLE)
        if text is None:
            raise ParameterError("Start the server with `sfumato serve`.")
        given = json.loads(text)
        return cls(**{**given, "hosts": tuple(given["hosts"])})


def secret_at(path: Path) -> bytes:
    """Read a secret of 32 bytes from a file; it is made if there is none."""
    if not path.exists():
        put_once(path, secrets.token_bytes(_SECRET).hex().encode())
    try:
        found = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except ValueError:
        found = b""
    if len(found) != _SECRET:
        raise ParameterError(
            f"{path} holds no secret of {_SECRET} bytes; restore it from a copy, or remove it to "
            "have another made."
        )
    return found
