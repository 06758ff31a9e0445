"""`sfumato attack`: what an attacker sees in a release, before it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options.common import QuietOption
from sfumato.cli.terminal import note, out, show_table


def attack(
    release: Annotated[
        Path, typer.Argument(help="Folder of a release, or the released CSV or Parquet file.")
    ],
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            help="YAML file that gives every column its role; without it, the roles in "
            "release.json, and no hierarchies.",
        ),
    ] = None,
    public: Annotated[
        Path | None,
        typer.Option("--public", help="Table of people whom an attacker can look up."),
    ] = None,
    original: Annotated[
        Path | None,
        typer.Option("--original", help="The data as they came, to compare before and after."),
    ] = None,
    other: Annotated[
        Path | None,
        typer.Option("--other", help="Another release of overlapping data, to intersect with."),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option("--confidence", help="How sure an attacker must be to count, 0 to 1."),
    ] = 0.9,
    gain: Annotated[
        float,
        typer.Option("--gain", help="How much likelier a secret must become to count, 0 to 1."),
    ] = 0.25,
    facts: Annotated[
        int,
        typer.Option("--facts", help="Sensitive values that background knowledge can rule out."),
    ] = 1,
    report: Annotated[
        Path | None, typer.Option("--report", help="Also write an HTML page.")
    ] = None,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Show the sensitive values that were learnt.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 when an attack succeeds.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Attack a release as an adversary would, and say what would have stopped each attack.

    Example: sfumato attack out/ -s patients.yaml --public voters.csv --original patients.csv

    Tries every attack that fits the release and what is given. Nothing is proved by an attack
    that fails; `sfumato verify` checks the promise.
    """
    from sfumato.attack.prechecks import precheck  # noqa: PLC0415 - heavy

    found = precheck(
        release,
        public=public,
        original=original,
        other=other,
        schema=schema,
        confidence=confidence,
        gain=gain,
        facts=facts,
    )
    if not quiet:
        title = f"{found.source}: {len(found.succeeding)} of {len(found.tried)} attacks succeed"
        rows = [
            (*row[:4], one.after.advice) for row, one in zip(found.table, found.tried, strict=True)
        ]
        show_table(title, ("attack", "before", "after", "verdict", "would stop it"), rows)
        for one in found.succeeding:
            for finding in one.after.findings[:1]:
                out.print(f"• {one.name}: {finding.told(reveal=reveal)}", markup=False)
        for name, why in found.skipped:
            out.print(f"• not tried: {name} ({why})", markup=False, style="dim")
    if report is not None:
        from sfumato.report.attack_section import write_page  # noqa: PLC0415 - the same

        note(f"wrote {write_page(found, report, reveal=reveal)}")
    raise typer.Exit(1 if strict and not found.holds else 0)
