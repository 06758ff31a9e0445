"""Pictures of answers, and how an answer looks in a notebook.

Contract: an answer is noisy or public throughout, so its picture may go wherever the answer may.
One key gives bars with intervals, two give a heat grid, keys called latitude and longitude (as
``session.map`` makes them) a grid on the globe, no key a number with its interval. Everything
else is drawn as bars. A picture is one SVG that needs no other file and has no script.
"""

from __future__ import annotations

from itertools import pairwise
from types import NoneType
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sfumato.ask.binned.bin_labels import read_label
from sfumato.ask.pictures.bars import MARGIN, Panel, columns, is_scale, rows, single
from sfumato.ask.pictures.heat import Cells, chart, grid
from sfumato.errors import ParameterError
from sfumato.pictures.marks import WIDTH, figure, plain, span, svg, text, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sfumato.ask.answers.answer import Answer

    Drawn = tuple[list[Markup], float]

GLOBE = ("latitude", "longitude")
MOST_BARS = 300
_MOST_CELLS = 20_000
_SHOWN = 50


def picture(answer: Answer, confidence: float = 0.95) -> str:
    """Draw an answer as SVG: bars with intervals, a heat grid for two keys, a map."""
    cells = _two_keys(answer, confidence)
    return _assembled(answer, confidence, cells or _bars(answer, confidence), bars=not cells)


def heat_map(answer: Answer, confidence: float = 0.95, *, measure: str | None = None) -> str:
    """Draw an answer of ``session.map`` on latitude and longitude, of one measure if named."""
    if answer.keys != GLOBE:
        raise ParameterError(
            "A map is drawn of an answer whose keys are latitude and longitude, as session.map "
            f"gives; this one has {', '.join(answer.keys) or 'no keys'}."
        )
    if measure is not None and measure not in _numbers(answer):
        raise ParameterError(
            f"The answer has no number {measure!r}; it has {', '.join(_numbers(answer))}."
        )
    draw = _two_keys(answer, confidence, measure)
    if draw is None or any(read_label(label) is None for label in answer.column(GLOBE[0])):
        raise ParameterError("The latitudes and longitudes of the answer are not a grid of bins.")
    return _assembled(answer, confidence, draw, bars=False)


def _numbers(answer: Answer) -> list[str]:
    """Name the columns that can be drawn."""
    return [
        name
        for name in answer.columns
        if name not in answer.keys
        and all(
            cell is None or (isinstance(cell, (int, float)) and not isinstance(cell, bool))
            for cell in answer.column(name)
        )
    ]


def _intervals(answer: Answer, name: str, confidence: float) -> list[Any]:
    """Give the intervals that can be drawn; that of a quantile is one of ranks, not of values."""
    if name in answer.ranges:
        return [None] * len(answer.rows)
    return answer.intervals(confidence)[name]


# -- one key, or several side by side --------------------------------------------------------


def _bars(answer: Answer, confidence: float) -> list[tuple[str, Callable[[float], Drawn]]]:
    places = _places(answer)[:MOST_BARS]
    found: list[tuple[str, Callable[[float], Drawn]]] = []
    for name in _numbers(answer) if answer.rows else []:
        panel = Panel(
            name,
            tuple(places),
            tuple(answer.column(name)[:MOST_BARS]),
            tuple(_intervals(answer, name, confidence)[:MOST_BARS]),
        )
        found.append((name, _style(answer, panel)))
    return found


def _style(answer: Answer, panel: Panel) -> Callable[[float], Drawn]:
    if not answer.keys and len(answer.rows) == 1:
        return lambda top: single(panel, top)
    if is_scale(panel.places) and _rising(panel.places):
        return lambda top: columns(panel, top)
    return lambda top: rows(panel, top)


def _places(answer: Answer) -> list[object]:
    keys = [answer.column(key) for key in answer.keys]
    if not keys:
        return [f"row {i + 1}" for i in range(len(answer.rows))]
    if len(keys) == 1:
        return list(keys[0])
    return [" · ".join(plain(part) for part in parts) for parts in zip(*keys, strict=True)]


def _rising(places: Sequence[object]) -> bool:
    known = [_position(place) for place in places if place is not None]
    return None not in places[:-1] and all(a < b for a, b in pairwise(known))


def _position(place: object) -> Any:
    pair = read_label(place)
    return place if pair is None else pair[0]


# -- two keys ------------------------------------------------------------------------------


def _two_keys(
    answer: Answer, confidence: float, measure: str | None = None
) -> list[tuple[str, Callable[[float], Drawn]]] | None:
    if len(answer.keys) != 2 or not answer.rows:
        return None
    down, across = (_axis(answer.column(key)) for key in answer.keys)
    pairs = list(zip(*(answer.column(key) for key in answer.keys), strict=True))
    if len(set(pairs)) < len(pairs):
        return None
    if answer.keys != GLOBE or read_label(down[0]) is None:  # a map is one, whatever its size
        full = 2 * len(pairs) >= len(down) * len(across)
        if not full or len(down) < 2 or len(across) < 2 or len(down) * len(across) > _MOST_CELLS:
            return None
    at_down = {value: i for i, value in enumerate(down)}
    at_across = {value: i for i, value in enumerate(across)}
    at = [(at_down[a], at_across[b]) for a, b in pairs]
    found: list[tuple[str, Callable[[float], Drawn]]] = []
    for name in [measure] if measure else _numbers(answer):
        values = dict(zip(at, answer.column(name), strict=True))
        spans = dict(zip(at, _intervals(answer, name, confidence), strict=True))
        cells = Cells(name, tuple(across), tuple(down), values, spans)
        found.append((name, _drawn_cells(answer, cells)))
    return found or None


def _drawn_cells(answer: Answer, cells: Cells) -> Callable[[float], Drawn]:
    def draw(top: float) -> Drawn:
        found = chart(cells, top) if answer.keys == GLOBE else None
        return found or grid(cells, top)

    return draw


def _axis(values: Sequence[object]) -> list[object]:
    """List the values of a key: steps of a scale in their order, others as they come."""
    found = list(dict.fromkeys(values))
    if not is_scale(found):
        return found
    known = sorted((value for value in found if value is not None), key=_position)
    return [*known, *([None] if None in found else [])]


# -- the whole -----------------------------------------------------------------------------


def _assembled(
    answer: Answer,
    confidence: float,
    panels: list[tuple[str, Callable[[float], Drawn]]],
    *,
    bars: bool,
) -> str:
    marks, y = [], 26.0
    for name, draw in panels:
        marks.append(text(MARGIN, y, _heading(answer, name), "title"))
        drawn, y = draw(y + 16)
        marks += drawn
        y += 22
    if not panels:
        marks.append(text(MARGIN, y, "no groups" if answer.keys else "no numbers", "title"))
        y += 26
    for words in _footer(answer, confidence, bars=bars):
        marks.append(text(MARGIN, y - 6, words))
        y += 16
    names = ", ".join(name for name, _ in panels)
    label = f"{names or 'Nothing'} by {', '.join(answer.keys) or 'the whole table'}, with noise"
    return svg(marks, y, label)


def _heading(answer: Answer, name: str) -> str:
    by = f" by {' and '.join(answer.keys)}" if answer.keys else ""
    words = wrapped(f"{name}{by}", 0.8 * (WIDTH - 2 * MARGIN))
    return words[0] if len(words) == 1 else f"{words[0]} …"


def _footer(answer: Answer, confidence: float, *, bars: bool) -> list[str]:
    room = WIDTH - 2 * MARGIN
    lines = []
    if len(answer.rows) > MOST_BARS and bars:
        lines.append(f"The first {MOST_BARS} of {len(answer.rows):,} rows.")
    sure = f"with {100 * confidence:.4g} % confidence"
    if any(name in answer.measures or name in answer.derived for name in _numbers(answer)):
        lines.append(
            f"Each interval holds what the counted rows give {sure}; noise may take a number below "
            "0."
            if bars
            else "± beside the colours, or the interval under the pointer, is how far noise may "
            f"have moved a cell {sure}; it may take a number below 0."
        )
    promise = str(answer.guarantee).partition(":")[0]
    lines.append(promise[:1].upper() + promise[1:] + ".")
    return [line for words in lines for line in wrapped(words, room)]


_TABLE = Markup(
    "<style>.sfumato-table{{border-collapse:collapse;font-variant-numeric:tabular-nums}}"
    ".sfumato-table th,.sfumato-table td{{text-align:left;padding:.15rem .8rem .15rem 0;"
    "border-bottom:1px solid #8884}}.sfumato-table td.n{{text-align:right}}</style>"
    '<table class="sfumato-table"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>'
)


def notebook(answer: Answer, confidence: float = 0.95) -> str:
    """Show an answer as HTML: a table with intervals, the picture, the cost and the notes."""
    intervals = answer.intervals(confidence)
    head, body = [], [list[Markup]() for _ in answer.rows[:_SHOWN]]
    for name in answer.columns:
        cell_of = Markup("<td>{}</td>") if name in answer.keys else Markup('<td class="n">{}</td>')
        head.append(Markup("<th>{}</th>").format(plain(name)))
        for line, cell in zip(body, answer.column(name), strict=False):
            counted = name not in answer.keys and type(cell) in {int, float, NoneType}
            shown = figure(cell) if counted else plain(cell)
            line.append(cell_of.format(shown))
        pairs = intervals.get(name, [])
        if any(pair is not None for pair in pairs):
            head.append(Markup("<th>{}</th>").format(f"{100 * confidence:.4g} % interval"))
            for line, pair in zip(body, pairs, strict=False):
                line.append(Markup("<td>{}</td>").format("" if pair is None else span(pair)))
    lines = Markup().join(Markup("<tr>{}</tr>").format(Markup().join(line)) for line in body)
    table = _TABLE.format(Markup().join(head), lines)
    if len(answer.rows) > _SHOWN:
        table += Markup("<p>… and {:,} more rows</p>").format(len(answer.rows) - _SHOWN)
    drawn = Markup(picture(answer, confidence))  # noqa: S704 - made here, escaped
    parts = (drawn, table) if len(answer.keys) == 2 else (table, drawn)  # a map before its cells
    return str(Markup("<div>{}{}{}</div>").format(*parts, _told(answer)))


_PAGE = Markup(
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><title>{}</title>'
    "<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;"
    "padding:0 1rem}}svg{{max-width:100%;height:auto}}</style></head>\n<body>{}</body></html>\n"
)


def page(answer: Answer, confidence: float = 0.95) -> str:
    """Show an answer as a page of its own, which needs no other file."""
    title = ", ".join(_numbers(answer)) + (f" by {', '.join(answer.keys)}" if answer.keys else "")
    inside = Markup(notebook(answer, confidence))  # noqa: S704 - made here, escaped
    return str(_PAGE.format(plain(title), inside))


def _told(answer: Answer) -> Markup:
    paid = "nothing: the same answer was given before" if answer.stored else str(answer.guarantee)
    lines = [f"Cost: {paid}."]
    if answer.standing is not None:  # an artefact read from a file has no session behind it
        lines.append(f"Left: {str(answer.remaining).partition(':')[0]}.")
    lines += answer.notes
    return Markup("<ul>{}</ul>").format(
        Markup().join(Markup("<li>{}</li>").format(plain(line)) for line in lines)
    )
