"""Verify a release from its file alone, whatever its shape.

`verify` looks at the file as its shape shows it to a stranger, and holds the stated promise against
what is seen. It shares no code with the algorithms; what they thought they did plays no part in it.

The promise is the definition handed over, else the one that `release.json` beside the file states;
without either, the release is only measured. A guarantee of differential privacy is about how
numbers were made: no file can show it, so what is checked is that the file is the one that was
released under it, and the verification says so.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.audit.verification.findings import FileFinding
from sfumato.audit.verification.rows import Bottleneck, FigureRow
from sfumato.errors import PromiseBroken
from sfumato.promise import StatedPromise, is_guarantee
from sfumato.released.manifest import read_manifest
from sfumato.released.view import locate
from sfumato.representation import Shown
from sfumato.shape import TABLE, find_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.released.manifest import Manifest
    from sfumato.released.view import View


@dataclass(frozen=True, eq=False, repr=False)
class Verification(Shown):
    """What a release was found to be.

    `promises` has one row per promise that was checked, `measured` one per figure that can
    be measured without any promise ("recursive c (l = 2)" is the number c must exceed).
    `unchecked` names promises that only whoever wrote their definition can check. `risks` are
    further figures by name.
    """

    source: str
    records: int
    classes: int
    promises: tuple[FigureRow, ...]
    measured: tuple[FigureRow, ...]
    findings: tuple[FileFinding, ...] = ()
    unchecked: tuple[str, ...] = ()
    unit: str = "record"

    @property
    def holds(self) -> bool:
        """Whether a promise was stated, checked and kept, and nothing serious was found.

        Where nothing is promised nothing can hold; the figures are in `found`.
        """
        kept = bool(self.promises) and all(row.holds for row in self.promises)
        return kept and not self.unchecked and not any(f.serious for f in self.findings)

    @cached_property
    def found(self) -> Mapping[str, float]:
        """Every measured figure by name, such as "k" or "distinct l of disease"."""
        rows = [*self.promises, *self.measured]
        return {row.name: row.found for row in rows if row.found is not None}

    @property
    def bottleneck(self) -> Bottleneck | None:
        """The class behind the first broken promise, else the smallest class."""
        broken = [row for row in self.promises if row.holds is False]
        return (broken or list(self.measured))[0].bottleneck

    @property
    def table(self) -> tuple[FigureRow, ...]:
        """The rows to print: promises first, then what else was measured."""
        promised = {row.name for row in self.promises}
        return (*self.promises, *(row for row in self.measured if row.name not in promised))

    @property
    def told(self) -> list[dict[str, Any]]:
        """What was promised, what the file was found to have, and whether it holds, as JSON."""
        return [
            {"promised": row.promised, "measure": row.name, "found": row.found, "holds": row.holds}
            for row in self.promises
        ]

    def rows(self) -> list[tuple[str, float]]:
        """Return further figures to print, by name."""
        return []

    def raise_if_broken(self) -> None:
        """Raise `PromiseBroken` with everything that is wrong, or do nothing."""
        if self.holds:
            return
        wrong = [
            f"{row.promised} does not hold ({row.name} is {_figure(row.found)})"
            for row in self.promises
            if not row.holds
        ]
        if not self.promises and not self.unchecked:
            wrong.append("nothing is promised; hand a definition over with definition=")
        wrong += [
            f"{text} was not checked; hand its definition over with definition="
            for text in self.unchecked
        ]
        wrong += [finding.text for finding in self.findings if finding.serious]
        raise PromiseBroken(f"{self.source}: " + "; ".join(wrong))

    @property
    def title(self) -> str:
        """What was looked at: how many units, and in how many classes, where there are classes."""
        classes = f" in {self.classes:,} classes" if self.classes else ""
        return f"{self.source}: {self.records:,} {self.unit}s{classes}"

    def __str__(self) -> str:
        lines = [self.title]
        for row in self.table:
            verdict = {True: "holds", False: "BROKEN", None: ""}[row.holds]
            promised = f"  promised: {row.promised}: {verdict}" if row.promised else ""
            lines.append(f"  {row.name} = {_figure(row.found)}{promised}")
        lines += [f"  {name}: {_figure(value)}" for name, value in self.rows()]
        lines += [f"  {'!' if f.serious else '-'} {f.text}" for f in self.findings]
        lines += [f"  ? not checked: {text}" for text in self.unchecked]
        return "\n".join(lines)


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"


def verify(
    source: Any,
    schema: Any = None,
    definition: Definition | None = None,
    *,
    shape: str | None = None,
    called: str | None = None,
    manifest: Manifest | None = None,
    **options: Any,
) -> Verification:
    """Check a released file, folder or frame against a promise, from what it shows alone.

    `schema` says what the columns or labels mean; without one the roles that `release.json` states
    serve. `shape` is that of the data, where `release.json` does not say. `called` is what messages
    call the release, `manifest` what it says of itself where that is not beside it. For tables,
    `population` is a table of everybody who could be in the data (for k-map, δ-presence and the
    journalist's risk), `delimiter` and `encoding` are as for `sf.read`.

    >>> import sfumato as sf
    >>> rows = {"age": ["30", "30", "41", "41"]}
    >>> sf.verify(rows, sf.Schema(quasi=["age"]), sf.KAnonymity(2)).holds
    True
    """
    manifest = manifest or read_manifest(source)
    form = find_shape(shape or manifest.shape or TABLE)
    stated = manifest.promise if definition is None else _state(definition)
    place = locate(source, form)
    looks = {} if called is None else {"called": called}
    looks |= {name: options.pop(name) for name in form.look_options if name in options}
    looks = {name: value for name, value in looks.items() if value is not None}
    view = form.view(place, schema=schema, manifest=manifest, promise=stated.definition, **looks)
    given = {name: value for name, value in options.items() if value is not None}
    found: Verification | None = form.verify(view, stated, **given)
    if found is None:
        found = verify_groups(view, stated, place, manifest)
    return found


def _state(promise: Any) -> StatedPromise:
    if is_guarantee(promise):
        return StatedPromise(None, guarantees=(promise,))
    return StatedPromise(promise)


def verify_groups(
    view: View, stated: StatedPromise, place: Any, manifest: Manifest
) -> Verification:
    """Let every promise judge the groups of a view; serves every shape without a way of its own."""
    classes = view.groups()
    parts = () if stated.definition is None else stated.definition.parts
    rows = [_judge(part, view) for part in parts]
    rows += [_compare(promise, place, manifest) for promise in stated.guarantees]
    return Verification(
        source=view.source,
        records=view.records,
        classes=len(classes),
        promises=tuple(rows),
        measured=_smallest(view),
        findings=_beyond_the_file(stated),
        unchecked=stated.own,
        unit=view.unit,
    )


def _smallest(view: View) -> tuple[FigureRow, ...]:
    sizes = view.groups().sizes
    if not len(sizes):
        return ()
    worst = int(np.argmin(sizes))
    shown = Bottleneck(view.describe(worst), int(sizes[worst]))
    return (FigureRow("k", "", float(sizes[worst]), shown),)


def _judge(part: Definition, view: View) -> FigureRow:
    """Show the groups to the definition; the worst of those that break it is the bottleneck."""
    classes = view.groups(part)
    holds = part.judge(classes)
    broken = np.flatnonzero(~holds)
    among = broken if len(broken) else np.arange(len(holds))
    worst = None
    if len(among):
        group = int(among[int(np.argmin(classes.sizes[among]))])
        worst = Bottleneck(view.describe(group), int(classes.sizes[group]))
    return FigureRow(
        "groups that break it", "", float(len(broken)), worst, str(part), holds=not len(broken)
    )


def _compare(promise: Any, place: Any, manifest: Manifest) -> FigureRow:
    """Compare the file with the digest it was released under."""
    stated = manifest.facts.get("sha256")
    same = isinstance(place, Path | str) and stated == digest(Path(place))
    return FigureRow("file as released", "", float(same), None, str(promise), holds=same)


def _beyond_the_file(stated: StatedPromise) -> tuple[FileFinding, ...]:
    if not stated.guarantees:
        return ()
    text = (
        "a guarantee of differential privacy is about how the numbers were made, which no file can "
        "show; its evidence is the entry in the ledger"
    )
    return (FileFinding("process", "", text, serious=False),)


def digest(file: Path) -> str:
    """Return the SHA-256 of a file, or of the files of a folder in the order of their names."""
    if file.is_dir():
        parts = [f"{part.name} {digest(part)}" for part in sorted(file.iterdir())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
