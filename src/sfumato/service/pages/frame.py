"""The frame of every page: templates, navigation, style, and how a page becomes a response.

Contract: everything is escaped by default; a page works without its script, at 320 pixels, by
keyboard, in light and dark. Style and script are files of ours with a digest in their name, so a
browser keeps them for ever; nothing comes from elsewhere.
"""

from __future__ import annotations

import gzip
import hashlib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import Response

from sfumato.service.call import HTML

if TYPE_CHECKING:
    from sfumato.service.access import Caller
    from sfumato.service.call import Call
    from sfumato.service.house import House
    from sfumato.service.problems import Problem

FOLDER = Path(__file__).parent.parent / "templates"
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


@cache
def static_files() -> dict[str, tuple[bytes, bytes, str]]:
    """Read style and script: by name with a digest, as bytes, compressed, and their type."""
    found = {}
    for file in sorted(FOLDER.glob("site.*")):
        content = file.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:12]
        name = f"{file.stem}-{digest}{file.suffix}"
        found[name] = (content, gzip.compress(content, 9), _KINDS[file.suffix])
    return found


def static_name(suffix: str) -> str:
    """Give the name of the style or script, with its digest."""
    return next(name for name in static_files() if name.endswith(suffix))


def day(seconds: float | None) -> str:
    """Write a time for people."""
    if seconds is None:
        return "–"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def number(value: Any) -> str:
    """Write a number for people."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.6g}".replace("-", "−")
    return f"{value:,}".replace("-", "−") if isinstance(value, int) else str(value)


def one(unit: Any) -> str:
    """Write what is hidden: one row, one person; some units say "one" themselves."""
    return f"one {str(unit).removeprefix('one ')}"


def counted(count: int, noun: str) -> str:
    """Write how many there are of something."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


@cache
def environment() -> Environment:
    """Give the templates."""
    made = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["day"] = day
    made.filters.update(number=number, one=one, counted=counted)
    made.globals["style"] = static_name(".css")
    made.globals["script"] = static_name(".js")
    return made


_LINKS = {
    "public": (("/", "Public register"), ("/me", "About you")),
    "analyst": (("/", "Public register"), ("/datasets", "Datasets"), ("/history", "History"),
                ("/requests", "Requests"), ("/account", "Account")),
    "owner": (("/", "Public register"), ("/datasets", "Datasets"), ("/jobs", "Jobs"),
              ("/surveys", "Surveys"), ("/subjects", "People’s requests"),
              ("/requests", "Budget requests"), ("/people", "Accounts"), ("/ledger", "Ledger"),
              ("/account", "Account")),
}  # fmt: skip


def render(house: House, caller: Caller, template: str, *, at: str = "", **facts: Any) -> str:
    """Render a page."""
    role = caller.role if caller.role in _LINKS else "public"
    return (
        environment()
        .get_template(template)
        .render(caller=caller, links=_LINKS[role], at=at, office=house.settings.path.name, **facts)
    )


def page(call: Call, template: str, status: int = 200, **facts: Any) -> Response:
    """Render a page as the response to a call."""
    text = render(call.house, call.caller, template, at=call.scope["path"], **facts)
    return Response(text, status, {"Cache-Control": "no-store"}, HTML)


def error_page(house: House, caller: Caller, problem: Problem) -> str:
    """Tell what went wrong."""
    return render(house, caller, "error.html", problem=problem, title=problem.title)


def listed(text: str) -> list[str]:
    """Read texts that are separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def values_of(form: dict[str, list[str]]) -> dict[str, str]:
    """Give the fields of a form, of each the last value, without blanks around it."""
    return {name: values[-1].strip() for name, values in form.items()}
