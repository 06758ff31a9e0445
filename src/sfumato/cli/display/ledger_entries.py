"""How `sfumato ledger show` writes entries: one after the other, as wide as the terminal.

What an analyst wrote is printed without control characters, and no answer is ever printed. A
charge and what became of it are one paragraph; the question is told in words close to SQL.
"""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

from sfumato.cli.display.terminal import out

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sfumato.govern.ledger.chain import Entry
    from sfumato.govern.ledger.ledger import Ledger

_SPACE = " " * 5
_LINES = 6  # of a question in the list; the rest is told by `show NUMBER`
_OUTCOMES = frozenset({"answered", "failed"})


def show_entries(ledger: Ledger, entries: Sequence[Entry]) -> None:
    """Print entries, a charge together with what became of it."""
    charged = {entry.number for entry in entries if entry.kind == "charged"}
    outcomes = {entry.refers: entry for entry in entries if entry.kind in _OUTCOMES}
    for entry in entries:
        if entry.kind in _OUTCOMES and entry.refers in charged:
            continue
        _heading(entry, outcomes.get(entry.number))
        for line in _told(ledger, entry):
            _paragraph(line, rest=f"… all of it: sfumato ledger show {entry.number}")


def show_entry(ledger: Ledger, number: int) -> None:
    """Print everything that one entry says."""
    entry = ledger.entry(number)
    outcome = ledger.outcome(number) if entry.kind == "charged" else None
    _heading(entry, outcome)
    for line in _told(ledger, entry, whole=True):
        _paragraph(line)
    facts: dict[str, Any] = {
        "time": entry.time,
        "blocks": ", ".join(map(plain, entry.blocks)),
        "fingerprint": entry.fingerprint,
        "exact cost": None if entry.cost is None else _json(entry.cost),
        "canonical question": None if entry.question is None else plain(entry.question),
        "details": _json(entry.details) if entry.details else None,
        "previous": entry.previous,
        "hash": entry.hash,
    }
    for name, value in facts.items():
        if value:
            _paragraph(f"{name}: {value}")


def _json(value: Any) -> str:
    return plain(json.dumps(value, ensure_ascii=False))


def plain(text: str | None) -> str:
    """Show a text that an analyst wrote on one line, without control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text or "")


def _heading(entry: Entry, outcome: Entry | None) -> None:
    who = " for ".join(plain(word) for word in (entry.analyst, entry.purpose) if word)
    words = [entry.time[:16].replace("T", " "), _state(entry, outcome), plain(entry.dataset), who]
    number = f"{entry.number:>3}"
    for line in _wrapped("  ".join(word for word in (number, *words) if word), "", _SPACE):
        text = Text(line)
        if line.startswith(number):
            text.stylize("bold", 0, len(number))
        out.print(text, soft_wrap=True)


def _state(entry: Entry, outcome: Entry | None) -> str:
    if entry.kind != "charged":
        return plain(entry.kind) if entry.refers is None else f"{plain(entry.kind)} {entry.refers}"
    if outcome is None:
        return "charged, no answer"
    reason = plain(str(outcome.details.get("reason", "")))
    return "charged, answered" if not reason else f"charged, failed ({reason})"


def _told(ledger: Ledger, entry: Entry, *, whole: bool = False) -> Iterable[str]:
    """Tell what an entry is about, line by line."""
    if entry.kind in {"registered", "amended"}:
        yield from _rules(entry)
    elif entry.kind == "repeated":
        yield from _questions(ledger.entry(entry.refers or 0), entry.details.get("part"))
        yield "the answer was given again, for nothing"
    else:
        yield from _questions(entry, cost=_cost(entry))
    if entry.blocks and entry.blocks != ("main",):
        yield f"blocks: {', '.join(map(plain, entry.blocks))}"
    guarantee = plain(entry.guarantee if whole else (entry.guarantee or "").partition(": ")[0])
    cost = "" if entry.cost is None else f"cost: {_cost(entry)}"
    if guarantee or cost:
        yield ", for ".join(part for part in (cost, guarantee) if part)
    if entry.details.get("reason") and entry.kind == "amended":
        yield f"reason: {plain(str(entry.details['reason']))}"
    if entry.kind == "released":
        yield from _released(entry.details)


def _questions(entry: Entry, part: Any = None, cost: str | None = None) -> Iterable[str]:
    """Tell the questions of a charge; and their price, where it is another than the cost."""
    from sfumato.ask.language.question_words import in_words  # noqa: PLC0415 - help stays quick

    if entry.question is None:
        return
    asked = in_words(entry.question, entry.details.get("asked"))
    if part is not None and len(asked) > 1:
        asked = asked[part : part + 1]
    for submission in asked:
        yield plain(submission.question)
    price = asked[0].price
    if cost is not None and price not in {"", cost}:
        yield f"asked {price if asked[0].by_accuracy else f'at {price}'}" + (
            " each" if len(asked) > 1 else ""
        )


def _cost(entry: Entry) -> str | None:
    from sfumato.dp.accounting.costs import Cost  # noqa: PLC0415 - needed here only

    return None if entry.cost is None else str(Cost.from_json(entry.cost))


def _rules(entry: Entry) -> Iterable[str]:
    """Tell what the owner fixed."""
    from sfumato.govern.ledger.chain import canonical  # noqa: PLC0415 - needed here only
    from sfumato.govern.ledger.registrations import registration_from  # noqa: PLC0415 - the same

    rules = registration_from(canonical(entry.details["registration"]))
    yield f"unit: {plain(rules.unit)}"
    yield f"limits: {plain(str(rules.limits))}"
    yield f"policy: {rules.policy}"
    yield f"days: in the time zone {plain(rules.time_zone)}"
    if rules.purposes:
        yield f"purposes: {', '.join(map(plain, rules.purposes))}"
    if rules.public:
        yield f"public tables: {', '.join(map(plain, rules.public))}"


def _released(details: dict[str, Any]) -> Iterable[str]:
    """Tell what was released, where to, and what it cost."""
    for name, value in details.items():
        if value is not None:
            yield f"{plain(name)}: {plain(_listed(value))}"


def _listed(value: Any) -> str:
    """Write a value of an entry as words and not as Python would."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_listed(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_listed, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _paragraph(text: str, rest: str | None = None) -> None:
    """Print a text below its heading, within the width of the terminal."""
    lines = _wrapped(text, _SPACE, _SPACE + "  ")
    if rest is not None and len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], f"{_SPACE}  {rest}"]
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)


def _wrapped(text: str, first: str, then: str) -> list[str]:
    return textwrap.wrap(text, max(out.width, 40), initial_indent=first, subsequent_indent=then)
