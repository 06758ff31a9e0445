"""The reference on questions in Python: both columns of its table are one question, and it names
every field of an answer."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from sfumato import ask
from sfumato.ask.answers.answer import Answer

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/asking-in-python.md").read_text(
    "utf-8"
)
ROWS = re.findall(r"^\| `(SELECT [^`]+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def names():
    names: dict[str, object] = {}
    setup = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    exec(compile(setup, "asking-in-python.md", "exec", dont_inherit=True), names)
    return names


def test_the_table_is_found():
    assert len(ROWS) > 15


@pytest.mark.parametrize(("sql", "python"), ROWS)
def test_both_columns_are_one_question(names, sql, python):
    answer = eval(compile(python, "asking-in-python.md", "eval"), dict(names)).ask(epsilon=0.1)
    again = names["session"].sql(sql, epsilon=0.1)
    assert again.stored
    assert again.rows == answer.rows


def test_every_field_of_an_answer_is_on_the_page():
    inner = {one.name for one in fields(Answer) if not one.repr}
    public = {name for name in dir(Answer) if not name.startswith("_")} | {
        one.name for one in fields(Answer)
    }
    missing = [
        n for n in public - inner if f"`answer.{n}" not in PAGE and f"Answer.{n}(" not in PAGE
    ]
    assert missing == []


def test_every_word_of_the_language_is_on_the_page():
    assert [word for word in ask.__all__ if not re.search(rf"\b{word}\b", PAGE)] == []
