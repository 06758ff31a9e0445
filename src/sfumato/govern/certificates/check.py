"""Checking a certificate, offline, from the file and the certificate alone.

Contract: everything is recomputed: the digest of the file, the signature of the statement and of
the checkpoint, the hash of the entry from its fields, and the root from the entry and the proof.
Any byte that is changed breaks one of them. Without a key that was named, the key inside the
certificate is used, and its fingerprint is told so that it can be compared with the office's own;
that proves the certificate whole, and not who made it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError, PromiseBroken
from sfumato.govern.certificates import merkle
from sfumato.govern.certificates.certificate import BUDGET, KIND, RELEASE, STATED, STATEMENT
from sfumato.govern.certificates.checkpoints import compare_checkpoints, read_checkpoint
from sfumato.govern.certificates.envelope import opened
from sfumato.govern.certificates.keys import read_public
from sfumato.govern.ledger.chain import Entry

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from sfumato.govern.certificates.checkpoints import Checkpoint


@dataclass(frozen=True)
class CheckedCertificate:
    """What a certificate was found to say, all of it proved by what it holds."""

    about: str
    dataset: str
    statement: dict[str, Any]
    checkpoint: Checkpoint
    key: str
    key_was_named: bool
    file: Path | None = None
    """The file that was found to be the one it is about."""

    def lines(self) -> list[str]:
        """Tell it line by line."""
        told = self.statement["predicate"]
        trust = "the key you named" if self.key_was_named else (
            "the key inside the certificate: compare it with the one the office publishes"
        )  # fmt: skip
        if self.about == RELEASE:
            number, when = told["entry"]["number"], told["entry"]["time"]
            found = [
                f"release of {self.dataset}: {told['promise_in_words']}",
                *_meaning(told),
                f"entry {number:,} of {self.checkpoint.size:,}, recorded {when}",
            ]
        else:
            found = [f"budget of {self.dataset} on {told['date']}"]
            found += [
                f"  {limit['scope']} {limit['name']}".rstrip()
                + f": {limit['spent']} of {limit['limit']}"
                for limit in told["limits"]
            ]
        return [*found, f"signed with {self.key} ({trust})"]


def check_certificate(
    certificate: Any,
    *,
    file: Path | None = None,
    keys: Any = None,
    noted: Any = None,
    growth: Any = None,
) -> CheckedCertificate:
    """Check a certificate; raise `PromiseBroken` for whatever does not hold.

    ``keys`` are JSON Web Keys that are trusted, as ``/.well-known/sfumato-keys.json`` lists them;
    ``noted`` is a signed checkpoint that was kept from before, and ``growth`` the proof that the
    ledger of one of the two begins with that of the other.
    """
    trusted = _trusted(certificate, keys)
    statement = opened(certificate, KIND, trusted)
    try:
        about, predicate = statement["predicateType"], statement["predicate"]
        [subject] = statement["subject"]
        sealed = subject["digest"]["sha256"]
        if statement["_type"] != STATEMENT or about not in {RELEASE, BUDGET}:
            raise PromiseBroken("The certificate states something that is not known here.")
        checkpoint = read_checkpoint(predicate["checkpoint"], trusted)
        if about == RELEASE:
            _check_entry(predicate, checkpoint, sealed)
        elif sealed != checkpoint.root:
            raise PromiseBroken("The budget is stated under another root than the checkpoint's.")
        dataset = str(predicate["dataset"])
    except (KeyError, TypeError, ValueError):
        raise PromiseBroken("The certificate lacks what a certificate states.") from None
    checked = None
    if about == RELEASE and file is not None:
        checked = _find_file(file, Path(str(subject["name"])).name)
        if _digest(checked) != sealed:
            raise PromiseBroken(f"{checked} is not the file that the certificate is about.")
    if noted is not None:
        compare_checkpoints(read_checkpoint(noted, trusted), checkpoint, growth)
    [signature] = certificate["signatures"]
    return CheckedCertificate(
        about, dataset, statement, checkpoint, signature["keyid"], keys is not None, checked
    )


def _meaning(told: dict[str, Any]) -> list[str]:
    """Say which columns others may know, what was checked, and what was accepted in writing."""
    roles, found = told.get("roles") or {}, []
    if roles.get("quasi"):
        found.append(f"quasi-identifiers: {', '.join(roles['quasi'])}")
    if roles.get("sensitive"):
        found.append(f"sensitive: {', '.join(roles['sensitive'])}")
    for row in told.get("checked") or ():
        verdict = "holds" if row["holds"] else "does not hold"
        found.append(f"checked at release: {row['promised']} {verdict} ({row['measure']})")
    for name, reason in (told.get("linkable") or {}).items():
        found.append(f"'{name}' is released as it is; accepted: {reason}")
    return found


def _trusted(certificate: Any, keys: Any) -> dict[str, Ed25519PublicKey]:
    if keys is None:
        try:
            keys = [json.loads(base64.b64decode(certificate["payload"]))["predicate"]["key"]]
        except (KeyError, TypeError, ValueError):
            raise PromiseBroken("This is no certificate, or it was changed.") from None
    listed = keys.get("keys", [keys]) if isinstance(keys, dict) else keys
    return dict(read_public(text) for text in listed)


def _check_entry(predicate: dict[str, Any], checkpoint: Checkpoint, sealed: str) -> None:
    """Recompute the hash of the entry, and the root from it."""
    fields = dict(predicate["entry"])
    entry = Entry(**{**fields, "blocks": tuple(fields["blocks"])})
    if entry.digest() != entry.hash:
        raise PromiseBroken("The entry of the ledger does not have the hash that it states.")
    stated = (entry.fingerprint, entry.dataset, entry.guarantee, entry.details.get("promise"))
    told = (sealed, predicate["dataset"], predicate["promise_in_words"], predicate["promise"])
    if stated != told or any(entry.details.get(n) != predicate.get(n) for n in STATED):
        raise PromiseBroken("The certificate states something else than the ledger's entry.")
    path = [bytes.fromhex(step) for step in predicate["proof"]]
    leaf = merkle.leaf_of(entry.hash)
    found = merkle.root_from(leaf, entry.number - 1, checkpoint.size, path)
    if found is None or found.hex() != checkpoint.root:
        raise PromiseBroken("The entry is not under the root of the checkpoint.")


def _find_file(place: Path, name: str) -> Path:
    """Return the file named, or in a folder the one that the certificate names.

    A second release beside it is refused: a reader could take that one.
    """
    if not place.is_dir():
        return place
    stem = Path(name).stem
    others = sorted(
        file.name for file in place.iterdir()
        if file.stem == stem and file.name != name and file.suffix not in _BESIDE
    )  # fmt: skip
    if others:
        raise PromiseBroken(
            f"{place} holds {', '.join(others)} as well, and the certificate is about {name}; a "
            "reader could take the other one. Name the file."
        )
    if not (place / name).exists():
        raise PromiseBroken(f"{place} holds no {name}, which the certificate is about.")
    return place / name


_BESIDE = {".json", ".html", ".yaml"}
"""What lies beside a released file and is none."""


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{file} cannot be read ({error.strerror}).") from None
