"""How the command line shows an answer: a table, CSV or JSON, and a picture.

The numbers go to standard output, or to a file; what they cost and what to know about them beside
a table, and to standard error beside CSV and JSON, so that output can be piped.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from sfumato.cli.display.terminal import note, out, show_table
from sfumato.cli.display.wording import in_options
from sfumato.requests.session import AnswerFormat

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sfumato.ask.answers.answer import Answer, AnswerForecast
    from sfumato.dp.guarantees import Guarantee
    from sfumato.requests.session import Delivery

CONFIDENCE = 0.95
_SHOWN = 200


def deliver(answer: Answer, asked: Mapping[str, Any], delivery: Delivery) -> None:
    """Show an answer, or write it to a file, and draw it where wanted.

    ``asked`` says who asked what of which dataset, for the form that is read by programs.
    """
    form, output, picture = delivery.format, delivery.output, delivery.picture
    if picture is not None:
        _write(picture, _picture(answer, picture))
    text = _csv(answer) if form is AnswerFormat.csv else None
    text = _json(answer, asked) if form is AnswerFormat.json else text
    if output is not None:
        _write(output, text if text is not None else f"{answer}\n")
    elif text is not None:
        out.file.write(text)
    else:
        _table(answer)
    _cost(answer, aside=text is not None or output is not None)
    for path in (output, picture):
        if path is not None:
            note(f"{path} was written")


def show_estimate(estimate: AnswerForecast) -> None:
    """Tell what a question would cost."""
    out.print("\n".join(map(in_options, estimate.lines())), markup=False)


def _write(path: Path, text: str) -> None:
    """Write a file; the answer is paid for by now, which is no reason to pay again."""
    from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - help stays quick
    from sfumato.errors import OutputError  # noqa: PLC0415 - the same

    try:
        write_text_atomically(path, text)
    except OutputError as error:
        raise OutputError(
            f"{error} The answer is paid for and kept in the ledger: asking the same again costs "
            "nothing."
        ) from None


def _picture(answer: Answer, path: Path) -> str:
    """Draw an answer alone, or as a page with its table, by the ending of the file."""
    if path.suffix.lower() == ".svg":
        return answer.picture(CONFIDENCE) + "\n"
    from sfumato.ask.pictures.picture import page  # noqa: PLC0415 - help stays quick

    return page(answer, CONFIDENCE)


def _cost(answer: Answer, *, aside: bool) -> None:
    from sfumato.govern.limits import in_short  # noqa: PLC0415 - heavy

    promised = answer.guarantee
    paid = f"{in_short(promised)}, {promised.kind} for {promised.neighbours}"
    tell = note if aside else _plainly
    if not answer.rows and answer.keys:
        note(
            "the answer has no rows: no group reached the number of people at which it is shown, "
            "or a condition on groups left none. What was spent is spent; ask with more ε, for "
            "larger groups, or with --keys, if their values are public"
        )
    tell(f"cost: {'nothing, the same answer was given before' if answer.stored else paid}")
    tell(f"left: {in_short(answer.remaining)}")
    for words in answer.notes:
        note(in_options(words))


def _plainly(words: str) -> None:
    out.print(words, markup=False)


def _table(answer: Answer) -> None:
    from sfumato.pictures.marks import figure, span  # noqa: PLC0415 - help stays quick

    intervals = _intervals(answer)
    header, columns = [], []
    for name in answer.columns:
        cells = answer.column(name)[:_SHOWN]
        header.append(_printable(name))
        key = name in answer.keys
        columns.append(
            [_printable(_word(cell)) if key else _number(cell, figure) for cell in cells]
        )
        pairs = intervals.get(name, [])[:_SHOWN]
        if any(pair is not None for pair in pairs):
            header.append(f"{100 * CONFIDENCE:g} % interval")
            columns.append(["" if pair is None else span(pair) for pair in pairs])
    title = "the same answer as before" if answer.stored else "answer"
    show_table(title, header, list(zip(*columns, strict=True)))
    if len(answer.rows) > _SHOWN:
        out.print(f"and {len(answer.rows) - _SHOWN:,} more rows; --format csv writes all")


def _intervals(answer: Answer) -> dict[str, list[Any]]:
    """Give the intervals of numbers; that of a quantile is one of ranks, which a note states."""
    found = answer.intervals(CONFIDENCE)
    return {name: pairs for name, pairs in found.items() if name not in answer.ranges}


def _word(cell: Any) -> str:
    return "(missing)" if cell is None else str(cell)


def _number(cell: Any, figure: Any) -> str:
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        shown: str = figure(cell)
        return shown
    return "–" if cell is None else _printable(str(cell))


def _printable(text: str) -> str:
    """Free a text of characters that would move the cursor."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _csv(answer: Answer) -> str:
    import csv  # noqa: PLC0415 - only where wanted
    import io  # noqa: PLC0415 - the same

    intervals = _intervals(answer)
    columns: dict[str, list[Any]] = {}
    for name in answer.columns:
        columns[name] = answer.column(name)
        pairs = intervals.get(name, [])
        if any(pair is not None for pair in pairs):
            columns[f"{name}_low"] = [None if pair is None else pair[0] for pair in pairs]
            columns[f"{name}_high"] = [None if pair is None else pair[1] for pair in pairs]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _json(answer: Answer, asked: Mapping[str, Any]) -> str:
    import json  # noqa: PLC0415 - only where wanted

    from sfumato.ask.language.question_words import in_words  # noqa: PLC0415 - the same

    cost = answer.cost
    numbers = {"epsilon": cost.epsilon, "mu": cost.mu, "rho": cost.rho, "delta": cost.delta}
    whole = {
        **asked,
        "question": asked.get("question") or in_words(answer.question, [answer.tree])[0].question,
        "columns": answer.columns,
        "rows": answer.rows,
        "intervals": _intervals(answer),
        "confidence": CONFIDENCE,
        "guarantee": _numbers(answer.guarantee),
        "stored": answer.stored,
        "cost": {name: 0.0 if answer.stored else float(number) for name, number in numbers.items()},
        "spent": _numbers(answer.spent),
        "remaining": _numbers(answer.remaining),
        "notes": answer.notes,
    }
    return json.dumps(whole, ensure_ascii=False, default=_plain) + "\n"


def _numbers(guarantee: Guarantee) -> dict[str, Any]:
    """Give the parameters of a guarantee; None for one that it does not have."""
    told = {name: getattr(guarantee, name, None) for name in ("epsilon", "delta", "rho")}
    if told["epsilon"] is not None and told["delta"] is None:
        told["delta"] = 0.0  # as pure differential privacy has it
    return {"kind": type(guarantee).__name__, **told, "statement": str(guarantee)}


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, dt.date) else str(value)
