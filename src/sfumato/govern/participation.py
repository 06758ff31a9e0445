"""Individual participation: what is held about a person, put right, or left out, and recorded.

Contract (GDPR, articles 15 to 17; the OECD's individual participation): the owner of a data file
has confirmed who asks, outside of the system. Her rows are found, corrected or left out in the
file, which is changed as a whole; the ledger gets what was done, how many rows it concerned, and a
hash of who asked that is keyed with the dataset's secret, never a name. What was released and
answered before is listed as it is: it cannot be recalled, and no ε comes back.

The entry is written after the file has changed. A crash in between leaves a change without an
entry, never an entry about a change that did not happen; done again, it finds no rows and says so.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.tables.people_rows import correct_rows, drop_rows, find_rows
from sfumato.dp.accounting.filters import total
from sfumato.errors import DataError, ParameterError
from sfumato.govern.ledger.chain import CHARGED
from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.limits import in_short
from sfumato.govern.places import default_place
from sfumato.govern.releases import RELEASED
from sfumato.representation import Shown
from sfumato.staging import alone_in

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

CANNOT = (
    "What was released has left the house and cannot be recalled; noisy answers cannot be undone, "
    "and what they cost of the budget is not given back."
)
_CHANGED = (".csv", ".tsv", ".txt", ".parquet")


@dataclass(frozen=True)
class SubjectAnswer(Shown):
    """What a person is told: her rows, what they serve, and what has left the house already.

    Shown as text it tells numbers only, since that may end up in a log; `rows` and `to_json` have
    her cells.
    """

    dataset: str
    kind: str
    rows_found: int
    rows: tuple[dict[str, Any], ...]
    purposes: tuple[str, ...]
    releases: tuple[dict[str, str], ...]
    answers: int
    answers_in_all: str | None
    cannot_be_undone: str = CANNOT

    def __str__(self) -> str:
        return (
            f"{self.dataset}: {self.rows_found:,} of her rows ({self.kind}); "
            f"{len(self.releases):,} releases and {self.answers:,} noisy answers were made and "
            "cannot be recalled"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values, to be handed to the person."""
        return {**vars(self), "rows": list(self.rows), "purposes": list(self.purposes),
                "releases": list(self.releases)}  # fmt: skip


def find_subject(
    data: str | os.PathLike[str],
    person: str,
    *,
    column: str,
    dataset: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> SubjectAnswer:
    r"""Tell whether and what is held about a person, and where it went.

    >>> import sfumato as sf, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "visits.csv"
    >>> _ = file.write_text("patient,reason\n7,flu\n8,cough\n7,check\n")
    >>> sf.govern.find_subject(file, "7", column="patient").rows_found
    2
    """
    rows = find_rows(_file(data), column, person)
    return _answer("access", data, person, rows, dataset, ledger)


def correct_subject(
    data: str | os.PathLike[str],
    person: str,
    *,
    column: str,
    right: Mapping[str, str],
    dataset: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> SubjectAnswer:
    """Put right values into all rows of a person, and tell what is held now."""
    if not right:
        raise ParameterError("Say what is right, as column=value.")
    if column in right:
        raise ParameterError(
            f"Column {column!r} tells whose rows these are; another name there would make them "
            "somebody else's. Have the rows left out, and add them anew."
        )
    with alone_in(_changeable(data).parent):
        if rows := find_rows(_file(data), column, person):
            correct_rows(_file(data), column, person, right)
    return _answer("correct", data, person, [{**row, **right} for row in rows], dataset, ledger)


def forget_subject(
    data: str | os.PathLike[str],
    person: str,
    *,
    column: str,
    dataset: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> SubjectAnswer:
    """Leave all rows of a person out, and tell what cannot be recalled."""
    with alone_in(_changeable(data).parent):
        if rows := find_rows(_file(data), column, person):
            drop_rows(_file(data), column, person)
    return _answer("forget", data, person, rows, dataset, ledger)


def _file(data: str | os.PathLike[str]) -> Path:
    path = Path(data)
    if not path.is_file():
        raise DataError(
            f"{path} is not a file; rows of a database are found and changed there, by its owner."
        )
    return path


def _changeable(data: str | os.PathLike[str]) -> Path:
    path = _file(data)
    if path.suffix.lower() not in _CHANGED:
        raise DataError(
            f"{path} cannot be changed here; CSV and Parquet files can "
            f"({', '.join(_CHANGED)}). Change the rows where the file is made."
        )
    return path.resolve()


def _answer(
    kind: str,
    data: str | os.PathLike[str],
    person: str,
    rows: list[dict[str, Any]],
    dataset: str | None,
    ledger: Ledger | str | os.PathLike[str] | None,
) -> SubjectAnswer:
    """Record a request that was carried out, and gather what the person is told."""
    name = dataset or Path(data).stem
    if isinstance(ledger, Ledger):
        return _record(ledger, kind, name, person, rows)
    with Ledger(ledger or default_place(data)) as opened:
        return _record(opened, kind, name, person, rows)


def _record(
    ledger: Ledger, kind: str, name: str, person: str, rows: list[dict[str, Any]]
) -> SubjectAnswer:
    salt = ledger.salt(name)
    who = None if salt is None else hmac.new(salt, person.encode(), "sha256").hexdigest()
    ledger.record(f"subject-{kind}", {"dataset": name, "person": who, "rows": len(rows)})
    entries, known = ledger.entries(name), ledger.registration(name)
    return SubjectAnswer(
        dataset=name,
        kind=kind,
        rows_found=len(rows),
        rows=() if kind == "forget" else tuple(rows),
        purposes=() if known is None else known.purposes,
        releases=tuple(
            {"made": entry.time, "file_sha256": entry.fingerprint or "",
             "promise": entry.guarantee or ""}
            for entry in entries if entry.kind == RELEASED
        ),
        answers=sum(entry.kind == CHARGED for entry in entries),
        answers_in_all=None if known is None else _spent(ledger, name),
    )  # fmt: skip


def _spent(ledger: Ledger, name: str) -> str:
    """Tell what all answers together may have given away of anybody."""
    limits = ledger.snapshot(name, "").limits()
    return next(
        in_short(total(limit, used)) for (_, scope, _), limit, used in limits if scope == "dataset"
    )
