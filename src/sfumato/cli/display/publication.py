"""How something that is published once is predicted, shown, saved and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.display.terminal import note, out
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.ask.session.session import Session
    from sfumato.release import Release
    from sfumato.requests.publish import PicturedRequest, SavedOnce

_SHOWN = 30


def check_places(output: Path | None, picture: Path | None, *, force: bool) -> None:
    """Refuse places that cannot be written to, before anything is paid for."""
    for option, path in (("--output", output), ("--picture", picture)):
        if path is None:
            continue
        if not path.absolute().parent.is_dir():
            raise ParameterError(f"{option}: there is no folder {path.absolute().parent}.")
        if path.exists() and not force:
            raise ParameterError(f"{option}: {path} is there already; add --force to replace it.")


def tell_prediction(told: Any) -> None:
    """Print what will be worth how much; nothing was spent."""
    out.print(str(told), markup=False)
    if not getattr(told, "useful", True):
        note("at this price the result will be of little use")


def hand_over(release: Release, published: PicturedRequest, session: Session) -> None:
    """Print the numbers, save the release and draw it where wanted."""
    show(release)
    save(release, published, session)
    draw(release, published)


def show(release: Release) -> None:
    """Print the numbers of a release, its promise and its notes."""
    table: Any = release.artefact
    out.print("  ".join(table.columns), markup=False)
    for row in table.rows[:_SHOWN]:
        out.print("  ".join(_cell(value) for value in row), markup=False)
    if len(table.rows) > _SHOWN:
        out.print(f"… and {len(table.rows) - _SHOWN:,} more rows", markup=False)
    out.print(f"{release.promise}", markup=False)
    for told in table.facts.get("notes", ()):
        note(told)


def save(release: Release, published: SavedOnce, session: Session) -> None:
    """Save the folder of a release where one is wanted, and record it in the session's ledger."""
    if published.output is not None:
        path = session.save(release, published.output, replace=published.force)
        note(f"{path} was written, and recorded in the ledger")


def draw(release: Release, published: PicturedRequest) -> None:
    """Draw the picture of a release where one is wanted."""
    from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - help stays quick

    if published.picture is not None:
        write_text_atomically(published.picture, release.data.picture())
        note(f"{published.picture} was written")


def _cell(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
