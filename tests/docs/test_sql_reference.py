"""Every line of the reference on SQL is asked: what it calls answered is, what it calls refused
is refused with the code it names, and the questions it offers instead are answered."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from sfumato.ask.language.language import Function
from sfumato.errors import Refused

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/sql.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
REFUSED = SECTIONS.pop("What is refused, and what to ask instead")


def cells(text):
    """Read the rows of tables that begin with code."""
    return [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| `")]


def code(cell):
    return re.search(r"`([^`]+)`", cell)[1]


SHOWN = [code(row[0]) for text in SECTIONS.values() for row in cells(text)]
ROWS = [(code(asked), code(reason), code(instead)) for asked, reason, instead in cells(REFUSED)]


@pytest.fixture(scope="module")
def session():
    names: dict[str, object] = {}
    setup = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    exec(compile(setup, "sql.md", "exec", dont_inherit=True), names)
    return names["session"]


def test_the_tables_are_found():
    assert len(SHOWN) > 50
    assert len(ROWS) > 20


@pytest.mark.parametrize("sql", SHOWN)
def test_what_is_shown_is_answered(session, sql):
    answer = session.sql(statement(sql), epsilon=0.1)
    assert answer.columns


def statement(sql):
    """Ask a term for the number of its values."""
    return sql if sql.startswith(("SELECT", "WITH")) else f"SELECT COUNT({sql}) FROM visits"


@pytest.mark.parametrize(("asked", "reason", "instead"), ROWS)
def test_what_is_refused_is_refused_for_that_reason(session, asked, reason, instead):
    before = session.spent
    with pytest.raises(Refused) as refusal:
        session.sql(asked, epsilon=0.1)
    assert refusal.value.code == reason
    assert session.spent == before
    assert session.sql(instead, epsilon=0.1).columns


SPELT = {"weekday": "EXTRACT(dow", "sqrt": "CORR("} | {
    f"{period}_start": f"DATE_TRUNC('{period}'" for period in ("year", "quarter", "month", "week")
}


def test_every_function_of_the_language_is_on_the_page():
    spelt = [SPELT.get(name, f"{name.upper()}(") for name in get_args(Function)]
    assert [text for text in spelt if text not in PAGE] == []
