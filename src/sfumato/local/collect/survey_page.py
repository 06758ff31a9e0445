"""The page that asks a survey's question: one HTML file that works anywhere, even from a disk.

Contract: the page contains everything it needs, and its content security policy allows its own
two scripts (by their digests) and a connection to the address of the survey, nothing else; anybody
can check what it can do by reading it. The answer is perturbed by ``client/sfumato-local.js``; what
the page says about the guarantee is computed from the coins it uses.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sfumato.data.atomic import write_text_atomically
from sfumato.dp.rounding import exp_up
from sfumato.local.collect.survey import Survey, plain_number
from sfumato.local.wire.recipe import CLIENT, client_script, recipe

if TYPE_CHECKING:
    from fractions import Fraction

MOST_BUTTONS = 12

HOW = {
    "GRR": "Chance decides: your own answer is kept, or it is exchanged for any other one.",
    "SUE": "Every possible answer gets a mark, yes or no: yours says yes and the others no. Then "
    "chance turns many of the marks around.",
    "OUE": "Every possible answer gets a mark, yes or no: yours says yes and the others no. Then "
    "chance turns many of the marks around.",
    "OLH": "Chance sorts all answers into a few groups, and the group of your answer is kept or "
    "exchanged for another one.",
    "Hadamard": "Chance picks one of many fixed groups of answers, more often one that contains "
    "yours than one that does not.",
    "SubsetSelection": "Chance picks a group of answers, with yours among them more often than "
    "any other.",
}
"""What happens to an answer, in words for everybody."""

READING = (
    "Chance decided this, and it may or may not include your true answer: any other answer could "
    "have led to the same report."
)


def write_page(survey: Survey, path: str | Path) -> Path:
    """Write the page of a survey; returns its path."""
    write_text_atomically(path, render_page(survey))
    return Path(path)


def render_page(survey: Survey) -> str:
    """Return the page as text."""
    folder = CLIENT.parent
    client = client_script()
    script = (folder / "survey-page.js").read_text(encoding="utf-8")
    facts: dict[str, Any] = {
        "survey": survey,
        "epsilon": plain_number(survey.epsilon),
        "choices": "buttons" if len(survey.answers) <= MOST_BUTTONS else "list",
        "how": HOW[survey.protocol_name],
        "reading": READING,
        "reach": _reach(survey.send_to),
        "takes_back": survey.send_to.startswith("/api/v1/surveys/"),
        **_bet(survey.epsilon),
        "policy": _policy(survey, (client, script)),
        "setup": Markup(_setup(survey)),  # noqa: S704 - escaped for its place
        "style": Markup((folder / "survey.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
        "client": Markup(client),  # noqa: S704 - ours, and vouched for by its digest
        "page": Markup(script),  # noqa: S704 - the same
    }
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    page: str = environment.get_template("survey.html").render(facts)
    return page


def content_policy(survey: Survey) -> str:
    """Return the content security policy of the page, for a server that sends it as a header."""
    script = (CLIENT.parent / "survey-page.js").read_text(encoding="utf-8")
    return _policy(survey, (client_script(), script))


def _bet(epsilon: Fraction) -> dict[str, str]:
    """Say how sure somebody can become who held an answer as likely as not (Bayes' rule)."""
    factor = exp_up(epsilon)
    sure = math.ceil(1000 * factor / (1 + factor)) / 10
    return {"before": "as likely as not", "after": f"{min(sure, 100):g} %"}


def _reach(send_to: str) -> str:
    """Say where the page can connect to, as its policy has it: a path allows its whole server."""
    if not send_to:
        return "no address at all"
    if not urlsplit(send_to).netloc:
        return f"the server it came from only, at {send_to}"
    return f"one address only, {send_to}"


def _setup(survey: Survey) -> str:
    """Write what the scripts need, so that no answer can end the script element."""
    setup = {"recipe": recipe(survey), "answers": survey.answers, "target": survey.send_to}
    return json.dumps(setup, separators=(",", ":")).replace("<", "\\u003c")


def _policy(survey: Survey, scripts: tuple[str, ...]) -> str:
    digests = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    parts = urlsplit(survey.send_to)
    target = "'self'" if not parts.netloc else f"{parts.scheme}://{parts.netloc}{parts.path}"
    connect = f"; connect-src {target}" if survey.send_to else ""
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        f"form-action 'none'; base-uri 'none'{connect}"
    )
