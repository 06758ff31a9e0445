"""What the adversary has before the eyes: the classes of a release, and its schema.

A release comes as a `Release`, as the folder or file it was saved to, or as a frame with a
schema. Of a `Release` only the released rows, the schema and the stated promise are looked
at. Where no schema is given, the roles in `release.json` beside the file serve; labels are
then read as they are written, and a label nobody can read may stand for any value.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.schema import Schema
from sfumato.data.tables.sources import read
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.promise import read_promise
from sfumato.release import Release
from sfumato.released.evidence import gather

if TYPE_CHECKING:
    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.released.evidence import Evidence, Spread


@dataclass(frozen=True, eq=False)
class AdversaryView:
    """The classes of a release, the meaning of its columns, and what it says it keeps.

    `blind` says that the roles are known but not the hierarchies; `untruthful` lists
    operations after which single records are no longer facts.
    """

    evidence: Evidence
    schema: Schema
    promise: Definition | None = None
    suppressed: int = 0
    blind: bool = False
    untruthful: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """Number of released records."""
        return self.evidence.records

    def attribute(self, name: str | None) -> str:
        """Return the sensitive attribute to attack; the only one if none is named."""
        known = self.evidence.sensitive
        if name is None and len(known) == 1:
            return next(iter(known))
        if name is None:
            raise ParameterError(
                f"The release has {len(known)} sensitive attributes "
                f"({', '.join(known) or 'none'}); say which to attack with attribute=."
            )
        if name not in known:
            raise SchemaError(
                f"'{name}' is no sensitive attribute of the release; it has "
                f"{', '.join(known) or 'none'}."
            )
        return name

    def spread(self, name: str) -> Spread:
        """Return how a sensitive attribute is spread over the classes."""
        return self.evidence.sensitive[name]


def see(release: Any, schema: str | Path | Schema | None = None) -> AdversaryView:
    """Look at a release as an adversary would."""
    if isinstance(release, AdversaryView):
        return release
    if isinstance(release, Release):
        return _of_release(release, schema)
    if isinstance(release, str | Path):
        return _of_path(Path(release), schema)
    if schema is None:
        raise ParameterError("A table says nothing about roles; give its schema with schema=.")
    evidence, _ = gather(release, _schema(schema))
    return AdversaryView(evidence, _schema(schema))


def _of_release(release: Release, schema: str | Path | Schema | None) -> AdversaryView:
    rules = release.schema if schema is None else _schema(schema)
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        # Through a file, so that cells have the text everybody else will see.
        path = Path(folder) / "release.csv"
        release.rows.write_csv(path, release.delimiter)
        evidence, _ = gather(read(path, delimiter=release.delimiter), rules)
    named = replace(evidence, source=f"the release of {release.name}")
    return AdversaryView(
        named, rules, release.promise, release.suppressed, untruthful=release.untruthful
    )


def _of_path(path: Path, schema: str | Path | Schema | None) -> AdversaryView:
    file = _data_file(path)
    facts = _facts(file.with_name("release.json"))
    rules = _roles(facts, file) if schema is None else _schema(schema)
    stated = read_promise(facts["promise"]).definition if facts.get("promise") else None
    evidence, _ = gather(file, rules)
    suppressed = int(facts.get("records_suppressed") or 0)
    changed = tuple(str(text) for text in facts.get("untruthful_operations") or ())
    return AdversaryView(evidence, rules, stated, suppressed, schema is None, changed)


def _data_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in ("release.csv", "release.parquet"):
        if (path / name).is_file():
            return path / name
    raise DataError(f"{path} holds no release.csv or release.parquet; give the released file.")


def _facts(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        facts = None
    if not isinstance(facts, dict):
        raise DataError(f"{path} is not a JSON mapping; mend it, or move it away.")
    return facts


def _roles(facts: dict[str, Any], file: Path) -> Schema:
    roles = facts.get("roles")
    if not isinstance(roles, dict):
        raise SchemaError(
            f"No schema was given, and {file.with_name('release.json')} states no roles; give "
            "the schema of the release."
        )
    return Schema(quasi=roles.get("quasi", ()), sensitive=roles.get("sensitive", ()))


def _schema(schema: str | Path | Schema) -> Schema:
    return schema if isinstance(schema, Schema) else Schema.read(schema)
