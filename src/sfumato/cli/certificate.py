"""`sfumato certificate`: certify a release that a ledger has recorded."""

from __future__ import annotations

import json

from sfumato.cli.display.terminal import out
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.serve import CertificateCommand


@takes_request
def certificate(request: CertificateCommand) -> None:
    """Certify a release: the file's digest, the promise, and a proof that the ledger holds it.

    Example: sfumato certificate 7 --ledger clinic.ledger.sqlite -o certificate.json

    A stranger checks it offline: sfumato verify FOLDER --certificate certificate.json --key k.json
    with the public key that --public wrote, which you hand on by another way.
    """
    from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - help stays quick
    from sfumato.errors import ParameterError  # noqa: PLC0415 - the same
    from sfumato.govern.certificates.certificate import certify_release  # noqa: PLC0415 - the same
    from sfumato.govern.certificates.checkpoints import LedgerTree  # noqa: PLC0415 - the same
    from sfumato.govern.certificates.keys import key_at, public_key  # noqa: PLC0415 - the same
    from sfumato.govern.ledger.connection import Store  # noqa: PLC0415 - the same
    from sfumato.govern.ledger.ledger import Ledger  # noqa: PLC0415 - the same
    from sfumato.govern.releases import RELEASED  # noqa: PLC0415 - the same

    with Ledger(request.ledger, create=False) as ledger:
        entry = ledger.entry(request.number)
    if entry.kind != RELEASED:
        raise ParameterError(f"Entry {request.number} tells of no release; it is {entry.kind!r}.")
    key = key_at(request.key)
    store = Store(request.ledger, create=False)
    made = certify_release(entry, leaves=LedgerTree(store).leaves(), key=key)
    store.close()
    write_text_atomically(request.output, json.dumps(made, indent=1) + "\n")
    if request.public is not None:
        text = json.dumps({"keys": [public_key(key)]}, indent=1) + "\n"
        write_text_atomically(request.public, text)
    out.print(f"{request.output}: entry {entry.number}, signed with {public_key(key)['kid']}")
