"""An answer as text, for terminals and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.ask.answers.answer import Answer

_SHOWN = 50


def as_text(answer: Answer) -> str:
    """Print an answer with its intervals, for terminals and logs: all of it may be shown."""
    intervals = answer.intervals()
    header = [*answer.columns]
    lines = [[_cell(cell) for cell in row] for row in answer.rows[:_SHOWN]]
    for name in answer.columns:
        pairs = intervals.get(name)
        if pairs is None or name in answer.ranges or all(pair is None for pair in pairs):
            continue
        header.append(f"{name} 95 %")
        for line, pair in zip(lines, pairs, strict=False):
            line.append("" if pair is None else f"{_cell(pair[0])} … {_cell(pair[1])}")
    widths = [max(len(cell) for cell in column) for column in zip(header, *lines, strict=True)]
    shown = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (header, *lines)
    ]
    if len(answer.rows) > _SHOWN:
        shown.append(f"… and {len(answer.rows) - _SHOWN} more rows")
    paid = "nothing: the same answer was given before" if answer.stored else str(answer.guarantee)
    return "\n".join([*shown, "", f"cost: {paid}", *(f"note: {n}" for n in answer.notes)])


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
