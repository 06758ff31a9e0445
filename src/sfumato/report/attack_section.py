"""How a precheck is shown: a section of the release report, or a page of its own.

Contract: pure functions from a `Precheck` to markup, without scripts; every text is escaped.
What was learnt about people stays hidden unless `reveal` is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from sfumato import __version__
from sfumato.attack.finding import chance
from sfumato.attack.prechecks import exposure
from sfumato.data.atomic import write_text_atomically
from sfumato.data.wording import some
from sfumato.report.figures import EN_DASH
from sfumato.report.svg import bar

if TYPE_CHECKING:
    from sfumato.attack.finding import Outcome
    from sfumato.attack.prechecks import Precheck, TriedAttack

_ROW = Markup("""<tr>
<th scope="row">{name}<div class="small soft">knows {knows}; {measure} from {threshold:g} on counts{notes}</div></th>
<td>{picture}<span class="small">{before} → <b>{after}</b></span></td>
<td class="n">{sure}</td>
<td style="white-space:nowrap">{verdict}</td>
<td class="small">{remedy}</td>
</tr>""")  # noqa: E501 - markup

_SECTION = Markup("""<section aria-labelledby="attacks">
<h2 id="attacks">What an attacker sees</h2>
<p>{lead}</p>
<table>
<caption>Every attack that fits, with the people it exposes
<span class="key before"></span>before <span class="key after"></span>after</caption>
<thead><tr><th scope="col">attack</th><th scope="col">people exposed</th>
<th scope="col" class="n">surest</th><th scope="col">on the release</th>
<th scope="col">would have stopped it</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
{findings}
{skipped}
</section>""")

_PAGE = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<section class="verdict {tone}"><p class="big">{verdict}</p>
<p>{records} released; it promises {promise}.</p></section>
<p class="note"><b>Not for publication.</b> This page says where the release is weak, and about
whom. Keep it in the house.</p>
</header>
<main>
{section}
</main>
<footer><p>Made by Sfumato {version}. This page loads nothing from anywhere and runs no script.</p></footer>
</body>
</html>
""")  # noqa: E501 - markup


def section(checked: Precheck, *, reveal: bool = False) -> Markup:
    """Return the section of a report."""
    rows = Markup("\n").join(_row(tried) for tried in checked.tried)
    return _SECTION.format(
        lead=_lead(checked),
        rows=rows,
        findings=_findings(checked, reveal),
        skipped=_skipped(checked),
    )


def page(checked: Precheck, *, reveal: bool = False) -> str:
    """Return the precheck as a page of its own."""
    style = (Path(__file__).parent / "templates" / "release.css").read_text(encoding="utf-8")
    found = len(checked.succeeding)
    verdict = "No attack succeeds" if not found else f"{some(found, 'attack')} succeed"
    if found == 1:
        verdict = "1 attack succeeds"
    return str(
        _PAGE.format(
            title=f"What an attacker sees in {checked.source}",
            style=Markup(style),  # noqa: S704 - our own style sheet
            tone="broken" if found else "holds",
            verdict=verdict,
            records=some(checked.records, "record"),
            promise=checked.promise,
            section=section(checked, reveal=reveal),
            version=__version__,
        )
    )


def write_page(checked: Precheck, path: str | Path, *, reveal: bool = False) -> Path:
    """Write the page; it appears whole or not at all."""
    target = Path(path)
    write_text_atomically(target, page(checked, reveal=reveal))
    return target


def _lead(checked: Precheck) -> str:
    return (
        f"{len(checked.succeeding)} of {some(len(checked.tried), 'attack')} succeed on this "
        "release. An attack that fails here may succeed for somebody who knows more: attacks find "
        "weaknesses, and only the promise, checked by verification, rules them out."
    )


def _row(tried: TriedAttack) -> Markup:
    after, before = tried.after, tried.before
    tone = "bad" if after.succeeds else "good"
    return _ROW.format(
        name=tried.name,
        knows=after.knows,
        measure=after.measure,
        threshold=after.threshold,
        picture=_bars(before, after),
        before=EN_DASH if before is None else exposure(before),
        after=exposure(after),
        notes="".join(f"; {text}" for text in after.notes),
        sure=chance(after.posterior) if after.posterior else EN_DASH,
        verdict=Markup('<b class="{}">{}</b>').format(tone, tried.verdict),
        remedy=after.remedy,
    )


def _bars(before: Outcome | None, after: Outcome) -> Markup:
    if before is None:
        return bar(after.share)
    return bar(before.share, "before", after.share)


def _findings(checked: Precheck, reveal: bool) -> Markup:
    """Return the worst finding of each attack that succeeds."""
    items = [
        Markup("<li><b>{}</b>: {}</li>").format(
            tried.name, tried.after.findings[0].told(reveal=reveal)
        )
        for tried in checked.succeeding
        if tried.after.findings
    ]
    if not items:
        return Markup()
    return Markup(
        "<details open><summary>Whom each of them hits hardest</summary><ul>{}</ul></details>"
    ).format(Markup("\n").join(items))


def _skipped(checked: Precheck) -> Markup:
    if not checked.skipped:
        return Markup()
    told = "; ".join(f"{name} ({why})" for name, why in checked.skipped)
    return Markup('<p class="small soft">Not tried: {}.</p>').format(told)
