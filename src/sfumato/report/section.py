"""What a section of a report is, and what it is made from.

A section says whether it fits a page, by returning markup or None. A shape lists its sections in
the order in which they are read; those that every release has are in `shared`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from markupsafe import Markup

from sfumato.data.wording import some
from sfumato.report.page_templates import page_template
from sfumato.report.svg import bar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.attack.prechecks import Precheck
    from sfumato.audit.verification.verify import Verification
    from sfumato.release import Release


@dataclass(frozen=True, eq=False)
class Page:
    """What a report is about: a release, its verification, and what else was found out."""

    release: Release
    checked: Verification
    precheck: Precheck | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fact:
    """A figure at the top of the page."""

    term: str
    value: str
    remark: str = ""


class Section(Protocol):
    """One section; `facts` and `remarks` go to the top of the page."""

    @property
    def anchor(self) -> str:
        """The fragment by which the page links to it."""

    @property
    def title(self) -> str:
        """What the contents call it."""

    def render(self, page: Page) -> Markup | None:
        """Return the section, or None where it does not fit."""


@dataclass(frozen=True)
class TemplateSection:
    """A section that fills a template; `gather` gives its facts, or None where it does not fit."""

    anchor: str
    title: str
    template: str
    gather: Callable[[Page], Mapping[str, Any] | None] = lambda _: {}
    facts: Callable[[Page], list[Fact]] = lambda _: []
    remarks: Callable[[Page], list[str | Markup]] = lambda _: []

    def render(self, page: Page) -> Markup | None:
        """Fill the template."""
        found = self.gather(page)
        if found is None:
            return None
        template = page_template(self.template, bar=bar, some=some)
        text = template.render({"release": page.release, "checked": page.checked, **found})
        return Markup(text)  # noqa: S704 - made by our own template, which escapes
