"""Promises as people type them: `-k 5 -l 2:disease -t 0.2:disease:ordered`."""

from __future__ import annotations

import sys
from functools import reduce
from importlib import import_module
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sfumato.anonymize.definitions.definition import Definition

K_HELP = (
    "k-anonymity: every record looks like at least k − 1 others. Give 'age,zip:5' for a "
    "combination of quasi-identifiers with a k of its own; may be repeated."
)
L_HELP = (
    "l-diversity of a sensitive attribute, as L:ATTRIBUTE, L:ATTRIBUTE:entropy or "
    "L:ATTRIBUTE:recursive=C; may be repeated."
)
T_HELP = (
    "t-closeness of a sensitive attribute, as T:ATTRIBUTE or T:ATTRIBUTE:DISTANCE with distance "
    "equal, kl, ordered or hierarchical; may be repeated."
)


def promise_from(
    k: Sequence[str] | None = None,
    diversity: Sequence[str] | None = None,
    closeness: Sequence[str] | None = None,
    likeness: Sequence[str] | None = None,
    disclosure: Sequence[str] | None = None,
    k_map: int | None = None,
    presence: str | None = None,
    own: Sequence[str] | None = None,
) -> Definition | None:
    """Return the conjunction of everything asked for, or None where nothing was."""
    from sfumato.anonymize.definitions.likeness import BetaLikeness, DeltaDisclosure  # noqa: PLC0415
    from sfumato.anonymize.definitions.presence import DeltaPresence, KMap  # noqa: PLC0415

    parts = [_k(text) for text in k or ()]
    parts += [_l(text) for text in diversity or ()]
    parts += [_t(text) for text in closeness or ()]
    for text in likeness or ():
        number, attribute = _pair("--beta", text)
        parts.append(BetaLikeness(_number("--beta", number), attribute))
    for text in disclosure or ():
        number, attribute = _pair("--delta-disclosure", text)
        parts.append(DeltaDisclosure(_number("--delta-disclosure", number), attribute))
    if k_map is not None:
        parts.append(KMap(k_map))
    if presence is not None:
        low, _, high = presence.partition(",")
        parts.append(DeltaPresence(_number("--presence", low), _number("--presence", high)))
    parts += [_own(text) for text in own or ()]
    return reduce(and_, parts) if parts else None


def _k(text: str) -> Definition:
    from sfumato.anonymize.definitions.anonymity import KAnonymity  # noqa: PLC0415 - pulls in numpy

    names, mark, number = text.rpartition(":")
    on = tuple(name.strip() for name in names.split(",")) if mark else ()
    return KAnonymity(_whole("-k", number), on)


def _l(text: str) -> Definition:
    from sfumato.anonymize.definitions.diversity import (  # noqa: PLC0415 - pulls in numpy
        DistinctLDiversity,
        EntropyLDiversity,
        RecursiveLDiversity,
    )

    number, attribute = _pair("-l", text)
    head, mark, kind = attribute.rpartition(":")
    if mark and kind == "distinct":
        return DistinctLDiversity(_whole("-l", number), head)
    if mark and kind == "entropy":
        return EntropyLDiversity(_number("-l", number), head)
    if mark and kind.startswith("recursive="):
        c = _number("-l", kind.removeprefix("recursive="))
        return RecursiveLDiversity(c, _whole("-l", number), head)
    return DistinctLDiversity(_whole("-l", number), attribute)


def _t(text: str) -> Definition:
    from sfumato.anonymize.definitions.closeness import TCloseness  # noqa: PLC0415 - pulls in numpy

    number, attribute = _pair("-t", text)
    head, mark, kind = attribute.rpartition(":")
    t = _number("-t", number)
    if mark and kind == "equal":
        return TCloseness(t, head, distance="equal")
    if mark and kind == "kl":
        return TCloseness(t, head, distance="kl")
    if mark and kind == "ordered":
        return TCloseness(t, head, distance="ordered")
    if mark and kind == "hierarchical":
        return TCloseness(t, head, distance="hierarchical")
    return TCloseness(t, attribute)


def _own(text: str) -> Definition:
    """Return a user's own definition, given as module:object."""
    from sfumato.anonymize.definitions.definition import Definition  # noqa: PLC0415 - pulls in numpy

    found = imported("--definition", text)
    if not isinstance(found, Definition):
        raise ParameterError(
            f"--definition {text} is not a definition; it must be an instance of a subclass of "
            "sfumato's Definition, such as my_rules:promise."
        )
    return found


def imported(option: str, text: str) -> Any:
    """Import `module:name`, looking in the current folder first."""
    module, mark, name = text.partition(":")
    if not mark or not module or not name:
        raise ParameterError(f"{option} wants module:name, not '{text}'.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"{option} {text}: there is no module '{error.name}' in the current folder or "
            "installed."
        ) from None
    except AttributeError:
        raise ParameterError(f"{option} {text}: module '{module}' has no '{name}'.") from None


def _pair(option: str, text: str) -> tuple[str, str]:
    number, mark, attribute = text.partition(":")
    if not mark or not attribute:
        raise ParameterError(
            f"{option} wants a number and an attribute, such as {option} 2:diagnosis, not '{text}'."
        )
    return number, attribute


def _whole(option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ParameterError(f"{option} wants a whole number, not '{text}'.") from None


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{option} wants a number, not '{text}'.") from None
