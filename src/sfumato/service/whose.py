"""Whose rows a source names: an owner registers no rows of somebody else's dataset.

Contract: rows belong to a dataset if they lie in its folder, or if it was registered from the same
file or table. Whoever registers them anew, as another shape perhaps, would see them and deal out
another budget for them, so only an owner of that dataset may; the operator may, too. Two names of
one table of a database (a view, another schema) are told apart by the operator alone, who named it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import ParameterError
from sfumato.govern.office.catalogue import list_datasets
from sfumato.govern.office.owners import owns
from sfumato.service.sources import DATABASE, SPARK, UPLOADED, folder_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.service.access import Caller
    from sfumato.service.house import House
    from sfumato.service.settings import Settings

_USUAL = {"public", "main", "default"}
"""Schemas that are meant where none is named."""


def check_whose(house: House, caller: Caller, dataset: str, named: Iterable[str]) -> None:
    """Refuse sources and files that belong to datasets of others."""
    if caller.entrant is None:  # the operator
        return
    wanted = [_place(house.settings, source) for source in named]
    for listed in list_datasets(house.office):
        if listed.name == dataset or owns(house.office, caller.id, listed.name):
            continue
        folder = str(folder_of(house.settings, listed.name).resolve())
        taken = _place(house.settings, listed.source)
        if any(_same(place, taken) or place[0].startswith(f"{folder}/") for place in wanted):
            raise ParameterError(
                "These rows belong to another dataset, which is not yours; ask its owners to add "
                "you to them."
            )


def _place(settings: Settings, source: str) -> tuple[str, str]:
    """Name the file or database of a source, and the table in it, one way to write each."""
    if source.startswith(SPARK):
        return SPARK, _plain(source.removeprefix(SPARK))
    where, _, table = source.partition("::")
    if where.startswith((DATABASE, UPLOADED)) or "\n" in where:
        return where, _plain(table)
    try:
        return str((settings.path / where).resolve()), _plain(table)
    except (OSError, ValueError):  # a name that no file can have
        return where, _plain(table)


def _same(place: tuple[str, str], taken: tuple[str, str]) -> bool:
    """Tell whether two places may be one; a file without a table may mean any table of it."""
    return place[0] == taken[0] and (place[1] == taken[1] or "" in {place[1], taken[1]})


def _plain(table: str) -> str:
    """Name a table by its schema, unless that is the usual one, and its name; of any catalogue."""
    parts = table.replace('"', "").replace("`", "").casefold().split(".")
    *_, schema, name = ["", *(part.strip() for part in parts)]
    return name if schema in {"", *_USUAL} else f"{schema}.{name}"
