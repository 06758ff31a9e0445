"""How a release that is published once is shown, saved and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.display.terminal import note, out

if TYPE_CHECKING:
    from sfumato.release import Release
    from sfumato.requests.publish import Published


def price_in(published: Published) -> dict[str, Any]:
    """Give the price that was named."""
    stated = {"epsilon": published.epsilon, "delta": published.delta}
    return {name: value for name, value in stated.items() if value is not None}


def hand_over(release: Release, published: Published) -> None:
    """Print the numbers, save the release and draw it where wanted."""
    from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - help stays quick

    table: Any = release.artefact
    out.print("  ".join(table.columns), markup=False)
    for row in table.rows:
        out.print("  ".join(_cell(value) for value in row), markup=False)
    out.print(f"{release.promise}", markup=False)
    for told in table.facts.get("notes", ()):
        note(told)
    if published.output is not None:
        note(f"{release.save(published.output)} was written")
    if published.picture is not None:
        write_text_atomically(published.picture, release.data.picture())
        note(f"{published.picture} was written")


def _cell(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
