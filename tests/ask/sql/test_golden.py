"""Golden pairs: a question, and its canonical text or the reason of its refusal.

A block of a file is a question on one line, then ``= text`` or ``! code: sentence`` and perhaps
``? nearest``. A change of a file is a change of the language, and is read as one. Sentences are
there to be read; codes are compared, since parsers print what they refuse each in its own way.
"""

from __future__ import annotations

import pytest
from clinic import FACTS
from golden_blocks import blocks

from sfumato.ask.language.canonical import canonical
from sfumato.ask.language.refusals import REASONS
from sfumato.ask.sql.parse import parse
from sfumato.errors import Refused


def outcome(question):
    try:
        return [f"= {canonical(parse(question, FACTS))}"]
    except Refused as refused:
        told = [f"! {refused.code}: {refused}"]
        return told if refused.nearest is None else [*told, f"? {refused.nearest}"]


@pytest.mark.parametrize(("question", "expected"), list(blocks()))
def test_golden(question, expected):
    given = outcome(question)
    if expected[0].startswith("!"):
        assert given[0].split(":")[0] == expected[0].split(":")[0]
    else:
        assert given == expected


def test_nearest_questions_can_be_answered():
    count = 0
    for param in blocks():
        _, expected = param.values
        for line in expected:
            if line.startswith("? "):
                assert parse(line[2:], FACTS).measures
                count += 1
    assert count > 100


def test_most_reasons_have_an_example():
    shown = {
        line[2:].split(":")[0] for param in blocks() for line in param.values[1] if line[0] == "!"
    }
    elsewhere = {"unreadable", "too_long", "too_deep", "too_many_groups", "not_condition"}
    elsewhere |= {"unknown_keys", "unit_bounds", "people_filter", "nothing_asked"}  # by a session
    elsewhere |= {"grouping_item", "grouping_order", "too_many_sets"}  # before any is parsed
    elsewhere |= {"condition", "unasked_column", "untyped_column"}  # by histograms and tables
    assert set(REASONS) - shown - elsewhere == set()
