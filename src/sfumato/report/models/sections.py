"""The model card: what a model is, what it was told, how it looks, how noisy it is.

Everything on it was published by the fit or is public, so the card of a model, unlike other
reports, compares with no data.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sfumato.report.section import Fact, TemplateSection

if TYPE_CHECKING:
    from sfumato.report.section import Page

_MOST_VALUES = 12
_FEW_CLASSES = 3  # more do not fit into a box
_HIDDEN = {
    "model", "predicts", "classes", "columns", "noise", "architecture", "plan", "training",
}  # fmt: skip


def _facts(page: Page) -> list[Fact]:
    told = page.release.artefact.manifest()
    facts = [Fact("Columns", str(len(told["columns"])))] if told.get("columns") else []
    if told.get("predicts"):
        facts.append(Fact("Predicts", str(told["predicts"])))
    if told.get("classes"):
        classes = told["classes"]
        few = len(classes) <= _FEW_CLASSES
        facts.append(Fact("Classes", _listed(classes) if few else str(len(classes))))
    return facts


def _card(page: Page) -> dict[str, Any]:
    told = page.release.artefact.manifest()
    return {
        "told": told,
        "kind": kind_in_words(told["model"]),
        "classes": _listed(told["classes"]) if told.get("classes") else "",
        "columns": [(str(column["name"]), _declared(column)) for column in told.get("columns", ())],
        "plan": told.get("plan"),
        "architecture": told.get("architecture"),
        "notes": [_note(name, value) for name, value in told.items() if name not in _HIDDEN],
    }


def _note(name: str, value: Any) -> tuple[str, str]:
    """Write what was said of a model beside the rest; of lists, what is in them."""
    words = "left out, as nothing is declared of them" if name == "left_out" else name
    return words, _listed(list(value)) if isinstance(value, list | tuple) else str(value)


def _looks(page: Page) -> dict[str, Any] | None:
    model = page.release.artefact.data
    if not hasattr(model, "picture"):
        return None
    drawn = Markup(model.picture())  # noqa: S704 - drawn by our own code, which escapes
    return {"picture": drawn, "shapes": hasattr(model, "shapes_")}


def _noise(page: Page) -> dict[str, Any] | None:
    noise = page.release.artefact.manifest().get("noise")
    if not noise:
        return None
    return {"noise": [(name, f"{size:.4g}") for name, size in noise.items()]}


def kind_in_words(name: str) -> str:
    """Take the name of a class apart: AdditiveClassifier is an additive classifier."""
    words = re.findall(r"[A-Z]{2,}|[A-Z][a-z0-9]*|[a-z0-9_]+", name)
    return " ".join([*words[:1], *(word.lower() for word in words[1:])])


def _declared(column: dict[str, Any]) -> str:
    if "values" in column:
        return f"one of {_listed(column['values'])}"
    low, high = column["bounds"]
    kind = "whole number" if column.get("whole") else "number"
    return f"{kind} from {low:g} to {high:g}; others count as the nearest of these"


def _listed(values: list[Any]) -> str:
    shown = ", ".join(map(str, values[:_MOST_VALUES]))
    more = len(values) - _MOST_VALUES
    return f"{shown} and {more} more" if more > 0 else shown


CARD = (
    TemplateSection("model", "What the model is", "models/card.html", _card, _facts),
    TemplateSection("looks", "How the model looks", "models/looks.html", _looks),
    TemplateSection("noise", "How noisy it is", "models/noise.html", _noise),
)
