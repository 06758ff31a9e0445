"""Guarantees as plain JSON, exactly, so that a limit reads back as it was stated.

Contract: parameters are the decimals they print as, in text; neighbours are unbounded, and their
unit is a row, a person, or the rows that share a value of a column, with its bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.dp.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sfumato.dp.neighbours import Neighbours, Person, PrivacyUnit, Row, Unit
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARAMETERS: dict[type[Guarantee], tuple[str, ...]] = {
    PureDP: ("epsilon",),
    ApproxDP: ("epsilon", "delta"),
    ZCDP: ("rho",),
}
_KINDS = {kind.__name__: kind for kind in _PARAMETERS}
_UNITS = {unit.__name__: unit for unit in (Row, Person, Unit)}


def guarantee_to_json(guarantee: Guarantee) -> dict[str, Any]:
    """Give a guarantee as plain JSON."""
    names = _PARAMETERS.get(type(guarantee))
    if names is None:
        raise ParameterError(
            f"A budget is {', '.join(_KINDS)}, and {type(guarantee).__name__} was given."
        )
    return {
        "kind": type(guarantee).__name__,
        "unit": _unit_to_json(guarantee.unit),
        **{name: repr(getattr(guarantee, name)) for name in names},
    }


def guarantee_from_json(entry: Mapping[str, Any]) -> Guarantee:
    """Read what :func:`guarantee_to_json` gave."""
    kind = _KINDS[entry["kind"]]
    words = dict(entry["unit"])
    unit = _UNITS[words.pop("unit")](**words)
    numbers = {name: float(entry[name]) for name in _PARAMETERS[kind]}
    return kind(**numbers, neighbours=Neighbours("unbounded", unit))


def _unit_to_json(unit: PrivacyUnit) -> dict[str, Any]:
    if type(unit).__name__ not in _UNITS:
        raise ParameterError(
            f"The privacy unit of a ledger's limit is Row, Person or Unit, and "
            f"{type(unit).__name__} was given."
        )
    return {"unit": type(unit).__name__, **vars(unit)}
