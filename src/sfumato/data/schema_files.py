"""Schemas as YAML files beside the data.

    attributes:
      name: identifier
      age: {role: quasi, type: integer, hierarchy: {intervals: {width: 5}}}
      zip: {role: quasi, hierarchy: {mask: {length: 5}}, weight: 2}
      disease: {role: sensitive, hierarchy: disease.csv}
    unit: row
    purposes: [research]
    public_types: [age]     # or true: what the cells of a column look like may be known

Contract: reading checks everything that can be checked without the data and names file and
attribute in every message; writing appears whole or not at all and reads back as it was.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.atomic import write_text_atomically
from sfumato.data.domains import Range
from sfumato.data.hierarchies.rule_specs import spec_of
from sfumato.data.numbers import plain_scalar
from sfumato.data.wording import did_you_mean, listed
from sfumato.data.yaml_files import dump_entry, load_yaml, parse_yaml
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.data.hierarchies.hierarchy import HierarchyRule
    from sfumato.data.schema import Attribute, Schema

KEYS = ("attributes", "unit", "purposes", "public_types")


def load_schema(path: Path, text: str | None = None) -> dict[str, Any]:
    """Load a schema and check all but its attributes; `Schema.read` reads those.

    `text` is its content, where it does not lie in the file yet.
    """
    if text is None:
        raw = load_yaml(path, SchemaError, "Schema")
    else:
        raw = parse_yaml(text, SchemaError, f"Schema {path}")
    if not isinstance(raw, dict) or not isinstance(raw.get("attributes"), dict):
        raise SchemaError(
            f"Schema {path} has no attributes; it needs a mapping 'attributes' with one entry per "
            "column, for instance 'age: quasi'. `sfumato inspect` writes one from the data."
        )
    for key in raw:
        if key not in KEYS:
            raise SchemaError(
                f"Schema {path}: '{key}' is unknown; allowed are {listed(KEYS)}."
                f"{did_you_mean(key, KEYS)}"
            )
    unit = _text(raw.get("unit") or "row", "unit", path)
    return {
        "attributes": raw["attributes"],
        "unit": unit,
        "purposes": _texts(raw, "purposes", path),
        "public_types": raw.get("public_types") == "true" or _texts(raw, "public_types", path),
    }


def _text(value: Any, key: str, path: Path) -> str:
    if not isinstance(value, str):
        raise SchemaError(f"Schema {path}: '{key}' must be a single text.")
    return value


def _texts(raw: dict[str, Any], key: str, path: Path) -> tuple[str, ...]:
    value = raw.get(key) or []
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        raise SchemaError(f"Schema {path}: '{key}' must be a list of texts.")
    return tuple(_text(item, key, path) for item in items)


def write_schema(schema: Schema, path: str | Path, *, replace: bool = True) -> None:
    """Write the schema; hierarchies that came from unchanged files stay references to them."""
    write_text_atomically(path, schema_text(schema, Path(path).parent), replace=replace)


def schema_text(
    schema: Schema,
    folder: Path | None = None,
    *,
    comments: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the YAML text of a schema that will lie in `folder`, with comments per attribute."""
    comments = comments or {}
    lines = ["attributes:"]
    for name, attribute in schema.attributes.items():
        lines += [f"  # {line}" for line in comments.get(name, ())]
        entry = dump_entry(name, _attribute_spec(name, attribute, folder))
        lines += [f"  {line}" for line in entry.splitlines()]
    lines += dump_entry("unit", schema.unit).splitlines()
    if schema.purposes:
        lines += dump_entry("purposes", list(schema.purposes)).splitlines()
    if schema.public_types:
        named = schema.public_types
        told = named if isinstance(named, bool) else list(named)
        lines += dump_entry("public_types", told).splitlines()
    return "\n".join(lines) + "\n"


def _attribute_spec(name: str, attribute: Attribute, folder: Path | None) -> Any:
    spec: dict[str, Any] = {"role": attribute.role}
    if attribute.type is not None:
        spec["type"] = attribute.type
    if attribute.hierarchy is not None:
        spec["hierarchy"] = _rule_spec(name, attribute.hierarchy, folder)
    if isinstance(attribute.domain, Range):
        low, high = attribute.domain.low, attribute.domain.high
        spec["domain"] = {"low": plain_scalar(low), "high": plain_scalar(high)}
    elif attribute.domain is not None:
        spec["domain"] = list(attribute.domain)
    if attribute.separator != "|":
        spec["separator"] = attribute.separator
    if attribute.linkable is not None:
        spec["linkable"] = attribute.linkable
    if attribute.origin != "declared":
        spec["from"] = attribute.origin
    if attribute.weight != 1:
        spec["weight"] = attribute.weight
    return attribute.role if len(spec) == 1 else spec


def _rule_spec(name: str, rule: HierarchyRule, folder: Path | None) -> Any:
    try:
        return spec_of(rule, folder=folder)
    except ParameterError as error:
        raise SchemaError(f"Attribute '{name}': {error}") from None
