"""Random text never gives anything but a question or a clear refusal, and quickly."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from clinic import FACTS
from hangs import usually
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_sql import likely, mutated, select

from sfumato.ask.language.analysis import LARGEST, range_of
from sfumato.ask.language.canonical import canonical
from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import Question
from sfumato.ask.language.refusals import REASONS
from sfumato.ask.sql.parse import parse
from sfumato.errors import ParameterError, Refused

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def outcome(sql, **given):
    """Parse; everything but a question or a refusal of ours fails the test."""
    with usually(1):
        found, refused = None, None
        try:
            found = parse(sql, FACTS, **given)
        except Refused as error:
            refused = error
    if refused is not None:
        assert refused.code in set(REASONS) - {"unreadable"}  # what nobody has thought of
        assert str(refused).endswith((".", "?"))
        assert len(str(refused)) < 600
        assert refused.nearest is None or isinstance(parse(refused.nearest, FACTS), Question)
        return refused.code
    assert canonical(found) == canonical(parse(sql, FACTS, **given))
    for measure in found.measures:
        for term in (measure.term, measure.where):
            assert term is None or range_of(term) is None or range_of(term).most <= LARGEST
    shown = [one.expression for one in found.outputs] + [term for term, _ in found.order]
    for number in (None, 0, -3, 2.5, 1e308, Fraction(1, 3)):
        row = {one.name: (one.values or (None,))[0] for one in found.keys}
        row |= {one.name: number for one in found.measures}
        for term in shown if found.having is None else [*shown, found.having]:
            value = evaluate(term, row, noisy=True)
            assert not isinstance(value, float) or math.isfinite(value)
    return "answered"


def test_what_nobody_has_thought_of_is_refused(monkeypatch):
    monkeypatch.setattr("sfumato.ask.sql.parse.question", lambda *_: 1 / 0)
    with pytest.raises(Refused) as caught:
        parse("SELECT COUNT(*) FROM visits", FACTS)
    assert caught.value.code == "unreadable"
    assert caught.value.__suppress_context__


def outcomes(make, count):
    return Counter(outcome(make(random.Random(seed))) for seed in range(count))


def many(few, all_):
    """Try few in a run, and all in the soak."""
    return pytest.mark.parametrize("count", [few, pytest.param(all_, marks=pytest.mark.soak)])


@many(120, 5000)
def test_sql_of_the_grammar(count):
    seen = outcomes(lambda rng: select(rng, 2), count)
    assert seen["answered"] > 5 or count < 500  # they are rare
    assert len(seen) > 10


@many(50, 2000)
def test_likely_sql_is_mostly_answered(count):
    seen = outcomes(likely, count)
    assert seen["answered"] > count / 2


@many(120, 5000)
def test_mutated_sql(count):
    seen = outcomes(lambda rng: mutated(rng, likely(rng)), count)
    assert seen["syntax"] > count / 8
    assert len(seen) > 5


@QUICK
@given(st.text(max_size=60))
def test_any_text(text):
    outcome(text)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits WHERE " + "(" * 5_000 + "age" + ")" * 5_000 + " > 3",
        "SELECT COUNT(*) FROM visits WHERE " + "NOT " * 4_000 + "smoker",
        "SELECT COUNT(*) FROM visits WHERE age = " + "- " * 5_000 + "1",
        "SELECT COUNT(*) FROM visits WHERE " + "1 + " * 4_000 + "age > 3",
        "SELECT COUNT(*) FROM visits WHERE " + " AND ".join(["age > 3"] * 1_500),
        "SELECT COUNT(*) FROM visits WHERE " + " OR ".join(f"age = {i}" for i in range(1_400)),
        "SELECT COUNT(*) FROM visits WHERE age IN (" + ",".join(map(str, range(4_000))) + ")",
        "SELECT " + "CASE WHEN smoker THEN " * 800 + "1" + " END" * 800 + " FROM visits",
        "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 60 + "visits" + ")" * 60,
        "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 700 + "visits" + ")" * 700,
        "SELECT " + ", ".join(["COUNT(*)"] * 1_500) + " FROM visits",
        "SELECT COUNT(*) FROM visits " + "JOIN wards USING (ward) " * 500,
        "SELECT COUNT(*) FROM visits " + "UNION SELECT COUNT(*) FROM visits " * 400,
        "SELECT " + "ABS(" * 3_000 + "1" + ")" * 3_000 + " FROM visits",
        "WITH " + ", ".join(f"a{i} AS (SELECT * FROM visits)" for i in range(400)) + " SELECT 1",
        "SELECT COUNT(*) FROM visits WHERE age > 1e999999999",
        "SELECT COUNT(*) FROM visits WHERE age > " + "9" * 15_000,
        "SELECT COUNT(*) FROM visits LIMIT " + "9" * 5_000,
        "x" * 1_000_000,
        "SELECT COUNT(*) FROM visits WHERE age[" + "[" * 4_000,
        "SELECT COUNT(*) FROM visits GROUP BY age, days, FLOOR(cost), MONTH(day), age + 1, age - 1",
        "SELECT COUNT(*) FROM visits WHERE name LIKE '" + "%a" * 8_000 + "'",
    ],
)
def test_hostile_sizes_are_quick(sql):
    with usually(2):
        code = outcome(sql)
        assert code in {"answered", *REASONS}


def test_projections_that_multiply_are_stopped():
    sql = "SELECT patient, age AS x FROM visits"
    for _ in range(7):
        sql = f"SELECT patient, {' + '.join(['x'] * 20)} AS x FROM ({sql})"
    assert outcome(f"SELECT SUM(x) FROM ({sql})") in {"too_long", "too_deep"}


@settings(QUICK, max_examples=100)
@given(st.text(min_size=1, max_size=20), st.text(max_size=20))
def test_names_and_texts_are_only_names_and_texts(name, text):
    quoted, literal = name.replace('"', '""'), text.replace("'", "''")
    sql = f"""SELECT COUNT(*) AS "{quoted}" FROM visits WHERE name = '{literal}'"""
    code = outcome(sql)
    if code != "answered":
        assert code in {"unsupported", "long_name", "syntax", "one_statement"}
        return
    found = parse(sql, FACTS)
    assert found.outputs[0].name == name
    assert found.relation.condition.right.value == text


PAIRS = st.one_of(
    st.tuples(st.floats(), st.floats()), st.none(), st.text(max_size=2), st.just((0, 5))
)
VALUES = st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3), st.floats()))


@settings(QUICK, max_examples=80)
@given(
    st.dictionaries(st.sampled_from(["age", "cost", "n", "zzz"]), PAIRS),
    st.dictionaries(st.sampled_from(["ward", "name", "age"]), st.one_of(st.none(), VALUES)),
)
def test_given_bounds_and_keys(bounds, keys):
    sql = "SELECT name, age, SUM(cost) AS n FROM visits GROUP BY name, age"
    try:
        code = outcome(sql, bounds=bounds, keys=keys)
    except ParameterError:
        return
    assert code == "answered"
