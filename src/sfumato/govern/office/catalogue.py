"""The catalogue: which datasets are held, why, from where, and what everybody may know of them.

Contract: the rules that decide privacy (unit, bounds, limits, purposes, policy) are in the ledger;
the catalogue says where the rows are, and holds what the openness principle asks for: why they are
held, for how long, whom to ask, and which mistakes are known. ``version`` moves on whenever the
rows were changed, so that every worker reads them again.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, text, update

from sfumato.errors import ParameterError
from sfumato.govern.ledger.statements import Statement
from sfumato.govern.office.office import new_id, now
from sfumato.govern.office.tables import datasets, mistakes

if TYPE_CHECKING:
    from sfumato.govern.office.office import Office

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
TICK, DEADLINE = 0.25, 60.0
_FIND = Statement(
    text(
        "SELECT name, owner, source, schema_text, version, made, facts "
        "FROM sfumato_office_datasets WHERE name = :name"
    )
)


@dataclass(frozen=True)
class Facts:
    """What everybody may know about a dataset.

    ``tick`` and ``deadline`` are seconds: answers leave at a multiple of the first, and after the
    second a question has failed; both are public constants, so when an answer comes says little.
    ``subject`` is the column by which a person is looked up, ``held`` whether the rows lie here,
    ``shape`` the shape of the data and ``reading`` how a file of that shape is read.
    """

    title: str = ""
    why: str = ""
    contact: str = ""
    retention: str = ""
    subject: str = ""
    held: bool = False
    tick: float = TICK
    deadline: float = DEADLINE
    shape: str = "table"
    reading: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.01 <= self.tick <= 3600 or not self.tick <= self.deadline <= 86400:
            raise ParameterError(
                "The tick of answers is 0.01 to 3600 seconds, and the deadline of a question is "
                "longer than the tick and at most a day."
            )


@dataclass(frozen=True)
class CatalogueEntry:
    """A dataset of the catalogue."""

    name: str
    owner: str
    source: str
    schema_text: str
    version: int
    made: float
    facts: Facts = field(default_factory=Facts)


def check_name(name: str) -> None:
    """Refuse a name that cannot stand in a question, an address and a folder."""
    if not _NAME.fullmatch(name) or name.casefold() == "new":
        raise ParameterError(
            "The name of a dataset is 1 to 63 letters, digits and underscores, and begins with a "
            "letter, such as patients_2026; 'new' is taken."
        )


def add_dataset(
    office: Office, name: str, *, owner: str, source: str, schema_text: str, facts: Facts
) -> None:
    """Add a dataset; a name is given once."""
    check_name(name)
    check_free(office, name)
    office.change(
        insert(datasets).values(
            name=name, owner=owner, source=source, schema_text=schema_text, made=now(), version=1,
            facts=json.dumps(asdict(facts)),
        )
    )  # fmt: skip


def check_free(office: Office, name: str) -> None:
    """Refuse a name that is taken; capitals do not tell names apart, as in no question."""
    taken = {listed.name.casefold(): listed.name for listed in list_datasets(office)}
    if name.casefold() in taken:
        raise ParameterError(
            f"There is a dataset {taken[name.casefold()]!r} already; choose another name."
        )


def find_dataset(office: Office, name: str) -> CatalogueEntry | None:
    """Find a dataset by its name."""
    rows = office.quick.peek(_FIND, name=name)
    return _read(*rows[0]) if rows else None


def list_datasets(office: Office) -> list[CatalogueEntry]:
    """List all datasets."""
    return [_listed(row) for row in office.rows(select(datasets).order_by(datasets.c.name))]


def change_facts(office: Office, name: str, **changes: Any) -> Facts:
    """Change what everybody may know."""
    found = find_dataset(office, name)
    if found is None:
        raise ParameterError(f"There is no dataset {name!r}.")
    facts = Facts(**{**asdict(found.facts), **changes})
    office.change(
        update(datasets)
        .where(datasets.c.name == name)
        .values(facts=json.dumps(asdict(facts)))
    )  # fmt: skip
    return facts


def rows_changed(office: Office, name: str) -> None:
    """Note that the rows are others now."""
    office.change(
        update(datasets).where(datasets.c.name == name).values(version=datasets.c.version + 1)
    )


def add_mistake(office: Office, dataset: str, told: str) -> None:
    """Tell everybody of a mistake that is known."""
    if not told.strip() or len(told) > 2000:
        raise ParameterError("A known mistake is told in 1 to 2,000 characters.")
    office.add(mistakes, id=new_id(), dataset=dataset, told=told.strip(), made=now())


def list_mistakes(office: Office, dataset: str | None = None) -> list[dict[str, Any]]:
    """List the mistakes that are known."""
    query = select(mistakes).order_by(mistakes.c.made.desc())
    return office.rows(query if dataset is None else query.where(mistakes.c.dataset == dataset))


@lru_cache(maxsize=1000)
def _read(
    name: str, owner: str, source: str, schema: str, version: int, made: float, facts: str
) -> CatalogueEntry:
    """Read a row; the same one again is the same value."""
    return CatalogueEntry(name, owner, source, schema, version, made, Facts(**json.loads(facts)))


def _listed(row: dict[str, Any]) -> CatalogueEntry:
    return CatalogueEntry(
        row["name"], row["owner"], row["source"], row["schema_text"], row["version"], row["made"],
        Facts(**json.loads(row["facts"])),
    )  # fmt: skip
