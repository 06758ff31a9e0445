"""Guarantees and privacy units as plain JSON, exactly, so that they read back as they were stated.

Contract: ``guarantee_from_json(guarantee_to_json(g)) == g`` for every kind of guarantee, every unit
and both relations. Parameters are the decimals they print as, in text. What was written before
relations were (version 1: unbounded neighbours only) reads as unbounded.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sfumato.dp import neighbours as units
from sfumato.dp.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, LocalDP, PureDP
from sfumato.dp.neighbours import Group, Neighbours, PrivacyUnit
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARAMETERS: dict[type[Guarantee], tuple[str, ...]] = {
    PureDP: ("epsilon",),
    ApproxDP: ("epsilon", "delta"),
    ZCDP: ("rho",),
    GDP: ("mu",),
    LocalDP: ("epsilon",),
    RDP: (),
}
_KINDS = {kind.__name__: kind for kind in _PARAMETERS}
_UNITS: dict[str, type[PrivacyUnit]] = {unit.__name__: unit for unit in units.ALL}


def guarantee_to_json(guarantee: Guarantee) -> dict[str, Any]:
    """Give a guarantee as plain JSON."""
    names = _PARAMETERS.get(type(guarantee))
    if names is None:
        raise ParameterError(
            f"A guarantee that can be written is one of {', '.join(_KINDS)}, and "
            f"{type(guarantee).__name__} was given."
        )
    entry: dict[str, Any] = {
        "kind": type(guarantee).__name__,
        "unit": unit_to_json(guarantee.unit),
        **{name: repr(getattr(guarantee, name)) for name in names},
    }
    if guarantee.neighbours.bounded:
        entry["relation"] = "bounded"
    if isinstance(guarantee, RDP):
        entry["curve"] = [[repr(alpha), repr(epsilon)] for alpha, epsilon in guarantee.curve]
    return entry


def guarantee_from_json(entry: Mapping[str, Any]) -> Guarantee:
    """Read what :func:`guarantee_to_json` gave."""
    kind = _KINDS[entry["kind"]]
    near = Neighbours(entry.get("relation", "unbounded"), unit_from_json(entry["unit"]))
    if kind is RDP:
        curve = tuple((float(alpha), float(epsilon)) for alpha, epsilon in entry["curve"])
        return RDP(curve, neighbours=near)
    numbers = {name: float(entry[name]) for name in _PARAMETERS[kind]}
    return kind(**numbers, neighbours=near)


def unit_to_json(unit: PrivacyUnit) -> dict[str, Any]:
    """Give a privacy unit as plain JSON."""
    if isinstance(unit, Group):
        return {"unit": "Group", "of": unit_to_json(unit.unit), "size": unit.size}
    if type(unit).__name__ not in _UNITS:
        raise ParameterError(
            f"A privacy unit that can be written is one of {', '.join(_UNITS)} or Group, and "
            f"{type(unit).__name__} was given."
        )
    return {"unit": type(unit).__name__, **{f.name: getattr(unit, f.name) for f in fields(unit)}}


def unit_from_json(entry: Mapping[str, Any]) -> PrivacyUnit:
    """Read what :func:`unit_to_json` gave."""
    words = dict(entry)
    name = words.pop("unit")
    if name == "Group":
        return Group(unit_from_json(words["of"]), words["size"])
    return _UNITS[name](**words)
