"""Hierarchy files that lie beside the data, named as ARX names them.

ARX keeps `adult.csv` with `adult_hierarchy_age.csv`, in the same folder or in one called
`hierarchies`; `age.csv` in such a folder is found, too. Capitals do not count.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

FOLDERS = ("hierarchies", "hierarchy")


def hierarchy_beside(source: str, column: str, values: Collection[str]) -> Hierarchy | None:
    """Return the hierarchy of a column that lies beside a file and covers its values, if any."""
    for path in _files(Path(source), column):
        try:
            found = Hierarchy.read(path)
            found.over(list(values), column)
        except HierarchyError:
            continue  # of another version of the data; what is suggested from the data serves
        return found
    return None


def _files(source: Path, column: str) -> Iterator[Path]:
    if not source.is_file():
        return
    stem = source.name.partition(".")[0]
    named = f"{stem}_hierarchy_{column}.csv".lower()
    places = [source.parent, *(source.parent / name for name in FOLDERS)]
    for folder in places:
        known = (named,) if folder == source.parent else (named, f"{column}.csv".lower())
        if folder.is_dir():
            yield from sorted(path for path in folder.iterdir() if path.name.lower() in known)
