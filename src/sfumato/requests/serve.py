"""How a server is started: `sfumato serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.errors import ParameterError
from sfumato.requests.request import Request, Texts, argument, option
from sfumato.requests.texts import pairs_of

_STATED = ("postgresql://", "postgres://", "@", "env:")


def _databases(texts: list[str]) -> dict[str, str]:
    form = "NAME=postgresql://host/base, as in clinic=postgresql://db/clinic"
    found = pairs_of("--database", texts, form)
    for name, address in found.items():
        if not name.isidentifier() or not address.startswith(_STATED):
            raise ParameterError(f"--database wants {form}.")
    return found


class ServeCommand(Request):
    """`sfumato serve`: where everything is kept, and how it may be reached."""

    folder: Annotated[
        Path, argument(help="Folder for ledger, key, data and releases; made if absent.")
    ] = Path("sfumato-site")
    port: Annotated[int, option("--port", "-p", help="Port to listen on.", ge=0, le=65535)] = 8000
    bind: Annotated[
        str, option("--bind", help="Address to listen on; beyond loopback put TLS before it.")
    ] = "127.0.0.1"
    host: Annotated[
        tuple[str, ...],
        option("--host", help="Name under which it may be reached beyond loopback; repeatable."),
    ] = ()
    ledger: Annotated[
        str | None,
        option(
            "--ledger",
            "-L",
            metavar="PLACE",
            help="postgresql://…, to share it by machines; with a password as @FILE or env:NAME.",
        ),
    ] = None
    workers: Annotated[
        int, option("--workers", "-w", help="Processes that answer.", ge=1, le=64)
    ] = 1
    example: Annotated[
        bool, option("--example", help="Register made-up patients, to play with.")
    ] = False
    new_owner: Annotated[
        bool, option("--new-owner", help="Print a one-time link for a further owner, and end.")
    ] = False
    database: Annotated[
        dict[str, str],
        option(
            "--database",
            metavar="NAME=postgresql://…",
            help="Database that owners may name as database:NAME::table; repeatable. No other host "
            "is asked. An address with a password is given as @FILE or env:VARIABLE.",
        ),
        Texts(_databases),
    ] = {}
    spark: Annotated[
        bool,
        option("--spark", help="Let owners name tables of Spark's catalogue: spark:clinic.visits."),
    ] = False
    deletions: Annotated[
        float,
        option("--deletions", help="Seconds between the times at which deletions take effect."),
    ] = 3600.0
    rate: Annotated[
        float, option("--rate", help="Requests a second of one account or address.", gt=0)
    ] = 200.0


class CertificateCommand(Request):
    """`sfumato certificate`: an entry of a ledger, certified with a key."""

    number: Annotated[int, argument(help="Number of the entry that tells of the release.")]
    ledger: Annotated[str, option("--ledger", "-L", metavar="PLACE", help="The ledger.")]
    key: Annotated[Path, option("--key", help="Private key, Ed25519 in PEM; made if absent.")] = (
        Path("signing.pem")
    )
    output: Annotated[Path, option("--output", "-o", help="File of the certificate.")] = Path(
        "certificate.json"
    )
    public: Annotated[
        Path | None,
        option("--public", help="Write the public key here, for those who check: verify --key."),
    ] = None
