"""The form of a release, of any shape: its fields are those of the models that the API reads.

A promise has a field for every definition that makes sense for the shape, in the words in which the
command line takes it; options of the shape have one for each field of the shape's own model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato.promise import BUILT_IN, built_in
from sfumato.requests.promises import options, read_texts
from sfumato.requests.publish import MODELS
from sfumato.requests.releases import KINDS, ReleaseRequest, kinds_for
from sfumato.requests.synthesize import ShapedSynthesize, read_values
from sfumato.service.held import algorithms_of, is_table
from sfumato.service.pages.frame import listed, page
from sfumato.shape import TABLE, find_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.service.call import Call

_EMPTY = {
    "kind": "anonymize", "l": "", "t": "", "sensitive": "", "algorithm": "", "suppression": "0.02",
    "purpose": "", "epsilon": "", "delta": "", "columns": "", "many": "10", "target": "",
    "bins": "", "bounds": "", "values": "", "where": "", "model": "additive", "items": "",
    "time_limit": "", "counts": "", "cells": "", "search": "", "size": "",
}  # fmt: skip
_QUICK = {"k", "diversity", "closeness"}
_NEED_A_POPULATION = {"k_map", "presence"}
_LABELS = {
    "trees": ("Label whose values win", "as in visits.ward"),
    "graph": ("Attribute of nodes", "empty: nodes win by their number of edges"),
}
_FIRST = {"graph": {"k_degree": "5"}, "sets": {"km": "5:2"}}
_TABLE_ALGORITHMS = {
    "optimal": "optimal: best full-domain, proven", "local": "local: each class its own values",
    "mondrian": "mondrian", "cluster": "cluster", "topdown": "topdown",
    "cells": "cells: suppress single cells", "auto": "auto: the best of what is cheap here",
}  # fmt: skip


class Field(NamedTuple):
    """One field of a form."""

    name: str
    label: str
    hint: str
    value: str


def promise_fields(shape: str, given: Mapping[str, str]) -> list[Field]:
    """Give a field for every promise that can be made about data of a shape."""
    fitting = {}
    for name in BUILT_IN:
        kind = built_in(name)
        shapes = getattr(kind, "shapes", None)
        if kind.option is not None and (shapes is None or shape in shapes):
            fitting[kind.option.name] = kind.option
    hidden = _NEED_A_POPULATION | (_QUICK - {"k"} if is_table(shape) else set())
    usual = _FIRST.get(shape, {"k": "5"})
    found = []
    for name, option in fitting.items():
        if name in hidden:
            continue
        title, _, rest = option.help.partition(":")
        words = rest.replace("; may be repeated", "").strip() or option.help
        hint = f"{option.metavar.replace('<int>', 'K')}: {words}"
        shown = given.get(f"p-{name}", "" if given else usual.get(name, ""))
        found.append(Field(f"p-{name}", title, hint, shown))
    return sorted(found, key=lambda field: field.name.removeprefix("p-") not in usual)


def option_fields(models: Mapping[str, Any], key: str, given: Mapping[str, str]) -> list[Field]:
    """Give a field for every option that a shape states."""
    model = models.get(key)
    if model is None:
        return []
    return [
        Field(f"o-{name}", name.replace("_", " "), field.description or "",
              given.get(f"o-{name}", ""))
        for name, field in model.model_fields.items()
        if name not in {"seed", "listed", "trips"}
    ]  # fmt: skip


def show_form(call: Call, roles: Mapping[str, str], status: int = 200, **facts: Any) -> Response:
    """Show the forms of what can be made of a dataset."""
    name = call.path["dataset"]
    shape = call.house.listed(name).facts.shape
    registration = call.house.reader.registration(name)
    typed: dict[str, str] = facts.pop("given", {})
    kinds = kinds_for(shape)[1:]
    algorithms = (
        _TABLE_ALGORITHMS if shape == TABLE else {known: known for known in algorithms_of(shape)}
    )
    shown: dict[str, Any] = {"wrong": ""} | facts
    return page(
        call, "release_form.html", status, title=f"Release {name}", name=name, shape=shape,
        given=_EMPTY | typed, roles=roles, rows=is_table(shape), labels=_LABELS,
        models=[(model, model) for model in MODELS],
        purposes=() if registration is None else registration.purposes,
        promises=promise_fields(shape, typed), algorithms=algorithms.items(),
        options=option_fields(find_shape(shape).options, "anonymize", typed),
        copying=option_fields(ShapedSynthesize.own_models, shape, typed),
        kinds=[(kind, KINDS[kind]) for kind in kinds], **shown,
    )  # fmt: skip


def _promise(given: Mapping[str, str]) -> Definition | None:
    texts: dict[str, Any] = {
        name.removeprefix("p-"): value
        for name, value in given.items()
        if name.startswith("p-") and value
    }
    for quick, name in (("l", "diversity"), ("t", "closeness")):
        if given.get(quick):
            texts[name] = f"{given[quick]}:{given.get('sensitive', '')}"
    several = {option.name for option in options() if option.several}
    whole = {name: [text] if name in several else text for name, text in texts.items()}
    return read_texts(whole, options())


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_form(given: Mapping[str, str]) -> ReleaseRequest:
    """Read the form as the model that the API reads."""
    kind = given.get("kind", "anonymize")
    said = {
        name.removeprefix("o-"): listed(value) if name == "o-keep" else value
        for name, value in given.items()
        if name.startswith("o-") and value
    }
    whole: dict[str, Any] = {"kind": kind, "purpose": given.get("purpose") or None, "options": said}
    if kind == "anonymize":
        whole |= {"promise": _promise(given), "algorithm": given.get("algorithm") or None,
                  "suppression": given.get("suppression") or 0,
                  "time_limit": given.get("time_limit") or None}  # fmt: skip
        return ReleaseRequest.of(whole)
    columns, target = listed(given.get("columns", "")), given.get("target") or None
    values = _public_values(given, columns)
    whole |= {"epsilon": given.get("epsilon") or None, "delta": given.get("delta") or None,
              "columns": columns, "k": given.get("many") or 10, "cells": given.get("cells") or None,
              "target": target, "model": given.get("model") or "additive",
              "classes": values.get(target) if kind == "train" and target else None,
              "bins": _lines(given.get("bins", "")), "bounds": _lines(given.get("bounds", "")),
              "values": values, "where": given.get("where") or None,
              "counts": bool(given.get("counts")), "search": given.get("search") or None,
              "size": given.get("size") or None,
              }  # fmt: skip
    return ReleaseRequest.of({name: value for name, value in whole.items() if value != []})


def _public_values(given: Mapping[str, str], columns: list[str]) -> dict[str, list[str]]:
    """Read public lists: of columns, or one list of items or of what can win."""
    items = listed(given.get("items", ""))
    if items:
        return {columns[0] if columns else "items": items}
    return read_values(_lines(given.get("values", "")))
