"""Making a release: anonymised, published once under a budget, synthetic, or a trained model.

Contract: the rooms do the work; here a request becomes their call, the release is saved with its
entry in the ledger, attacks are tried before anybody may have it, and a row says where it lies.
The owner publishes it by a step of her own, when she has seen the report.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.session.session import Session
from sfumato.errors import ParameterError
from sfumato.govern.office.catalogue import find_dataset
from sfumato.govern.office.people import find_person
from sfumato.govern.office.releases import add_release
from sfumato.govern.releases import RELEASED
from sfumato.release_folder import save_release
from sfumato.requests.service import ReleaseRequest
from sfumato.service.sources import locate

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
    source, schema = locate(work.settings, listed)
    if wanted.kind == "anonymize":
        made = _anonymized(work, wanted, source, schema, name)
    else:
        made = _published(work, wanted, source, schema, name, person.pseudonym)
    made = replace(made, name=name)  # the ledger knows the dataset by this name
    work.tell("verifying and writing")
    folder = work.settings.path / "releases" / work.id
    saved = save_release(
        made, folder, ledger=work.ledger, purpose=wanted.purpose, by=person.pseudonym, replace=True,
        recorded_as=f"releases/{work.id}/",
    )  # fmt: skip
    digest = hashlib.sha256(saved.path.read_bytes()).hexdigest()
    entry = next(
        one for one in reversed(work.ledger.entries(made.name, last=50))
        if one.kind == RELEASED and one.fingerprint == digest
    )  # fmt: skip
    work.tell("attacking it before it leaves")
    facts = {
        "loss": dict(made.loss), "records": len(made.artefact), "suppressed": made.suppressed,
        "algorithm": made.provenance.record.algorithm, "attacks": _attacks(made),
        "purpose": wanted.purpose,
    }  # fmt: skip
    add_release(
        work.office, work.id, dataset=name, person=person.id, kind=wanted.kind,
        file=str(saved.path.relative_to(work.settings.path)), promise=str(made.promise),
        sha256=digest, entry=entry.number, facts=facts,
    )  # fmt: skip
    return {"release": work.id, "entry": entry.number, "sha256": digest}


def _anonymized(work: Work, wanted: ReleaseRequest, source: Any, schema: Any, name: str) -> Release:
    from sfumato.anonymize.run import anonymize  # noqa: PLC0415 - where it is done
    from sfumato.shape import read  # noqa: PLC0415 - the same

    if wanted.promise is None:
        raise ParameterError("Nothing is promised; say for instance that k is 5.")
    table = read(source, schema=schema, name=name)

    def told(*facts: Any) -> None:
        work.tell(" ".join(str(one) for one in facts)[:200])

    options: dict[str, Any] = {"suppression": wanted.suppression, "progress": told}
    if wanted.time_limit is not None:
        options["time_limit"] = wanted.time_limit
    work.tell("searching")
    return anonymize(table, wanted.promise, algorithm=wanted.algorithm, **options)


def _published(
    work: Work, wanted: ReleaseRequest, source: Any, schema: Any, name: str, by: str
) -> Release:
    price: dict[str, Any] = {
        one: getattr(wanted, one) for one in ("epsilon", "delta") if getattr(wanted, one)
    }
    with Session(
        source, schema=schema, name=name, analyst=by, purpose=wanted.purpose, ledger=work.ledger
    ) as session:
        work.tell("charging, then working")
        if wanted.kind == "topk":
            made = session.top_k(_only(wanted.columns), min(wanted.k, 1000), **price)
        elif wanted.kind == "kmeans":
            made = session.kmeans(wanted.columns, wanted.k, **price)
        elif wanted.kind == "synthesize":
            made = session.synthesize(**price)
        else:
            made = _trained(session, wanted, price)
    return made


def _trained(session: Session, wanted: ReleaseRequest, price: dict[str, Any]) -> Release:
    fit: Any = getattr(session, "fit", None)
    if fit is None:
        raise ParameterError("Models are trained from Python in this version; see sf.dp.")
    from sfumato import dp  # noqa: PLC0415 - where it is done

    if not wanted.target:
        raise ParameterError("Name the column that the model predicts.")
    made: Release = fit(dp.LogisticRegression(**price), target=wanted.target)
    return made


def _only(columns: list[str]) -> str:
    if len(columns) != 1:
        raise ParameterError("The most frequent values are those of one column; name it.")
    return columns[0]


def _attacks(made: Release) -> list[list[str]]:
    """Try every attack that fits; the table names how many people, never whom."""
    from sfumato.attack.prechecks import precheck  # noqa: PLC0415 - where it is done
    from sfumato.errors import SfumatoError  # noqa: PLC0415 - the same

    try:
        return [list(row) for row in precheck(made).table]
    except SfumatoError:
        return []  # nothing here fits, such as for the answer to a question
