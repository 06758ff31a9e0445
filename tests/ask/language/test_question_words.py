"""Questions of the ledger in words: every canonical text is read, and says the same again."""

from __future__ import annotations

import json
import random
import re

import pytest
from clinic import FACTS
from golden_blocks import blocks
from random_sql import likely

from sfumato.ask.language.canonical import canonical, write
from sfumato.ask.language.canonical_reader import read_back
from sfumato.ask.language.question_tree import tree_from_json, tree_to_json
from sfumato.ask.language.question_words import in_words, readable, shown
from sfumato.ask.sql.parse import parse
from sfumato.errors import Refused

GOLDEN = [line[2:] for param in blocks() for line in param.values[1] if line.startswith("= ")]
OUR_OWN = (
    "SQRT(",  # of noisy numbers, within CORR
    "same person",
    "per person",
    "one row",
    "groups of",
    "(all FROM",
    "…",
)
"""What stands in words where SQL has no short form."""


def unclamped(words):
    """Leave out CLAMP(x, low, high) of measures, as the bounds are those of the columns."""
    begin = words.find("CLAMP(")
    if begin < 0:
        return words
    depth, end, commas = 1, begin + len("CLAMP("), []
    while depth:
        depth += {"(": 1, ")": -1}.get(words[end], 0)
        commas += [end] * (words[end] == "," and depth == 1)
        end += 1
    inner = words[begin + len("CLAMP(") : commas[-2]]
    return unclamped(words[:begin] + inner + words[end:])


def asked_again(words):
    """Read words as SQL, of tables whose person is the column patient."""
    sql = unclamped(words.replace("DISTINCT person", "DISTINCT patient"))
    head, grouped, tail = sql.partition(" GROUP BY ")
    tail = re.sub(r" IN \([^)]*\)", "", tail)
    return canonical(parse(f"{head}{grouped}{tail}", FACTS))


@pytest.mark.parametrize("text", GOLDEN, ids=[text[:70] for text in GOLDEN])
def test_every_golden_question_is_read(text):
    words = readable(text)
    assert words.startswith("SELECT ")
    assert '":' not in words  # no kind of a column is left


def test_words_mean_what_the_canonical_text_says():
    """Where words are SQL they parse to the same canonical text."""
    same, different = 0, []
    for text in GOLDEN:
        words = readable(text)
        if any(sign in words for sign in OUR_OWN):
            continue
        try:
            again = asked_again(words)
        except Refused:  # a column of two tables without its table
            assert "JOIN" in words, words
            continue
        same += again == text
        different += [words] * (again != text)
    assert different == []
    assert same > 60


def test_random_questions_are_read():
    count = 0
    for seed in range(400):
        try:
            text = canonical(parse(likely(random.Random(seed)), FACTS))
        except Refused:
            continue
        assert readable(text).startswith("SELECT "), text
        count += 1
    assert count > 50


def test_what_is_no_question_is_shown_as_it_is():
    for text in ("SELECT 1", "", "{", "[1, 2]", '{"question": 7}', '["a", 2]', "{from: x(", "null"):
        assert [one.question for one in in_words(text)] == [text]
    broken = json.dumps({"question": "{from: scan(", "price": {"epsilon": "x"}, "blocks": 3})
    assert [str(one) for one in in_words(broken)] == ["{from: scan("]


def test_price_blocks_and_questions_asked_together():
    one = json.dumps({
        "question": '{from: scan("t"); keys: []; measures: [(count)]; show: [m0]}',
        "price": {"epsilon": "1/10", "delta": "1/1000000"},
        "blocks": ["main", "block 2"],
    })  # fmt: skip
    found = in_words(json.dumps([one, one.replace("count", "people")]))
    assert [two.question for two in found] == [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(DISTINCT person) FROM t",
    ]
    assert {(two.price, two.blocks) for two in found} == {
        ("ε = 0.1, δ = 1e-06", ("main", "block 2"))
    }


def test_a_column_named_like_a_measure_is_a_column():
    text = (
        '{from: filter(scan("k0"), ("k0":integer = 1.0)); keys: ["m0":text in found]; '
        'measures: [(sum of "public0":real within [0.0, 1.0])]; show: [k0, m0]}'
    )
    assert readable(text) == (
        "SELECT m0, SUM(CLAMP(public0, 0, 1)) FROM k0 WHERE k0 = 1 GROUP BY m0"
    )


HALF_TRUE = [
    '{from: filter(sc, n("t")); keys: []; measures: [(count)]; show: [m0]}',
    '{from: scan("a\\q"); keys: []; measures: [(count)]; show: [m0]}',
    '{from: scan("\\ud800"); keys: []; measures: [(count)]; show: [m0]}',
    '{from: scan("t"); measures: [(quantile of "x":real order 1/0)]}',
    '{from: scan("t"); measures: [(quantile of "x":real order x/y)]}',
    '{from: join_public0(scan("t")); show: [like("x")]}',
    "{from: filter(); show: []}",
    '{from: scan("t"); show: [not()]}',
]


@pytest.mark.parametrize("text", HALF_TRUE)
def test_a_text_that_lacks_something_is_shown_as_it_is(text):
    whole = json.dumps({"question": text, "price": {"epsilon": "1/10"}, "blocks": ["main"]})
    (found,) = in_words(whole)
    assert (found.question, found.price) == (text, "ε = 0.1")


def test_no_broken_text_makes_words_fail():
    rng = random.Random(4)
    pieces = ["", "(", ")", '"', "{", "[", ", ", "null", "1", '\\"', ";", "/0", "\\u", "not(", ": "]
    for text in GOLDEN * 8:
        broken = list(text)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(broken))
            broken[at : at + rng.randint(0, 4)] = rng.choice(pieces)
        changed = "".join(broken)
        words = readable(changed)
        assert words == changed or words.startswith("SELECT ")
        outer = json.dumps({"question": changed, "price": {"epsilon": "1/10"}, "blocks": ["main"]})
        cut = rng.randrange(len(outer))
        for whole in (outer, outer[:cut], f"[{json.dumps(outer)}, {json.dumps(outer[:cut])}]"):
            assert all(isinstance(str(one), str) for one in in_words(whole))


@pytest.mark.parametrize("count", [100, pytest.param(5000, marks=pytest.mark.soak)])
def test_the_tree_that_is_kept_is_what_the_text_says(count):
    """The writer's tree, by way of JSON, against the reader of texts, which shares nothing."""
    questions = list(_asked(count))
    assert len(questions) > 150
    for question in questions:
        text, tree = write(question)
        assert text == canonical(question)
        kept = tree_from_json(json.loads(json.dumps(tree_to_json(tree))))
        assert kept == tree == read_back(text)
        assert shown(tree_to_json(tree)) == readable(text)


def _asked(count):
    texts = [likely(random.Random(seed)) for seed in range(count)]
    for sql in [*texts, *(param.values[0] for param in blocks())]:
        try:
            yield parse(sql, FACTS)
        except Refused:
            continue


def test_what_is_no_tree_is_not_shown():
    for broken in (None, {}, [], {"from": ["call"]}, {"from": ["value", 3]}, "SELECT"):
        assert shown(broken) is None
    assert in_words("anything", [None])[0].question == "anything"


def test_entries_that_kept_no_tree_are_still_told():
    text = canonical(parse("SELECT COUNT(*) FROM visits WHERE age > 5", FACTS))
    kept = json.dumps({"question": text, "price": {"epsilon": "1/10"}, "blocks": ["main"]})
    assert in_words(kept)[0].question == "SELECT COUNT(*) FROM visits WHERE age > 5"
