"""Where a server keeps what it keeps, and how it may be reached.

Contract: a frozen value that goes to every worker as a file that the operator alone reads; of it
the environment names the place, because addresses of databases may hold passwords. The folder is
the operator's alone; what is in it is described in docs/how-to/run-the-service.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from sfumato.data.atomic import write_text_atomically
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
        written = json.dumps(asdict(self))
        file = (
            self.path / "keys" / f"serve-{hashlib.sha256(written.encode()).hexdigest()[:16]}.json"
        )
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_text_atomically(file, written, private=True)
        os.environ[VARIABLE] = str(file)

    @classmethod
    def from_environment(cls) -> Settings:
        """Read the settings in a worker."""
        text = os.environ.get(VARIABLE)
        if text is None:
            raise ParameterError("Start the server with `sfumato serve`.")
        given = json.loads(Path(text).read_text(encoding="utf-8"))
        return cls(**{**given, "hosts": tuple(given["hosts"])})


def address_of(stated: str) -> str:
    """Read an address: as it is, from a file (@FILE), or from a variable that is then removed.

    One that holds a password is refused as it is: every account of a machine reads command lines.
    """
    if stated.startswith("@"):
        try:
            return Path(stated[1:]).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise ParameterError(f"The file {stated[1:]} of an address cannot be read.") from None
    if stated.startswith("env:"):
        found = os.environ.pop(stated.removeprefix("env:"), None)
        if found is None:
            raise ParameterError(f"There is no variable {stated.removeprefix('env:')}.")
        return found.strip()
    try:
        parts = urlsplit(stated)
        is_open = parts.password is not None or "password" in parse_qs(parts.query)
    except ValueError:
        is_open = "@" in stated
    if "://" in stated and is_open:
        raise ParameterError(
            "Every account of the machine can read the password of an address on the command line. "
            "Write the address into a file and give @FILE, give env:NAME for a variable, or leave "
            "the password to libpq (PGPASSFILE)."
        )
    return stated


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
