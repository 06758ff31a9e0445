"""What is promised about a release, whichever way: on paper, in words, and read back.

A `Definition` promises something about the output, a `Guarantee` something about the process
that made it. Both are a `Promise`: made of parts that must all hold, each with a name
(`str`), a sentence (`in_words`) and plain JSON (`to_json`). A release carries the list of its
parts, `[{"definition": "KAnonymity", "k": 5}, …]` or `[{"kind": "PureDP", "epsilon": "1.0", …}]`.

`BUILT_IN` names the definitions that can be read back from a file: a new one is its class and
one line there. A user's own definition is written by name and in words; it cannot be rebuilt
from a file, so whoever verifies hands it over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from operator import and_
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.dp.guarantees import Guarantee

Entry: TypeAlias = dict[str, Any]

_HOME = "sfumato.anonymize.definitions"
BUILT_IN: Mapping[str, str] = {
    "KAnonymity": f"{_HOME}.anonymity",
    "DistinctLDiversity": f"{_HOME}.diversity",
    "EntropyLDiversity": f"{_HOME}.diversity",
    "RecursiveLDiversity": f"{_HOME}.diversity",
    "TCloseness": f"{_HOME}.closeness",
    "BetaLikeness": f"{_HOME}.likeness",
    "DeltaDisclosure": f"{_HOME}.likeness",
    "KMap": f"{_HOME}.presence",
    "DeltaPresence": f"{_HOME}.presence",
    "AverageRisk": f"{_HOME}.risk",
    "UniqueShare": f"{_HOME}.risk",
    "KmAnonymity": f"{_HOME}.itemsets",
    "RhoUncertainty": f"{_HOME}.itemsets",
    "Coherence": f"{_HOME}.itemsets",
    "ItemConstraints": f"{_HOME}.itemsets",
    "ItemDiversity": f"{_HOME}.itemsets",
    "CoLocalization": f"{_HOME}.nearness",
    "KmnAnonymity": f"{_HOME}.branches",
    "VertexDiversity": f"{_HOME}.branches",
    "KDegreeAnonymity": f"{_HOME}.structure",
    "NodeKAnonymity": f"{_HOME}.structure",
}
"""Definitions by name, with the module each is loaded from when it is needed; in the order in
which their options are listed."""

_LIST = "A promise must be a list of mappings with the key 'definition'."


class Promise(Protocol):
    """What a definition and a guarantee have in common."""

    @property
    def parts(self) -> Sequence[Promise]:
        """What must all hold; a single promise is its own only part."""

    def to_json(self) -> Entry:
        """Return it as a plain mapping."""

    def in_words(self, names: Sequence[str] = ()) -> str:
        """Say what is promised; `names` are what others may know of a person."""


@dataclass(frozen=True)
class StatedPromise:
    """What a release says it keeps: the part that can be rebuilt, and the rest in words."""

    definition: Definition | None
    own: tuple[str, ...] = ()
    guarantees: tuple[Guarantee, ...] = ()

    @property
    def whole(self) -> Definition | Guarantee | None:
        """The definition, else the guarantee, that is stated."""
        return self.definition or next(iter(self.guarantees), None)


def to_json(promise: Promise) -> list[Entry]:
    """Return the parts of a promise as plain mappings."""
    return [part.to_json() for part in promise.parts]


def in_words(promise: Promise, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return one sentence per part of a promise."""
    return tuple(part.in_words(names) for part in promise.parts)


def is_guarantee(promise: object) -> bool:
    """Tell whether a promise is about the process and not about the output."""
    return not hasattr(promise, "judge")


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
    return stated.definition


def read_promise(entries: Sequence[Mapping[str, Any]]) -> StatedPromise:
    """Return what can be rebuilt of a list of parts, and the others in words."""
    parts: list[Definition] = []
    own: list[str] = []
    guarantees: list[Guarantee] = []
    for entry in _flat(entries):
        if isinstance(entry.get("kind"), str):
            guarantees.append(_guarantee(entry))
        elif not isinstance(entry.get("definition"), str):
            raise ParameterError(_LIST)
        elif entry["definition"] in BUILT_IN:
            parts.append(built_in(entry["definition"]).from_json(entry))
        else:
            own.append(str(entry.get("text", entry["definition"])))
    whole = reduce(and_, parts) if parts else None
    return StatedPromise(whole, tuple(own), tuple(guarantees))


def _flat(entries: object) -> list[Mapping[str, Any]]:
    """Return the parts of a list; a conjunction in one mapping gives its own."""
    if isinstance(entries, str | Mapping) or not isinstance(entries, Sequence):
        raise ParameterError(_LIST)
    found: list[Mapping[str, Any]] = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise ParameterError(_LIST)
        found += _flat(entry["all"]) if "all" in entry else [entry]
    return found


def _guarantee(entry: Mapping[str, Any]) -> Guarantee:
    from sfumato.dp.guarantee_json import guarantee_from_json  # noqa: PLC0415 - loaded when used

    return guarantee_from_json(entry)


# -- the built-in definitions ---------------------------------------------------------


def built_in(name: str) -> type[Definition]:
    """Load a built-in definition by its name."""
    kind: type[Definition] = getattr(import_module(BUILT_IN[name]), name)
    return kind


def is_built_in(kind: type) -> bool:
    """Tell whether a class is a built-in definition itself, not one derived from it."""
    return BUILT_IN.get(kind.__qualname__) == kind.__module__


def home_of(kind: type) -> str:
    """Return where a class is found, as `module:Class`."""
    return f"{kind.__module__}:{kind.__qualname__}"


def fitting(shape: str) -> list[str]:
    """Return the names of the built-in definitions that make sense for a shape of data."""
    found = {name: built_in(name).shapes for name in BUILT_IN}
    return [name for name, shapes in found.items() if shapes is None or shape in shapes]
