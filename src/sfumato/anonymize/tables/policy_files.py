"""Policies as YAML files.

    policy: 1
    promise:
    - {definition: KAnonymity, k: 5}
    suppression: 0.02
    objective: LM
    levels: {age: 2, zip: 3}
    schema:
      attributes: {…}                 as in a schema file, without hierarchies that have rows
    hierarchies:
      age:
        rule: {intervals: {width: 5}}  may place new values, if no listed one moves
        rows: |
          ["37", "[35,40)", "*"]

Contract: what is written reads back as an equal policy, whatever characters the values of
the data have; messages name the file. Rows are lines of JSON in a block of text, because a
postal code has fifty thousand of them and a YAML parser needs seconds for as many lists.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import yaml

from sfumato.data.atomic import write_text_atomically
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.pinned_hierarchy import PinnedHierarchy
from sfumato.data.hierarchies.rule_specs import rows_spec, rule_of, spec_of
from sfumato.data.schema import Schema
from sfumato.data.schema_files import schema_text
from sfumato.data.wording import did_you_mean, listed
from sfumato.data.yaml_files import dump_yaml, load_yaml
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.promise import read_promise, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.tables.policy import Policy
    from sfumato.data.hierarchies.hierarchy import HierarchyRule
    from sfumato.data.schema import Attribute

VERSION = 1
KEYS = ("policy", "promise", "suppression", "objective", "levels", "schema", "hierarchies")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TITLE = """\
# How a release was made, so that the next batch is treated in the same way:
#   sfumato apply policy.yaml next.csv -s schema.yaml -o next/
# The hierarchies list values of the data. Keep this file in the house.
"""


# -- writing ---------------------------------------------------------------------------


def write_policy(policy: Policy, path: str | Path) -> None:
    """Write a policy; the file appears whole or not at all."""
    write_text_atomically(path, policy_text(policy))


def policy_text(policy: Policy) -> str:
    """Return the YAML text of a policy."""
    head = {
        "policy": VERSION,
        "promise": to_json(policy.promise),
        "suppression": policy.suppression,
        "objective": policy.objective,
        "levels": dict(policy.levels),
    }
    plain = {name: _without_rows(a) for name, a in policy.schema.attributes.items()}
    schema = policy.schema.model_copy(update={"attributes": plain})
    lines = [_TITLE, dump_yaml(head), "schema:\n", indent(schema_text(schema), "  ")]
    lines.append("hierarchies:\n")
    for name, attribute in policy.schema.attributes.items():
        lines += _hierarchy_lines(name, attribute)
    return "".join(lines)


def bound_hierarchy(attribute: Attribute) -> Hierarchy | None:
    """Return the rows of an attribute's hierarchy, where it has rows."""
    rule: HierarchyRule | None = attribute.hierarchy
    if isinstance(rule, PinnedHierarchy):
        return rule.hierarchy
    return rule if isinstance(rule, Hierarchy) else None


def _without_rows(attribute: Attribute) -> Attribute:
    if bound_hierarchy(attribute) is None:
        return attribute
    return attribute.model_copy(update={"hierarchy": None})


def _hierarchy_lines(name: str, attribute: Attribute) -> Iterator[str]:
    """Yield the entry of a hierarchy."""
    hierarchy = bound_hierarchy(attribute)
    if hierarchy is None:
        return
    spec = rows_spec(hierarchy)
    rows, spans = spec.pop("rows"), spec.pop("spans", ())
    if isinstance(attribute.hierarchy, PinnedHierarchy):
        spec["rule"] = spec_of(attribute.hierarchy.rule)
    yield f'  "{"".join(map(_escaped, name))}":\n'
    if spec:
        yield indent(dump_yaml(spec), "    ")
    for key, lines in (("spans", spans), ("rows", rows)):
        if lines:
            yield f"    {key}: |\n"
            yield from (f"      {_json(line)}\n" for line in lines)


def _escaped(character: str) -> str:
    plain = character.isprintable() and character not in '"\\'
    return character if plain else f"\\U{ord(character):08X}"


def _json(line: list[Any]) -> str:
    """Return a list as JSON; whatever YAML would not take as it is, is escaped."""
    text = json.dumps(line, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(line)


# -- reading ---------------------------------------------------------------------------


def read_policy(kind: type[Policy], path: str | Path, promise: Definition | None = None) -> Policy:
    """Read and check a policy of this class."""
    path = Path(path)
    raw = load_yaml(path, SchemaError, "Policy")
    _check_keys(raw, path)
    try:
        return kind(
            promise=_promise(path) if promise is None else promise,
            levels={name: _whole(level, name) for name, level in raw["levels"].items()},
            schema=_schema(raw, path),
            suppression=_share(raw["suppression"]),
            objective=raw["objective"],
        )
    except InputError as error:
        raise type(error)(f"Policy {path}: {error}") from None


def _check_keys(raw: Any, path: Path) -> None:
    if not isinstance(raw, dict) or "policy" not in raw:
        raise SchemaError(
            f"{path} is not a policy; `release.save` and `sfumato anonymize` write one as "
            "policy.yaml."
        )
    if raw["policy"] != str(VERSION):
        raise SchemaError(
            f"Policy {path} is of version {raw['policy']!r}, and this program reads version "
            f"{VERSION}; write it again with this program."
        )
    for key in raw:
        if key not in KEYS:
            raise SchemaError(
                f"Policy {path}: '{key}' is unknown; allowed are {listed(KEYS)}."
                f"{did_you_mean(key, KEYS)}"
            )
    for key in KEYS:
        if key not in raw:
            raise SchemaError(f"Policy {path}: '{key}' is missing.")
    for key in ("levels", "schema", "hierarchies"):
        if not isinstance(raw[key], dict):
            raise SchemaError(f"Policy {path}: '{key}' must be a mapping.")
    if not isinstance(raw["schema"].get("attributes"), dict):
        raise SchemaError(f"Policy {path}: 'schema' must have a mapping 'attributes'.")


def _promise(path: Path) -> Definition:
    """Read the promise with the types of its parameters, which the texts of `raw` lack."""
    with path.open("rb") as file:
        entries = yaml.load(file, Loader=_Loader)["promise"]  # noqa: S506 - a safe loader
    stated = read_promise(entries)
    if stated.own or stated.definition is None:
        raise ParameterError(
            "its promise is empty or has a definition of your own, which a file cannot hold; give "
            "the whole promise with Policy.read(path, promise=…)."
        )
    promise: Definition = stated.definition
    return promise


def _schema(raw: dict[str, Any], path: Path) -> Schema:
    spec, hierarchies = raw["schema"], raw["hierarchies"]
    purposes = spec.get("purposes") or []
    schema = Schema(
        attributes=spec["attributes"],
        unit=spec.get("unit") or "row",
        purposes=[purposes] if isinstance(purposes, str) else purposes,
    )
    attributes = dict(schema.attributes)
    for name, entry in hierarchies.items():
        rule = _named(rule_of(_spec(entry, name)), f"policy {path}")
        update = {"hierarchy": rule}
        attributes[name] = schema.attribute(name).model_copy(update=update)
    whole = Schema(attributes=attributes, unit=schema.unit, purposes=schema.purposes)
    return whole.named(f"Policy {path}")


def _spec(entry: Any, name: str) -> Any:
    """Return what a schema would say: lists in place of lines of JSON."""
    if not isinstance(entry, dict):
        return entry
    spec = dict(entry)
    for key in ("rows", "spans"):
        if isinstance(spec.get(key), str):
            try:
                spec[key] = [json.loads(line) for line in spec[key].splitlines()]
            except ValueError:
                raise SchemaError(
                    f"the {key} of the hierarchy of '{name}' must be lines of JSON, a list each."
                ) from None
    return spec


def _named(rule: HierarchyRule, source: str) -> HierarchyRule:
    """Return the hierarchy under the name by which messages call it."""
    if isinstance(rule, PinnedHierarchy):
        return replace(rule, hierarchy=replace(rule.hierarchy, source=source))
    return replace(rule, source=source) if isinstance(rule, Hierarchy) else rule


def _whole(text: Any, name: str) -> int:
    if not isinstance(text, str) or not text.isdecimal():
        raise SchemaError(f"the level of '{name}' must be a whole number from 0, not {text!r}.")
    return int(text)


def _share(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        raise SchemaError(f"'suppression' must be a number from 0 to 1, not {text!r}.") from None
