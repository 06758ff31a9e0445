"""What a file of traces means, written down: the schema of a file of points.

A YAML file with any of `unit`, `gap`, `degrees`, `bounds` and the names of the columns:

    unit: trip
    bounds: [-122.52, -122.36, 37.70, 37.82]
    person: user_id
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.data.wording import did_you_mean, listed
from sfumato.data.yaml_files import load_yaml
from sfumato.errors import SchemaError

COLUMNS = ("person", "x", "y", "time", "trip")
KNOWN = ("unit", "gap", "degrees", "bounds", *COLUMNS)


def read_settings(schema: Any) -> dict[str, Any]:
    """Return the options of `read_trajectories` that a file or a mapping states."""
    if isinstance(schema, str | Path):
        schema = load_yaml(schema, SchemaError, "The schema")
    if not isinstance(schema, Mapping):
        raise SchemaError(f"The schema of traces is a mapping with any of {listed(KNOWN)}.")
    for name in schema:
        if name not in KNOWN:
            raise SchemaError(
                f"The schema of traces has no entry '{name}'; there are {listed(KNOWN)}."
                f"{did_you_mean(str(name), KNOWN)}"
            )
    return {name: _value(name, value) for name, value in schema.items()}


def _value(name: str, value: Any) -> Any:
    if name == "gap":
        return _number(name, value)
    if name == "bounds":
        if isinstance(value, str):
            value = [part for part in value.replace(",", " ").split() if part]
        return [_number(name, end) for end in value]
    if name == "degrees" and isinstance(value, str):
        if value.lower() not in {"true", "false", "yes", "no"}:
            raise SchemaError(f"degrees is true or false, not '{value}'.")
        return value.lower() in {"true", "yes"}
    return value


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise SchemaError(f"'{name}' in the schema of traces needs numbers.") from None
