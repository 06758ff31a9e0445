"""The page of a release: gather everything it says, then fill the template.

`write_report` checks the release as anybody could, from its rows and schema; everything else
comes from counts of distinct tuples, so a page costs the same for a thousand people and for
ten million in as many combinations. The page compares with the original data: it is for
the data steward, and it says so. Sensitive attributes appear by name and measure only,
never with their values.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato import __version__
from sfumato.anonymize.loss.measures import raw_values
from sfumato.anonymize.tables.recoding import FullDomain
from sfumato.audit.risk import reidentification_risk
from sfumato.data.atomic import write_text_atomically
from sfumato.data.wording import some
from sfumato.promise import in_words
from sfumato.report.attribute_changes import attribute_changes
from sfumato.report.class_sizes import original_sizes, size_bins
from sfumato.report.lattice_view import lattice_view
from sfumato.report.local_reasons import LocalClasses, class_examples, local_reasons
from sfumato.report.page_templates import page_template
from sfumato.report.reasons import steps_down
from sfumato.report.risk_change import risk_chart, risk_rows
from sfumato.report.svg import Series, bar, histogram
from sfumato.report.trade_off import trade_off

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markupsafe import Markup

    from sfumato.attack.prechecks import Precheck
    from sfumato.audit.verification.verify import Verification
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


def write_report(
    release: Release,
    path: str | Path,
    *,
    sweep: Iterable[tuple[int, float | None, int | None]] | None = None,
    verification: Verification | None = None,
    precheck: Precheck | None = None,
) -> Path:
    """Write the one-page report of a release; returns its path.

    `sweep` gives points (k, loss, suppressed) for the trade-off curve, as `sweep_release`
    returns them. `verification` is the check of the released file where it was done already;
    `precheck` adds what an attacker sees.
    """
    target = Path(path)
    page = render(release, sweep=sweep, verification=verification, precheck=precheck)
    write_text_atomically(target, page)
    return target


def render(
    release: Release,
    *,
    sweep: Iterable[tuple[int, float | None, int | None]] | None = None,
    verification: Verification | None = None,
    precheck: Precheck | None = None,
) -> str:
    """Return the page as text."""
    checked = release.verify() if verification is None else verification
    problem, recoding = release.decision.problem, release.decision.recoding
    facts: dict[str, Any] = {
        "release": release,
        "problem": problem,
        "record": recoding.record,
        "checked": checked,
        "version": __version__,
        "promise": [str(part) for part in release.promise.parts],
        "sentences": in_words(release.promise, release.schema.quasi_names),
        "measures": MEASURES,
        "raw": raw_values(problem.table, problem.hierarchies, recoding),
        "changes": attribute_changes(problem, recoding),
        "hierarchies": _hierarchies(release),
        "settings": _settings(release),
        "untouched": _untouched(release),
        "trade_off": None if sweep is None else trade_off(sweep, release),
        "attacks": None if precheck is None else _attacks(precheck),
        **_classes(release, checked),
        **_reasons(release),
    }
    return page_template("release.html", bar=bar, some=some).render(facts)


def _attacks(precheck: Precheck) -> Markup:
    from sfumato.report.attack_section import section  # noqa: PLC0415 - loads every attack

    return section(precheck)


def _classes(release: Release, checked: Verification) -> dict[str, Any]:
    """Gather class sizes and risk: after from the released file, before from the counts."""
    after, before = checked.evidence.sizes, original_sizes(release.decision.problem)
    bins = size_bins(after, start=int(after.min()))
    return {
        "bins": bins,
        "size_chart": _size_chart(bins),
        "risks": risk_rows(reidentification_risk(before), checked.risk),
        "risk_chart": risk_chart(before, after),
        "largest_class": int(after.max(initial=0)),
    }


def _size_chart(bins: Any) -> Markup:
    classes = Series(
        "classes", "after", tuple(b.classes for b in bins), tuple(f"{b.classes:,}" for b in bins)
    )
    told = "; ".join(f"{b.label} records: {some(b.classes, 'class', 'classes')}" for b in bins)
    return histogram([b.tick for b in bins], [classes], label=f"Classes by size. {told}.")


def _reasons(release: Release) -> dict[str, Any]:
    """Gather why the release is as coarse as it is: by level, or class by class."""
    problem, recoding = release.decision.problem, release.decision.recoding
    if isinstance(recoding, FullDomain):
        return {
            "steps": {step.attribute: step for step in steps_down(problem, recoding)},
            "local": {},
            "examples": (),
            "lattice": lattice_view(problem, recoding),
        }
    classes = LocalClasses(problem, recoding)
    return {
        "steps": {},
        "local": {reason.attribute: reason for reason in local_reasons(classes)},
        "examples": class_examples(classes),
        "lattice": None,
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


def _untouched(release: Release) -> list[str]:
    """Return the columns whose cells are released as they were."""
    changed = {*release.schema.quasi_names, *release.pseudonyms}
    return [column for column in release.rows.columns if column not in changed]


def _settings(release: Release) -> tuple[tuple[str, str], ...]:
    """Return what was asked for, then what the search reports of itself."""
    facts = release.decision.recoding.record.facts
    asked = [(name, _shown(value)) for name, value in release.settings.items()]
    return (*asked, *((f"search: {name}", _shown(value)) for name, value in facts.items()))


def _shown(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
