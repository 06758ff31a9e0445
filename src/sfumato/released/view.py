"""What a stranger sees of a release, whatever its shape: groups of units that look alike.

A `View` is made from the released file alone. Verification, risk and attacks see nothing else. A
release comes as a `Release`, as the folder or file it was saved to, or in the kind its shape reads;
of a `Release` only what would be written is looked at, through a file, so that everything has
the form everybody else will see.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.errors import DataError
from sfumato.released.manifest import Manifest, read_manifest
from sfumato.shape import TABLE, find_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.anonymize.definitions.classes import Classes
    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.release import Release
    from sfumato.shape import Shape


class TemporaryFolder:
    """A folder that is there as long as something refers to this."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="sfumato-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class View(ABC):
    """A released file as a stranger sees it.

    `promise` is what it says it keeps, `suppressed` how many units it says were left out;
    `untruthful` lists operations after which single units are no longer facts. `folder` is where
    the file is while anything looks at it, where the release was not saved.
    """

    shape: ClassVar[str]
    unit: ClassVar[str] = "record"

    source: str = "the release"
    promise: Any = None
    suppressed: int = 0
    untruthful: tuple[str, ...] = ()
    folder: TemporaryFolder | None = None

    @property
    @abstractmethod
    def records(self) -> int:
        """Number of released units."""

    @abstractmethod
    def groups(self, definition: Definition | None = None) -> Classes:
        """Return the groups that a definition judges; without one, units that look alike."""

    @abstractmethod
    def describe(self, group: int) -> Mapping[str, str]:
        """Say what a group shows of itself; nothing sensitive."""


def see(release: Any, schema: Any = None, *, shape: str | None = None, **options: Any) -> Any:
    """Look at a release as a stranger would; returns the `View` of its shape."""
    if isinstance(release, View):
        return release
    if hasattr(release, "artefact"):  # a release that is not saved
        return _see_release(release, schema, options)
    manifest = read_manifest(release)
    form = find_shape(shape or manifest.shape or TABLE)
    view = form.view(locate(release, form), schema=schema, manifest=manifest, **options)
    return replace(
        view,
        promise=manifest.promise.whole if view.promise is None else view.promise,
        suppressed=manifest.suppressed,
        untruthful=manifest.untruthful,
    )


def see_people(
    release: Any, schema: Any = None, *, shape: str | None = None, **options: Any
) -> Any:
    """Look at a release, and refuse one whose people nobody can count.

    An attack counts people. Where the schema names a person and the file has nothing that tells
    people apart, five records of one patient would pass for five patients who hide her.
    """
    view = see(release, schema, shape=shape, **options)
    trouble = getattr(getattr(view, "persons", None), "trouble", "")
    if trouble:
        raise DataError(f"{view.source}: {trouble}")
    return view


def _see_release(release: Release, schema: Any, options: dict[str, Any]) -> Any:
    form = find_shape(release.shape)
    rules = release.schema if schema is None else schema
    folder = TemporaryFolder()
    path = release.artefact.write(folder.path)
    options.setdefault("called", f"the release of {release.name}")
    view = form.view(path, schema=rules, manifest=Manifest(release.manifest()), **options)
    return replace(
        view,
        folder=folder,
        promise=release.promise,
        suppressed=release.suppressed,
        untruthful=release.untruthful,
    )


def locate(source: Any, form: Shape) -> Any:
    """Return the data file of a release given as its folder; anything else as it is."""
    if not isinstance(source, str | Path) or not Path(source).is_dir():
        return source
    if Path(source).suffix.lower() == ".parquet":  # written in parts
        return source
    for name in form.files:
        if (Path(source) / name).exists():
            return Path(source) / name
    raise DataError(f"{source} holds no {' or '.join(form.files)}; give the released file.")
