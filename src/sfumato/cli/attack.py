"""`sfumato attack`: what an attacker sees in a release, before it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.display.terminal import note, out, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.attack import AttackCommand

if TYPE_CHECKING:
    from sfumato.attack.prechecks import Precheck
    from sfumato.requests.shapes import ShapedAttack


@takes_request
def attack(request: AttackCommand) -> None:
    """Attack a release as an adversary would, and say what would have stopped each attack.

    Example: sfumato attack out/ -s patients.yaml --public voters.csv --original patients.csv

    Tries every attack that fits the release and what is given. Nothing is proved by an attack
    that fails; `sfumato verify` checks the promise. `sfumato attack model` attacks models instead.
    """
    from sfumato.attack.prechecks import precheck  # noqa: PLC0415 - heavy

    known = {**known_to(request), "public": request.public, "other": request.other}
    end(precheck(request.release, **known), request)


def known_to(request: AttackCommand | ShapedAttack) -> dict[str, Any]:
    """Return what an attacker has and when an attack counts."""
    adversary = request.adversary
    return {
        "original": request.original,
        "schema": request.schema_file,
        "confidence": adversary.confidence,
        "gain": adversary.gain,
        "facts": adversary.facts,
    }


def end(found: Precheck, request: AttackCommand | ShapedAttack) -> None:
    """Show what was found, and end with the exit code that says it."""
    if not request.quiet:
        _show(found, reveal=request.reveal)
    if request.report is not None:
        from sfumato.report.attack_section import write_page  # noqa: PLC0415 - rarely needed

        note(f"wrote {write_page(found, request.report, reveal=request.reveal)}")
    raise typer.Exit(1 if request.strict and not found.holds else 0)


def _show(found: Precheck, *, reveal: bool) -> None:
    title = f"{found.source}: {len(found.succeeding)} of {len(found.tried)} attacks succeed"
    rows = [
        (*row[:4], tried.after.advice) for row, tried in zip(found.table, found.tried, strict=True)
    ]
    show_table(title, ("attack", "before", "after", "verdict", "would stop it"), rows)
    for tried in found.succeeding:
        for finding in tried.after.findings[:1]:
            out.print(f"• {tried.name}: {finding.told(reveal=reveal)}", markup=False)
    for name, why in found.skipped:
        out.print(f"• not tried: {name} ({why})", markup=False, style="dim")
