"""Asking in the browser: write or build a question, see its price, confirm, read the answer."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.responses import Response

from sfumato.ask.answers.answer import Answer
from sfumato.ask.answers.answer_records import load_fields
from sfumato.errors import ParameterError, SfumatoError
from sfumato.govern.office.grants import purposes_granted
from sfumato.govern.office.questions import find_alike, find_question, list_questions
from sfumato.requests.service import QuestionRequest
from sfumato.service import answering, asking
from sfumato.service.api.datasets import describe
from sfumato.service.call import JSON, go
from sfumato.service.pages.datasets import left_for
from sfumato.service.pages.frame import page, values_of
from sfumato.service.pages.wording import in_fields
from sfumato.service.problems import Problem, not_found, problem_of

if TYPE_CHECKING:
    from sfumato.service.call import Call

_EMPTY = {"question": "", "purpose": "", "epsilon": "", "accuracy": "", "bounds": "", "keys": ""}
_WAIT = 3.0


def _page(call: Call, status: int = 200, **facts: Any) -> Response:
    name = call.path["dataset"]
    granted = purposes_granted(call.house.office, call.caller.id, name)
    given = _EMPTY | facts.pop("given", {})
    purpose = given["purpose"] or (granted[0] if granted else "")
    shown: dict[str, Any] = {
        "estimate": None, "wrong": "", "nearest": None, "price": {}, "alike": None,
    } | facts  # fmt: skip
    return page(
        call, "ask.html", status, title=f"Ask about {name}", name=name, granted=granted,
        given=given, facts=describe(call, name), left=left_for(call, name, purpose or None),
        **shown,
    )  # fmt: skip


async def form(call: Call) -> Response:
    """Show the form; a question of one's history, ``again=``, fills in all that was said then."""
    row = find_question(call.house.office, call.query.get("again", ""))
    mine = (call.caller.id, call.path["dataset"])
    if row is not None and (row["person"], row["dataset"]) == mine:
        return _page(call, given=_said(json.loads(row["body"])))
    return _page(call, given={"question": call.query.get("question", "")[:16384]})


def _said(asked: dict[str, Any]) -> dict[str, str]:
    """Write a question that was asked as the form says it."""
    price = asked.get("price", {})
    facts = {
        field: "\n".join(f"{name}={_in_line(values)}" for name, values in asked[field].items())
        for field in ("bounds", "keys")
        if asked.get(field)
    }
    return {
        "question": asked["question"],
        "purpose": asked.get("purpose") or "",
        **{field: f"{price[field]}" for field in ("epsilon", "accuracy") if field in price},
        **facts,
    }


def _in_line(values: list[Any]) -> str:
    """Write values with commas between them; one that has commas itself in quotes."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(values)
    return out.getvalue()


def built(form: dict[str, list[str]], name: str) -> str:
    """Write the SQL of a question that was clicked together; the parser judges it."""

    def quoted(column: str) -> str:
        return '"' + column.replace('"', '""') + '"'

    keys = [quoted(key) for key in form.get("group", []) if key]
    measure, column = form.get("measure", ["count"])[-1], form.get("of", [""])[-1]
    words = {"count": "COUNT(*) AS n", "sum": "SUM({}) AS total", "avg": "AVG({}) AS mean"}
    shown = words.get(measure, words["count"]).format(quoted(column))
    where = form.get("where", [""])[-1].strip()
    text = f"SELECT {', '.join([*keys, shown])} FROM {quoted(name)}"  # noqa: S608 - parsed by us, run by nobody
    text += f" WHERE {where}" if where else ""
    return text + (f" GROUP BY {', '.join(keys)}" if keys else "")


def _wanted(given: dict[str, str]) -> QuestionRequest:
    """Read the form as the model that the API reads."""
    price = {field: given[field] for field in ("epsilon", "accuracy") if given.get(field)}
    pairs = [line for line in given.get("bounds", "").splitlines() if line.strip()]
    keys = dict(_keys(line) for line in given.get("keys", "").splitlines() if line.strip())
    return QuestionRequest.of({
        "question": given.get("question", ""), "purpose": given.get("purpose") or None,
        "price": price, "bounds": pairs or {}, "keys": keys,
    })  # fmt: skip


def _keys(line: str) -> tuple[str, list[str]]:
    """Read a line such as ``sex=female,male``; a value with commas stands in quotes."""
    name, equals, values = line.partition("=")
    if not equals:
        raise ParameterError(
            "A line under 'Values of groups' has no '='; write column=value,value there, as in "
            "sex=female,male."
        )
    [found] = csv.reader([values], skipinitialspace=True)
    return name.strip(), [value.strip() for value in found]


async def submit(call: Call) -> Response:
    """Build, estimate or ask, as the button says."""
    form = await call.form()
    given = values_of(form)
    name, step = call.path["dataset"], given.get("step", "estimate")
    if step == "build":
        return _page(call, given=given | {"question": built(form, name)})
    try:
        wanted = _wanted(given)
        found = await call.house.thread(call.house.opened, name)
        if step == "ask":
            running = await answering.ask(call.house, call.caller, found, wanted, call.granted)
            await answering.wait_for(call.house, running, _WAIT)
            return go(f"/questions/{running.id}")

        def price() -> Any:
            purpose = asking.purpose_of(call.house, call.caller, name, wanted.purpose)
            desk = call.house.desk(found, call.caller.pseudonym, purpose, pricing=True)
            return asking.price_question(call.house, desk, wanted, 0.95)

        estimate, paid = await call.house.thread(price)
    except (SfumatoError, Problem) as error:
        problem = problem_of(error)
        wrong = in_fields(error.message) if isinstance(error, SfumatoError) else problem.detail
        return _page(
            call, problem.status, given=given, wrong=wrong, nearest=problem.further.get("nearest")
        )
    shown = {field: float(value) for field, value in paid.items() if value is not None}
    told = asking.estimate_json(estimate)
    told["notes"] = [in_fields(note) for note in estimate.notes]
    alike = find_alike(
        call.house.office, call.caller.id, name, wanted.model_dump_json(exclude_defaults=True)
    )
    return _page(call, given=given, estimate=told, price=shown, alike=alike)


# -- answers --------------------------------------------------------------------------------


def _mine(call: Call) -> dict[str, Any]:
    row = find_question(call.house.office, call.path["question"])
    if row is None or row["person"] != call.caller.id:
        raise not_found()
    return row


def _answer_of(row: dict[str, Any]) -> Answer | None:
    if row["result"] is None:
        return None
    told = json.loads(row["result"])
    return Answer.again(load_fields(told["artefact"]), standing=None, kind="columns")


def python_code(call: Call, row: dict[str, Any], asked: dict[str, Any]) -> str:
    """Write the Python that asks the same."""
    scheme, host = call.scope.get("scheme", "http"), call.header("host")
    named = {**asked.get("price", {})}
    named |= {field: asked[field] for field in ("bounds", "keys") if asked.get(field)}
    words = "".join(f",\n    {field}={value!r}" for field, value in named.items())
    purpose = f", purpose={row['purpose']!r}" if row["purpose"] else ""
    return (
        "import sfumato as sf\n\n"
        f'client = sf.connect("{scheme}://{host}", token="…")\n'
        f"session = client.session({row['dataset']!r}{purpose})\n"
        f"answer = session.sql(\n    {asked['question']!r}{words},\n)\nprint(answer)\n"
    )


async def answer(call: Call) -> Response:
    """Show an answer: numbers with intervals, a picture, and the Python that does the same."""
    row = _mine(call)
    body, over = asking.question_json(call.house, row, call.caller.pseudonym)
    told = json.loads(body)
    asked = json.loads(row["body"])
    found = _answer_of(row)
    drawn = None if found is None else Markup(found.picture())  # noqa: S704 - escaped where drawn
    shown = page(
        call, "answer.html", title="Answer" if over else "Your question", row=row, told=told,
        asked=asked, answer=told["answer"], picture=drawn, code=python_code(call, row, asked),
        over=over, keys=() if found is None else found.keys,
    )  # fmt: skip
    if not over:
        shown.headers["Refresh"] = "1"
    shown.headers["Content-Security-Policy"] = _POLICY
    return shown


_POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""Pictures carry their style inside; scripts stay ours alone."""


async def download(call: Call) -> Response:
    """Give an answer as CSV, as JSON, or as its picture."""
    row, form = _mine(call), call.path["format"]
    found = _answer_of(row)
    if found is None or form not in {"csv", "json", "svg"}:
        raise not_found()
    named = {"Content-Disposition": f'attachment; filename="answer.{form}"'}
    if form == "json":
        return Response(row["result"], 200, named, JSON)
    if form == "svg":
        return Response(found.picture(), 200, named, "image/svg+xml")
    return Response(as_csv(found), 200, named, "text/csv; charset=utf-8")


def as_csv(found: Answer) -> str:
    """Write an answer as CSV; a text that a spreadsheet would compute is made a plain one."""
    bounds = found.intervals()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header = [*found.columns]
    for name in bounds:
        header += [f"{name}_low", f"{name}_high"]
    writer.writerow([_harmless(cell) for cell in header])
    for place, row in enumerate(found.rows):
        ends: list[Any] = []
        for name in bounds:
            pair = bounds[name][place]
            ends += [None, None] if pair is None else [pair[0], pair[1]]
        writer.writerow([_harmless(cell) for cell in (*row, *ends)])
    return out.getvalue()


def _harmless(cell: Any) -> Any:
    risky = isinstance(cell, str) and cell[:1] in {"=", "+", "-", "@", "\t", "\r"}
    return f"'{cell}" if risky else cell


async def history(call: Call) -> Response:
    """List one's own questions; asking one again is free."""
    rows = list_questions(call.house.office, call.caller.id)
    shown = [row | {"asked": json.loads(row["body"])} for row in rows]
    return page(call, "history.html", title="History", rows=shown)
