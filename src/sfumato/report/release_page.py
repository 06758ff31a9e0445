"""The page of a release: gather everything it says, section by section.

`write_report` checks the release as anybody could, from its file and schema. Which sections there
are is the shape's business; evidence, attacks and details are the same for all. The page may
compare with the original data: it is for the data steward, and it says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sfumato import __version__
from sfumato.data.atomic import write_text_atomically
from sfumato.data.wording import some
from sfumato.promise import in_words, is_guarantee
from sfumato.report import figures
from sfumato.report.page_templates import page_template
from sfumato.report.section import Fact, Page, TemplateSection
from sfumato.report.settings import settings_rows
from sfumato.shape import find_shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.attack.prechecks import Precheck
    from sfumato.audit.verification.verify import Verification
    from sfumato.release import Release
    from sfumato.report.section import Section


@dataclass(frozen=True)
class AttackSection:
    """What an attacker sees, where that was tried."""

    anchor: str = "attacks"
    title: str = "Attacks"

    def render(self, page: Page) -> Markup | None:
        """Show the attacks."""
        if page.precheck is None:
            return None
        from sfumato.report.attack_section import section  # noqa: PLC0415 - loads every attack

        return section(page.precheck)


@dataclass(frozen=True)
class _Shown:
    anchor: str
    title: str
    markup: Markup


def write_report(release: Release, path: str | Path, **options: Any) -> Path:
    """Write the one-page report of a release; returns its path.

    `verification` is the check of the released file where it was done already; `precheck` adds what
    an attacker sees. For tables, `sweep` gives points (k, loss, suppressed) for the trade-off
    curve, as `sweep_release` returns them.
    """
    target = Path(path)
    write_text_atomically(target, render(release, **options))
    return target


def render(
    release: Release,
    *,
    verification: Verification | None = None,
    precheck: Precheck | None = None,
    **options: Any,
) -> str:
    """Return the page as text."""
    checked = release.verify() if verification is None else verification
    page, form = Page(release, checked, precheck, options), find_shape(release.shape)
    sections = tuple(_sections(release))
    shown = [
        _Shown(section.anchor, section.title, markup)
        for section in sections
        if (markup := section.render(page)) is not None
    ]
    return page_template("release.html", some=some).render(
        release=release,
        checked=checked,
        version=__version__,
        title=form.report_title,
        open_report=form.open_report and precheck is None,
        sections=shown,
        facts=[*_facts(page), *(f for s in sections for f in getattr(s, "facts", _none)(page))],
        remarks=[
            *_remarks(page),
            *(r for s in sections for r in getattr(s, "remarks", _none)(page)),
        ],
        **_promise(page),
    )


def _none(_: Page) -> list[Any]:
    return []


def _sections(release: Release) -> Iterable[Section]:
    """Give evidence first, then the shape's own, attacks behind what is said of risk."""
    own = find_shape(release.shape).sections()
    after = next((i + 1 for i, section in enumerate(own) if section.anchor == "risk"), len(own))
    yield TemplateSection("evidence", "Evidence", "evidence.html", _promise)
    yield from own[:after]
    yield AttackSection()
    yield from own[after:]
    if not any(section.anchor == "details" for section in own):
        yield TemplateSection("details", "Details", "details.html", _details)


def _details(page: Page) -> dict[str, Any] | None:
    settings = settings_rows(page.release)
    return {"settings": settings} if settings or page.release.loss else None


def _promise(page: Page) -> dict[str, Any]:
    """Name the promise and say it in words."""
    promise = page.release.promise
    if is_guarantee(promise):
        return {
            "promise": [str(promise).partition(":")[0]],
            "sentences": [f"{promise}."],
            "checked_by": "The file is the one that was released under this guarantee; how it was "
            "made is in the ledger.",
        }
    known = find_shape(page.release.shape).known(page.release)
    return {
        "promise": [str(part) for part in promise.parts],
        "sentences": in_words(promise, known),
        "checked_by": "Checked from the released file and the schema alone, by code that shares "
        "nothing with the algorithm.",
    }


def _facts(page: Page) -> list[Fact]:
    """Say how much came in, left, and was lost."""
    release, checked = page.release, page.checked
    unit = find_shape(release.shape).unit
    facts = []
    if release.records is not None:
        facts.append(Fact(f"{unit}s came in", figures.count(release.records)))
    share = figures.percent(checked.records / release.records) if release.records else ""
    left = "released" if release.records is not None else f"{unit}s released"
    facts.append(Fact(left, figures.count(checked.records), share))
    if not is_guarantee(release.promise):
        limit = release.provenance.allowed
        most = "" if limit is None else f"at most {figures.count(limit)} allowed"
        facts.append(Fact("suppressed", figures.count(release.suppressed), most))
    for name, value in list(release.loss.items())[:1]:  # the one that was minimised
        remark = "0 nothing lost, 1 everything"
        facts.append(Fact(f"loss ({name})", figures.decimal(value), remark))
    return facts


def _remarks(page: Page) -> list[Markup]:
    """Say whether single units are facts, and how the search ended."""
    release, record = page.release, page.release.provenance.record
    unit = find_shape(release.shape).unit
    if is_guarantee(release.promise):
        return []
    truth = (
        Markup("<b>Truthful.</b> Every released {} states facts, only less exactly.").format(unit)
        if release.is_truthful
        else Markup("<b>Not truthful.</b> Single {}s are no longer facts, because of: {}.").format(
            unit, ", ".join(release.untruthful)
        )
    )
    proven = "Proven optimal." if record.proven_optimal else "Not proven optimal."
    search = Markup("<b>{}</b> Algorithm “{}”{}.").format(
        proven, record.algorithm, f"; {record.label}" if record.label else ""
    )
    return [truth, search]
