"""Hierarchy rules as YAML says them, and back.

    hierarchy: age.csv                        a file, relative to the schema
    hierarchy: {file: age.csv, ordered: true} the same, its leaves in a meaningful order
    hierarchy: dates                          a rule with its default options
    hierarchy: {mask: {length: 5}}            a rule with options
    hierarchy: {tree: {…}}                    a tree in place
    hierarchy: {rows: [[leaf, …, root], …]}   the same as a table
    hierarchy: {rows: […], rule: {…}}         a table whose rule may add leaves, moving none

Contract: `rule_of(spec_of(rule))` gives the same hierarchy over any values.
"""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.hierarchies.files import ENDINGS, Reach, read_rows
from sfumato.data.hierarchies.hierarchy import ROOT, Hierarchy, HierarchyRule
from sfumato.data.hierarchies.levels import Rule
from sfumato.data.hierarchies.nested_trees import tree_of_rows
from sfumato.data.hierarchies.pinned_hierarchy import PinnedHierarchy
from sfumato.data.hierarchies.rule_table import RULES, find_rule, make_rule
from sfumato.data.hierarchies.rules import Automatic
from sfumato.data.numbers import plain_scalar
from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import HierarchyError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_FORMS = (*RULES, "file", "rows", "tree")
_BY_TYPE: dict[str | None, str] = {"integer": "intervals", "number": "intervals", "date": "dates"}


def automatic_rule(type_: str | None) -> HierarchyRule:
    """Return the rule for an attribute of this type that declares none."""
    if type_ == "text":
        return Automatic(text=True)
    return make_rule(_BY_TYPE.get(type_, "automatic"), {})


def rule_of(spec: Any, *, folder: Path | None = None, files: Reach = "anywhere") -> HierarchyRule:
    """Return the hierarchy or rule that a piece of YAML describes.

    Files are found relative to `folder`; `files` says where they may lie.
    """
    if isinstance(spec, str):
        return make_rule(spec, {}) if spec in RULES else _file({"file": spec}, folder, files)
    if not isinstance(spec, dict) or not spec:
        raise HierarchyError(
            f"A hierarchy must be a file name, a rule or a mapping with one of {listed(_FORMS)}."
        )
    if "file" in spec:
        return _file(spec, folder, files)
    if "rows" in spec:
        return _rows(spec, folder, files)
    if len(spec) == 1:
        [(name, options)] = spec.items()
        if name == "tree":
            return Hierarchy.tree(options, source="the tree in the schema")
        if name in RULES:
            return make_rule(name, _options(name, options))
    unknown = next((name for name in spec if name not in _FORMS), "")
    raise HierarchyError(
        f"A hierarchy names one of {listed(_FORMS)}, but {listed(map(repr, spec))} was given."
        f"{did_you_mean(unknown, _FORMS)}"
    )


def _options(name: str, options: Any) -> Mapping[str, Any]:
    if options in ("", None):
        return {}
    if isinstance(options, dict):
        return {key: value for key, value in options.items() if value not in ("", None)}
    first = next(iter(find_rule(name).model_fields), None)
    if first is None:
        raise HierarchyError(f"Hierarchy rule '{name}' has no options.")
    return {first: options}


def _file(spec: Mapping[str, Any], folder: Path | None, files: Reach) -> Hierarchy:
    name = str(spec["file"])
    if files == "nowhere":
        raise HierarchyError(
            "This schema names no files: write a rule or the hierarchy itself, as in "
            f"{{tree: …}} or {{rows: …}}; rules are {listed(RULES)}.{did_you_mean(name, RULES)}"
        )
    path = (folder or Path()) / name
    if files == "anywhere" and not path.is_file():
        if Path(name).suffix.lower() in ENDINGS or set(spec) != {"file"}:
            raise HierarchyError(f"The hierarchy file {path} does not exist.")
        raise HierarchyError(
            f"'{name}' is neither a hierarchy file nor a rule; rules are {listed(RULES)}."
            f"{did_you_mean(name, RULES)}"
        )
    is_ordered = _is_ordered(spec, "file")
    rows = read_rows(
        path, root=ROOT, delimiter=spec.get("delimiter"),
        beneath=(folder or Path()) if files == "beneath" else None,
    )  # fmt: skip
    return Hierarchy.from_rows(rows, source=str(path), ordered=is_ordered)


def _rows(spec: Mapping[str, Any], folder: Path | None, files: Reach) -> HierarchyRule:
    rows = spec["rows"]
    if not isinstance(rows, list) or any(
        not isinstance(row, list) or any(isinstance(cell, list | dict) for cell in row)
        for row in rows
    ):
        raise HierarchyError("The 'rows' of a hierarchy must be lists that go from leaf to root.")
    spans = _spans(spec.get("spans", []))
    table = [[str(cell) for cell in row] for row in rows]
    listed_rows = Hierarchy.from_rows(
        table, source="the rows in the schema", ordered=_is_ordered(spec, "rows"), spans=spans
    )
    if "rule" not in spec:
        return listed_rows
    return PinnedHierarchy(listed_rows, rule_of(spec["rule"], folder=folder, files=files))


def _spans(given: Any) -> tuple[NDArray[np.float64], ...]:
    """Read how many values each node stands for: a list of numbers per level."""
    try:
        levels = [[float(span) for span in [*level]] for level in [*given]]
    except (TypeError, ValueError):
        levels = [[]]
    if not all(levels) or isinstance(given, str):
        raise HierarchyError(
            "The 'spans' of a hierarchy must be lists of numbers, one list per level."
        )
    return tuple(np.array(level) for level in levels)


def _is_ordered(spec: Mapping[str, Any], form: str) -> bool:
    options = {"file": ("delimiter",), "rows": ("spans", "rule")}[form]
    allowed = (form, "ordered", *options)
    for key in spec:
        if key not in allowed:
            raise HierarchyError(
                f"'{key}' is unknown beside '{form}'; allowed are {listed(allowed)}."
                f"{did_you_mean(key, allowed)}"
            )
    value = str(spec.get("ordered", "false")).lower()
    if value not in {"true", "false"}:
        raise HierarchyError(f"'ordered' must be true or false, but '{value}' was given.")
    return value == "true"


def spec_of(rule: HierarchyRule, *, folder: Path | None = None) -> Any:
    """Return what YAML should say, for a schema that will lie in `folder`."""
    if isinstance(rule, Rule):
        options = _plain(rule.model_dump(exclude_defaults=True))
        return {rule.name: options} if options else rule.name
    if isinstance(rule, Hierarchy):
        return _hierarchy_spec(rule, folder or Path())
    if isinstance(rule, PinnedHierarchy):
        return {**rows_spec(rule.hierarchy), "rule": spec_of(rule.rule, folder=folder)}
    raise ParameterError(
        f"a hierarchy rule of class {type(rule).__name__} exists only in code and cannot be "
        "written; bind it with `.over(values, name)` first."
    )


def _plain(value: Any) -> Any:
    """Return options as YAML should show them: numbers as numbers, where nothing is lost."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return plain_scalar(value) if isinstance(value, Decimal) else value


def _hierarchy_spec(hierarchy: Hierarchy, folder: Path) -> Any:
    rows = hierarchy.rows()
    path = Path(hierarchy.source)
    if path.suffix.lower() in ENDINGS and path.is_file() and Hierarchy.read(path).rows() == rows:
        name = Path(os.path.relpath(path, folder)).as_posix()
        return {"file": name, "ordered": True} if hierarchy.ordered else name
    tree = tree_of_rows(rows)
    if tree is not None and not hierarchy.ordered and not hierarchy.spans:
        return {"tree": tree}
    return rows_spec(hierarchy)


def rows_spec(hierarchy: Hierarchy) -> dict[str, Any]:
    """Return the table of a hierarchy with what else is known of it."""
    spec: dict[str, Any] = {"rows": [list(row) for row in hierarchy.rows()]}
    if hierarchy.ordered:
        spec["ordered"] = True
    if hierarchy.spans:
        spec["spans"] = [level.tolist() for level in hierarchy.spans]
    return spec
