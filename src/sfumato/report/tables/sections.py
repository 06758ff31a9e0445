"""The sections of a table's report: classes, attributes, risk, trade-off, lattice, details.

Everything but the verification comes from counts of distinct tuples, so a page costs the same for a
thousand people and for ten million in as many combinations. Sensitive attributes appear by name
and measure only, never with their values.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sfumato.anonymize.loss.measures import raw_values
from sfumato.anonymize.tables.recoding import FullDomain
from sfumato.audit.risk import reidentification_risk
from sfumato.data.wording import some
from sfumato.report import figures
from sfumato.report.section import Fact, Page, TemplateSection
from sfumato.report.settings import settings_rows
from sfumato.report.svg import Series, histogram
from sfumato.report.tables.attribute_changes import attribute_changes
from sfumato.report.tables.class_sizes import original_sizes, size_bins
from sfumato.report.tables.lattice_view import lattice_view
from sfumato.report.tables.reasons import steps_down
from sfumato.report.tables.risk_change import risk_chart, risk_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.release import Release

MEASURES = {
    "LM": "loss metric: how many of an attribute's values each released label could stand for",
    "MD": "distortion: generalisation steps taken, of those possible",
    "NUE": "non-uniform entropy: how uncertain the original value is, given the released label",
    "DM": "discernibility: how many others each record cannot be told from; a suppressed "
    "record cannot be told from anybody",
    "AECS": "average class size, as a share of all records",
}


@dataclass(frozen=True)
class HierarchyUse:
    """Which hierarchy an attribute was generalised by, and how far."""

    attribute: str
    source: str
    values: int
    levels: int
    released: str
    weight: float


def _checked(page: Page) -> Any:
    """Return the verification, which for tables has classes and risk."""
    return page.checked


def _classes(page: Page) -> dict[str, Any]:
    """Gather class sizes, from the released file."""
    after = _checked(page).evidence.sizes
    bins = size_bins(after, start=int(after.min()))
    decision = page.release.decision
    problem = decision.problem
    return {
        "bins": bins,
        "size_chart": _size_chart(bins),
        "largest_class": int(after.max(initial=0)),
        "raw": raw_values(problem.table, problem.hierarchies, decision.recoding),
    }


def _size_chart(bins: Any) -> Markup:
    classes = Series(
        "classes", "after", tuple(b.classes for b in bins), tuple(f"{b.classes:,}" for b in bins)
    )
    told = "; ".join(f"{b.label} records: {some(b.classes, 'class', 'classes')}" for b in bins)
    return histogram([b.tick for b in bins], [classes], label=f"Classes by size. {told}.")


def _sizes_before(page: Page) -> NDArray[np.int64]:
    """Return how many people shared each combination of original values."""
    decision = page.release.decision
    if decision.people is None:
        return original_sizes(decision.problem)
    from sfumato.anonymize.tables.people.release import original_people  # noqa: PLC0415 - rarely needed

    return original_people(decision.people)


def _risk_rows(page: Page) -> Any:
    before = _sizes_before(page)
    return risk_rows(reidentification_risk(before), _checked(page).risk)


def _risk(page: Page) -> dict[str, Any]:
    """Gather risk: after from the released file, before from the counts."""
    before = _sizes_before(page)
    after = _checked(page).evidence.sizes
    return {"risks": _risk_rows(page), "risk_chart": risk_chart(before, after)}


def _attributes(page: Page) -> dict[str, Any]:
    """Gather what each attribute lost, and why: by level, or class by class."""
    problem, recoding = page.release.decision.problem, page.release.decision.recoding
    found = {"problem": problem, "changes": attribute_changes(problem, recoding)}
    if isinstance(recoding, FullDomain):
        steps = {step.attribute: step for step in steps_down(problem, recoding)}
        return found | {"steps": steps, "local": {}, "examples": ()}
    from sfumato.report.tables.local_reasons import (  # noqa: PLC0415 - for classes alone
        LocalClasses,
        class_examples,
        local_reasons,
    )

    classes = LocalClasses(problem, recoding)
    reasons = {reason.attribute: reason for reason in local_reasons(classes)}
    return found | {"steps": {}, "local": reasons, "examples": class_examples(classes)}


def _trade_off(page: Page) -> dict[str, Any] | None:
    sweep = page.options.get("sweep")
    if sweep is None:
        return None
    from sfumato.report.tables.trade_off import trade_off  # noqa: PLC0415 - rarely wanted

    return {"trade_off": trade_off(sweep, page.release)}


def _lattice(page: Page) -> dict[str, Any] | None:
    problem, recoding = page.release.decision.problem, page.release.decision.recoding
    view = lattice_view(problem, recoding) if isinstance(recoding, FullDomain) else None
    return None if view is None else {"lattice": view, "problem": problem}


def _details(page: Page) -> dict[str, Any]:
    return {
        "problem": page.release.decision.problem,
        "measures": MEASURES,
        "hierarchies": _hierarchies(page.release),
        "settings": settings_rows(page.release),
    }


def _hierarchies(release: Release) -> tuple[HierarchyUse, ...]:
    problem, recoding = release.decision.problem, release.decision.recoding
    uses = []
    for a, (name, h) in enumerate(zip(problem.table.quasi_names, problem.hierarchies, strict=True)):
        released = (
            f"level {recoding.levels[a]}" if isinstance(recoding, FullDomain) else "per class"
        )
        weight = release.schema.attribute(name).weight
        uses.append(HierarchyUse(name, Path(h.source).name, h.size, h.height, released, weight))
    return tuple(uses)


def _facts(page: Page) -> list[Fact]:
    """Say how large the smallest class is, and how risk has changed."""
    checked, worst = _checked(page), _risk_rows(page)[0]
    smallest, classes = checked.found["k"], some(checked.classes, "class", "classes")
    return [
        Fact("smallest class", figures.count(smallest), f"in {classes}"),
        Fact("highest risk", worst.after, f"{worst.before} before"),
    ]


def _columns(page: Page) -> list[str | Markup]:
    """Say which columns were left out, released as they are, or hidden by pseudonyms."""
    release = page.release
    changed = {*release.schema.quasi_names, *release.pseudonyms}
    untouched = [column for column in release.rows.columns if column not in changed]
    told = Markup("<b>Columns left out:</b> {}. <b>Released as they are:</b> {}.").format(
        ", ".join(release.left_out) or "none", ", ".join(untouched) or "none"
    )
    if release.pseudonyms:
        hidden = Markup(" <b>Replaced by keyed pseudonyms:</b> {}.")
        told += hidden.format(", ".join(release.pseudonyms))
    return [told]


SECTIONS = (
    TemplateSection("classes", "Class sizes", "tables/classes.html", _classes, _facts, _columns),
    TemplateSection(
        "attributes", "What each attribute lost", "tables/attributes.html", _attributes
    ),
    TemplateSection("risk", "Risk", "tables/risk.html", _risk),
    TemplateSection("trade-off", "Trade-off", "tables/trade_off.html", _trade_off),
    TemplateSection("lattice", "Lattice", "tables/lattice.html", _lattice),
    TemplateSection("details", "Details", "tables/details.html", _details),
)
"""In the order in which they are read; the page puts attacks after the risk."""
