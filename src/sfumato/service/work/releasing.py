"""Making a release: anonymised, published once under a budget, synthetic, or a trained model.

Contract: the rooms do the work; here a request becomes their call, the release is saved with its
entry in the ledger, attacks are tried before anybody may have it, and a row says where it lies.
The owner publishes it by a step of her own, when she has seen the report.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.govern.office.catalogue import find_dataset
from sfumato.govern.office.people import find_person
from sfumato.govern.office.releases import add_release
from sfumato.govern.releases import RELEASED
from sfumato.promise import in_words
from sfumato.release_folder import save_release
from sfumato.requests.releases import ReleaseRequest
from sfumato.service.work.making import make_release

if TYPE_CHECKING:
    from sfumato.release import Release
    from sfumato.service.job import Work


def release(work: Work) -> dict[str, Any]:
    """Make the release that a job asks for."""
    wanted = ReleaseRequest.of(work.job["body"])
    name = work.job["dataset"]
    listed = find_dataset(work.office, name)
    person = find_person(work.office, id=work.job["person"])
    if listed is None or person is None:
        raise ParameterError("The dataset or the account is gone.")
    work.tell("reading the data")
    made = make_release(work, wanted, listed, person.pseudonym)
    made = replace(made, name=name)  # the ledger knows the dataset by this name
    work.tell("verifying and writing")
    folder = work.settings.path / "releases" / work.id
    saved = save_release(
        made, folder, ledger=work.ledger, purpose=wanted.purpose, by=person.pseudonym, replace=True,
        recorded_as=f"releases/{work.id}/",
    )  # fmt: skip
    digest = hashlib.sha256(saved.path.read_bytes()).hexdigest()
    entry = next(
        noted for noted in reversed(work.ledger.entries(made.name, last=50))
        if noted.kind == RELEASED and noted.fingerprint == digest
    )  # fmt: skip
    work.tell("attacking it before it leaves")
    facts = {
        "loss": dict(made.loss), "records": len(made.artefact), "suppressed": made.suppressed,
        "shape": made.shape,
        "algorithm": made.provenance.record.algorithm, "attacks": _attacks(made),
        "purpose": wanted.purpose, "words": list(in_words(made.promise)),
    }  # fmt: skip
    add_release(
        work.office, work.id, dataset=name, person=person.id, kind=wanted.kind,
        file=str(saved.path.relative_to(work.settings.path)), promise=str(made.promise),
        sha256=digest, entry=entry.number, facts=facts,
    )  # fmt: skip
    return {"release": work.id, "entry": entry.number, "sha256": digest}


def _attacks(made: Release) -> list[list[str]]:
    """Try every attack that fits; the table names how many people, never whom."""
    from sfumato.attack.prechecks import precheck  # noqa: PLC0415 - where it is done
    from sfumato.errors import SfumatoError  # noqa: PLC0415 - the same

    try:
        return [list(row) for row in precheck(made).table]
    except SfumatoError:
        return []  # nothing here fits, such as for the answer to a question
