"""Answering a person: what is held about her, a correction, or her rows left out.

Contract: the owner has confirmed who she is. The exact look-up happens here and nowhere else; its
result is sealed for the code that she holds, and the ledger gets a keyed hash and counts. What was
released or answered meanwhile is listed as it is: it cannot be recalled, and no ε comes back.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.tables.people_rows import correct_rows, drop_rows, find_rows
from sfumato.errors import ParameterError
from sfumato.govern.ledger.chain import CHARGED
from sfumato.govern.office import subjects
from sfumato.govern.office.catalogue import find_dataset, rows_changed
from sfumato.govern.office.jobs import find_job, keep_body
from sfumato.govern.office.releases import list_releases
from sfumato.govern.openness import tell_held
from sfumato.govern.participation import CANNOT
from sfumato.service.settings import secret_at
from sfumato.service.sources import locate
from sfumato.staging import alone_in

if TYPE_CHECKING:
    from sfumato.govern.office.catalogue import CatalogueEntry
    from sfumato.service.job import Work


def answer_request(work: Work) -> dict[str, Any]:
    """Answer a request that was confirmed."""
    body = work.job["body"]
    request = subjects.find_request(work.office, body["request"])
    listed = find_dataset(work.office, work.job["dataset"])
    if request is None or listed is None:
        raise ParameterError("The request or the dataset is gone.")
    kind, person = request["kind"], body["person"]
    if not listed.facts.held or not listed.facts.subject:
        raise ParameterError(
            "The rows of this dataset do not lie here, or no column names a person; answer the "
            "request where they are."
        )
    work.tell("looking")
    found, count = _look(work, listed, kind)
    told = _told(work, listed, kind, found, body["corrections"]) | {"rows_found": count}
    subjects.answer(work.office, request["id"], told)
    secret = secret_at(work.settings.path / "keys" / "secret")
    work.ledger.record(
        f"subject-{kind}",
        {"dataset": listed.name, "person": subjects.keyed(secret, person), "rows": count},
    )
    return {"kind": kind, "rows": count}


def _look(work: Work, listed: CatalogueEntry, kind: str) -> tuple[list[dict[str, Any]], int]:
    """Find her rows and change them; give them, and how many they were before the first try.

    Two changes of one file must not both begin with the old one, or the later would bring back
    what the earlier has left out: whoever changes a file is alone in its folder. How many rows
    there were is kept before they change, for a try after a crash finds none any more; and the
    rows count as changed even then, because the first try may not have come to say so.
    """
    file, _ = locate(work.settings, listed)
    column = listed.facts.subject
    if kind == "access":
        found = find_rows(file, column, work.job["body"]["person"])
        return found, len(found)
    with alone_in(Path(file).parent):
        job = find_job(work.office, work.id)
        if job is None or "person" not in job["body"]:
            raise ParameterError("The job was ended before its turn came.")
        body = job["body"]
        found = find_rows(file, column, body["person"])
        count = int(body.setdefault("rows", len(found)))
        keep_body(work.office, work.id, body)
        if found and kind == "correct":
            correct_rows(file, column, body["person"], body["corrections"])
        elif found:
            drop_rows(file, column, body["person"])
        rows_changed(work.office, listed.name)
    return found, count


def _told(
    work: Work,
    listed: CatalogueEntry,
    kind: str,
    found: list[dict[str, Any]],
    right: dict[str, str],
) -> dict[str, Any]:
    """Gather what she is told."""
    held = tell_held(work.office, work.ledger, listed)
    entries = work.ledger.entries(listed.name)
    shown = {"access": found, "correct": [{**row, **right} for row in found], "forget": []}
    return {
        "dataset": listed.name,
        "kind": kind,
        "rows": shown[kind],
        "purposes": [] if held is None else list(held.purposes),
        "why": listed.facts.why,
        "releases": [
            {
                "file_sha256": release["sha256"],
                "made": release["made"],
                "promise": release["promise"],
            }
            for release in list_releases(work.office, listed.name, public=False)
        ],
        "answers": sum(entry.kind == CHARGED for entry in entries),
        "answers_in_all": None if held is None else held.spent,
        "cannot_be_undone": CANNOT,
    }
