"""One text for all ways to write a question, and different texts for different questions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from clinic import FACTS
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies_of_questions import conditions, numbers, rows

from sfumato.ask.language.canonical import canonical
from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import Column, Compare, Constant, IsNull, Logic, Not, OneOf
from sfumato.ask.language.normal_form import normal_text, value_text
from sfumato.ask.language.question_words import readable
from sfumato.ask.sql.parse import parse


def text(sql, **given):
    return canonical(parse(sql, FACTS, **given))


SAME = [
    [
        "SELECT COUNT(*) FROM visits WHERE age >= 65 AND smoker AND ward IN ('east', 'west')",
        "select count(*) as n from VISITS where Smoker and 65 <= AGE and ward in ('west','east')",
        ("SELECT COUNT(*) FROM visits v WHERE v.ward IN ('west', 'east', 'west') AND smoker = TRUE"
        " AND NOT (v.age < 60 + 5)"),
        ("SELECT COUNT(*) FROM (SELECT age AS a, smoker, ward w FROM visits WHERE age >= 65) AS s"
        " WHERE smoker AND (w = 'east' OR w = 'west')"),
        ("WITH s AS (SELECT * FROM visits WHERE smoker) SELECT COUNT(*) FROM s"
        " WHERE (ward = 'west' OR ward = 'east') AND age >= 130 / 2"),
        ('SELECT COUNT(*) FROM "visits" /* a comment */ WHERE ("age" >= 65.0) AND smoker -- note\n'
        " AND ward IN ('east', 'west')"),
        ("SELECT COUNT(*) FROM visits WHERE NOT (age < 65 OR NOT smoker OR ward NOT IN"
        " ('east', 'west'))"),
    ],
    [
        "SELECT COUNT(*) FROM visits WHERE age BETWEEN 10 AND 20",
        "SELECT COUNT(*) FROM visits WHERE age >= 10 AND age <= 20",
        "SELECT COUNT(*) FROM visits WHERE NOT (age < 10 OR age > 20)",
    ],
    [
        "SELECT ward, AVG(cost) AS a, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > 5",
        "SELECT ward AS w, AVG(cost), COUNT(*) AS n FROM visits GROUP BY w HAVING 5 < n",
        "SELECT v.ward, AVG(v.cost), COUNT(*) FROM visits AS v GROUP BY 1 HAVING NOT COUNT(*) <= 5",
    ],
    [
        "SELECT COUNT(*) FROM visits GROUP BY ward, smoker",
        "SELECT COUNT(*) FROM visits GROUP BY smoker, ward",
    ],
    [
        "SELECT MEDIAN(cost) FROM visits",
        "SELECT QUANTILE(cost, 0.5) FROM visits",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) FROM visits",
        "SELECT QUANTILE_CONT(cost, 1/2) FROM visits".replace("1/2", "0.50"),
    ],
    ["SELECT MIN(cost) FROM visits", "SELECT QUANTILE(cost, 0) FROM visits"],
    [
        "SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) t",
        "WITH t AS (SELECT patient p, COUNT(*) c FROM visits GROUP BY p) SELECT AVG(c) FROM t",
        ("SELECT AVG(k) FROM (SELECT patient, COUNT(*) AS k, SUM(cost) AS unused FROM visits"
        " GROUP BY patient) t"),
    ],
    [
        "SELECT SUM(v.cost) FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.beds > 5",
        "SELECT SUM(cost) FROM wards JOIN visits USING (ward) WHERE 5 < beds",
        "SELECT SUM(a.cost) FROM visits a INNER JOIN wards b ON b.ward = a.ward AND b.beds > 5",
    ],
    [
        "SELECT SUM(CLAMP(weight, 0, 9)) FROM visits",
        "SELECT SUM(LEAST(9, GREATEST(0, weight))) FROM visits",
    ],
    ["SELECT COUNT(*) FROM visits", "SELECT COUNT(patient) FROM visits",
     "SELECT COUNT(*) FROM visits WHERE TRUE"],
    ["SELECT SUM(age + cost) FROM visits", "SELECT SUM(cost + age) FROM visits"],
    ["SELECT VARIANCE(cost) FROM visits", "SELECT VAR_SAMP(cost) FROM visits"],
]  # fmt: skip


@pytest.mark.parametrize("group", SAME)
def test_ways_to_write_one_question_have_one_text(group):
    assert len({text(sql) for sql in group}) == 1


def test_different_questions_have_different_texts():
    texts = [text(group[0]) for group in SAME]
    texts += [
        text(sql)
        for sql in (
            "SELECT COUNT(*) FROM visits WHERE age > 65",
            "SELECT COUNT(*) FROM visits WHERE age > 65.5",
            "SELECT COUNT(*) FROM visits WHERE ward = 'east'",
            "SELECT COUNT(*) FROM visits WHERE name = 'east'",
            "SELECT COUNT(*) FROM stays",
            "SELECT COUNT(DISTINCT patient) FROM visits",
            "SELECT COUNT(ward) FROM visits",
            "SELECT COUNT(*) FILTER (WHERE smoker) FROM visits",
            "SELECT COUNT(*) FROM visits WHERE smoker",
            "SELECT VAR_POP(cost) FROM visits",
            "SELECT MAX(cost) FROM visits",
            "SELECT COUNT(*), ward FROM visits GROUP BY ward",
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 1",
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 2",
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 2",
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 2 DESC",
            "SELECT COUNT(*) FROM visits v JOIN stays s USING (patient)",
            "SELECT COUNT(*) FROM visits v LEFT JOIN stays s USING (patient)",
            "SELECT COUNT(*) FROM visits v JOIN stays s USING (patient, ward)",
            "SELECT COUNT(*) FROM visits v JOIN wards w USING (ward)",
            "SELECT COUNT(*) FROM visits v LEFT JOIN wards w USING (ward)",
            "SELECT COUNT(*) FROM (SELECT DISTINCT patient FROM visits) t",
            "SELECT COUNT(*) FROM (SELECT DISTINCT patient, ward FROM visits) t",
            "SELECT COUNT(*) FROM visits WHERE name = 'a\", \"b'",
            "SELECT COUNT(*) FROM visits WHERE name IN ('a', 'b')",
            "SELECT COUNT(*) FROM visits WHERE day = '2020-01-01'",
            "SELECT COUNT(*) FROM visits WHERE name = '2020-01-01'",
            "SELECT SUM(age - cost) FROM visits",
            "SELECT SUM(cost - age) FROM visits",
        )
    ]
    assert len(set(texts)) == len(texts)


def test_bounds_and_keys_are_part_of_the_question():
    sql = "SELECT ward, SUM(weight) AS s FROM visits GROUP BY ward"
    texts = {
        text(sql),
        text(sql, bounds={"weight": (0, 100)}),
        text(sql, bounds={"weight": (0, 200)}),
        text(sql, keys={"ward": ["east"]}),
        text(sql, keys={"ward": ["east", None]}),
        text(sql, keys={"ward": ["east", "west"]}),
    }
    assert len(texts) == 6
    assert text(sql, keys={"ward": ["west", "east"]}) in texts


def shuffled(condition, draw):
    """Write a condition in another way, at random."""
    match condition:
        case Logic(word, terms):
            order = draw(st.permutations(terms))
            inner = tuple(shuffled(term, draw) for term in order)
            if draw(st.booleans()):
                opposite = "or" if word == "and" else "and"
                return Not(Logic(opposite, tuple(Not(term) for term in inner)))
            return Logic(word, (*inner, inner[0]))
        case Not(term):
            return Not(Not(Not(shuffled(term, draw))))
        case Compare(sign, left, right):
            turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
            return Compare(turned[sign], right, left)
        case OneOf(term, values):
            order = draw(st.permutations(values))
            if draw(st.booleans()):
                return Logic("or", tuple(Compare("=", value, term) for value in order))
            return OneOf(term, tuple(order))
    return condition


@settings(max_examples=150, deadline=None)
@given(conditions(2), rows, st.data())
def test_rewritten_conditions_keep_text_and_value(condition, row, data):
    other = shuffled(condition, data.draw)
    assert normal_text(other, {}) == normal_text(condition, {})
    assert evaluate(other, row) == evaluate(condition, row)


X, Y, B = (
    Column("x", "integer", (Fraction(0), Fraction(3))),
    Column("y", "integer"),
    Column("b", "boolean"),
)
SMALL = st.recursive(
    st.one_of(
        st.builds(
            Compare,
            st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
            st.sampled_from([X, Y]),
            st.sampled_from([Y, Constant(1, "integer")]),
        ),
        st.sampled_from([B, IsNull(X), Constant(True, "boolean"), Constant(False, "boolean")]),
    ),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(Logic, st.sampled_from(["and", "or"]), st.tuples(inner, inner)),
    ),
    max_leaves=3,
)
FEW = [
    {"x": x, "y": y, "b": b}
    for x, y, b in itertools.product([None, 0, 1, 2], [None, 0, 1, 2], [None, True, False])
]


def test_equal_texts_mean_equal_values():
    seen: dict[str, tuple] = {}
    collisions = 0

    @settings(max_examples=600, deadline=None, database=None)
    @given(SMALL)
    def check(condition):
        nonlocal collisions
        values = tuple(evaluate(condition, row) for row in FEW)
        known = seen.setdefault(normal_text(condition, {}), values)
        collisions += known is not values
        assert known == values

    check()
    assert collisions > 50


NEAR = [Fraction(base) + sign * tiny
        for base in ("0", "1", "0.1", "-2.5", str(2**53), str(2**53 + 1), str(10**30))
        for tiny in (Fraction(0), Fraction(1, 10**25), Fraction(1, 3 * 10**20))
        for sign in (1, -1)]  # fmt: skip
NEAR += [Fraction(0.1), Fraction(1, 3), Fraction(1 / 3), Fraction(2**0.5), Fraction(5e-324)]


def test_a_literal_is_written_exactly():
    """A whole number is compared with what was written, and not with the double next to it."""
    written = {value: value_text(value) for value in NEAR}
    assert len(set(written.values())) == len(set(NEAR))
    assert all(Fraction(found) == value for value, found in written.items())
    assert [value_text(v) for v in (1, Fraction(1, 2), Fraction("0.1"), 2**53 + 1)] == [
        "1.0", "0.5", "0.1", "9007199254740993",
    ]  # fmt: skip


@pytest.mark.parametrize("condition", ["age > {}", "age <> {}", "age IN ({}, 7)",
                                       "LEAST(age, {}) = 1"])  # fmt: skip
def test_numbers_with_one_double_are_two_questions(condition):
    texts = [
        text(f"SELECT COUNT(*) FROM visits WHERE {condition.format(literal)}")
        for literal in ("1", "0.99999999999999999999", "1.00000000000000000001", "1.00")
    ]
    assert len(set(texts)) == 3
    assert texts[0] == texts[3]
    assert "0.99999999999999999999" in readable(texts[1])


@settings(max_examples=100, deadline=None)
@given(numbers(2), st.integers(0, 3))
def test_another_literal_is_another_text(term, literal):
    one = Compare("<", term, Constant(literal, "integer"))
    other = Compare("<", term, Constant(literal + 1, "integer"))
    columns = normal_text(one, {}) not in {"true", "false", "null"}
    assert not columns or normal_text(one, {}) != normal_text(other, {})


def test_nested_projections_do_not_multiply_the_text():
    sql = "SELECT age AS x FROM visits"
    for _ in range(6):
        sql = f"SELECT GREATEST(x * 0.5, x * 0.25, x * 0.125) AS x FROM ({sql})"
    assert len(text(f"SELECT SUM(x) FROM ({sql})")) < 200_000
