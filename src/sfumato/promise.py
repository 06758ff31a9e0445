"""Promises as JSON, so that a release can carry what it was made to keep.

`to_json` turns a definition into a list of plain mappings, one per part:
`[{"definition": "KAnonymity", "k": 5}, …]`; `from_json` turns it back. A user's own
definition is written by name and in words; it cannot be rebuilt from a file, so whoever
verifies hands it over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.definition import Conjunction, Definition
from sfumato.anonymize.definitions.itemsets import SET_DEFINITIONS
from sfumato.audit.verification.checks import CHECKS
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from typing import TypeAlias

BUILT_IN: tuple[type[Definition], ...] = (*CHECKS, *SET_DEFINITIONS)
"""Definitions that can be read from a file are those `verify` can check by itself."""

_BY_NAME = {kind.__name__: kind for kind in BUILT_IN}

Entry: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class StatedGuarantee:
    """A guarantee as a release states it; it is told on, and no file can show it."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class StatedPromise:
    """What a release says it keeps: the part that can be rebuilt, and the rest in words."""

    definition: Any
    own: tuple[str, ...] = ()


def is_guarantee(promise: object) -> bool:
    """Tell whether a promise is about the process and not about the output."""
    return not isinstance(promise, Definition)


def to_json(definition: Any) -> list[Entry]:
    """Return the parts of a promise as plain mappings."""
    if is_guarantee(definition):
        return [{"guarantee": _guarantee_entry(definition), "text": str(definition)}]
    return [_entry(part) for part in definition.parts]


def _guarantee_entry(guarantee: Any) -> Entry | None:
    """Return a guarantee that can be read back; None for one that can only be told in words."""
    from sfumato.govern.ledger.guarantee_json import (  # noqa: PLC0415 - loaded when used
        guarantee_to_json,
    )

    try:
        return guarantee_to_json(guarantee)
    except ParameterError:
        return None


def _entry(part: Definition) -> Entry:
    kind = type(part)
    if kind not in BUILT_IN:
        return {"definition": f"{kind.__module__}:{kind.__qualname__}", "text": str(part)}
    entry: Entry = {"definition": kind.__name__}
    for item in fields(part):  # type: ignore[arg-type]  # every built-in is a dataclass
        value = getattr(part, item.name)
        if item.name == "on" and not value:
            continue
        entry[item.name] = list(value) if isinstance(value, tuple) else value
    return entry


def from_json(entries: Sequence[Mapping[str, Any]]) -> Definition:
    """Return the definition that `to_json` wrote; a user's own cannot be rebuilt."""
    stated = read_promise(entries)
    if stated.own:
        raise ParameterError(
            f"The promise '{stated.own[0]}' is not built in and cannot be rebuilt from a file; "
            "hand the definition itself over with definition=."
        )
    if stated.definition is None:
        raise ParameterError("The promise is empty; it must state at least one definition.")
    definition: Definition = stated.definition
    return definition


def read_promise(entries: Sequence[Mapping[str, Any]]) -> StatedPromise:
    """Return the parts that can be rebuilt as a definition, and the others in words."""
    parts: list[Definition] = []
    own: list[str] = []
    if isinstance(entries, str | Mapping) or not isinstance(entries, Sequence):
        raise ParameterError("A promise must be a list of mappings with the key 'definition'.")
    for entry in entries:
        if isinstance(entry, Mapping) and "guarantee" in entry:
            return StatedPromise(StatedGuarantee(str(entry.get("text"))))
        if not isinstance(entry, Mapping) or not isinstance(entry.get("definition"), str):
            raise ParameterError("A promise must be a list of mappings with the key 'definition'.")
        kind = _BY_NAME.get(entry["definition"])
        if kind is None:
            own.append(str(entry.get("text", entry["definition"])))
        else:
            parts.append(_built(kind, entry))
    if not parts:
        return StatedPromise(None, tuple(own))
    definition = parts[0] if len(parts) == 1 else Conjunction(tuple(parts))
    return StatedPromise(definition, tuple(own))


def _built(kind: type[Definition], entry: Mapping[str, Any]) -> Definition:
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    given = {key: value for key, value in entry.items() if key != "definition"}
    strangers = sorted(set(given) - known)
    if strangers:
        raise ParameterError(
            f"{kind.__name__} has no parameter {', '.join(strangers)}; it has "
            f"{', '.join(sorted(known))}."
        )
    try:
        return kind(**given)
    except TypeError:
        raise ParameterError(
            f"{kind.__name__} needs {', '.join(sorted(known))}; given were "
            f"{', '.join(sorted(given)) or 'none'}."
        ) from None
