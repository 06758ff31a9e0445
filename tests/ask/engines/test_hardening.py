"""What was found broken in shipping query layers, held on every engine."""

from __future__ import annotations

import datetime as dt
import math
import random
import re
import sys
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from any_engine import ENGINES, RARELY_SPARK, SOAK, opener
from recording import requests
from small_tables import Failing

import sfumato as sf
from sfumato.ask.language.refusals import REASONS
from sfumato.ask.plan.dialects import printed
from sfumato.ask.plan.plan import plan
from sfumato.ask.price.grids import grid_for
from sfumato.ask.price.preparation import prepare
from sfumato.ask.sql.parse import parse
from sfumato.dp.accounting.costs import Cost, SpentTotals
from sfumato.dp.accounting.filters import fits, total
from sfumato.dp.neighbours import Row, Unit
from sfumato.errors import DataError, Refused, SfumatoError
from sfumato.govern.spending import Plan
from sfumato.testing.fuzz.grammar import Grammar
from sfumato.testing.fuzz.privacy_loss import totals_of as table
from sfumato.testing.fuzz.visits import KEYS, TAG_ROWS, WARD_ROWS, draw_visits

SALT = b"sixteen bytes of"
SCHEMA = {
    "id": pl.Int64, "ward": pl.String, "x": pl.Float64, "n": pl.Int64, "ok": pl.Boolean,
    "day": pl.Date,
}  # fmt: skip


@pytest.fixture(params=ENGINES)
def kind(request):
    return request.param


@pytest.fixture
def open_on(kind, request):
    return opener(kind, request)


spark_in_soak = pytest.mark.parametrize("kind", RARELY_SPARK, indirect=True)
"""What is refused before an engine is asked, and what the conformance kit asks of Spark, too."""


def frame(**columns):
    """Make a table with the columns of SCHEMA; those not given are NULL."""
    height = len(next(iter(columns.values())))
    return pl.DataFrame({c: columns.get(c, [None] * height) for c in SCHEMA}, schema=SCHEMA)


def exact(engine, text, unit=None):
    """Give the exact totals of a question per group, without noise."""
    facts = {one.name: one for one in engine.tables()}
    prepared = prepare(parse(text, facts), unit or Row(), sf.ApproxDP(9, 0.1), epsilon=1)
    _, asked = requests(prepared, engine, SALT)
    found = [table(engine.aggregate(one)) for one in asked]
    return {key: totals for (key, _), (_, totals) in found[-1].items()}


def step(reach):
    """Give the step of the grid on which values up to this reach are summed."""
    return grid_for((Fraction(0), Fraction(reach)), "real", centred=False).step


def session(engine, unit="row", **given):
    facts = {"unit": unit, "budget": sf.ApproxDP(100, 0.01), "name": "t", **given}
    return sf.Session(engine, **facts)


SHAPES = [
    "SELECT COUNT(*) FROM t", "SELECT SUM(1) FROM t", "SELECT COUNT(1) FROM t",
    "SELECT COUNT(NULL) FROM t", "SELECT SUM(x * 0) FROM t", "SELECT AVG(3) FROM t",
    "SELECT COUNT(*) * 0 + 5 FROM t", "SELECT 5 FROM t", "SELECT MIN(2) FROM t",
    "SELECT COUNT(*) FROM t HAVING COUNT(*) > 0", "SELECT COUNT(*) FROM t LIMIT 1",
    "SELECT ward, COUNT(*) FROM t GROUP BY ward ORDER BY 2 LIMIT 1",
    "SELECT COUNT(*) FROM (SELECT x FROM t) AS s", "SELECT COUNT(*) FILTER (WHERE ok) FROM t",
    "SELECT SUM(CASE WHEN ok THEN 1 ELSE 0 END) FROM t", "SELECT SUM(CAST(ok AS INTEGER)) FROM t",
    "SELECT MAX(n) FROM t", "SELECT MEDIAN(LENGTH(ward)) FROM t",
    "SELECT ward FROM t GROUP BY ward", "SELECT SUM(CLAMP(n, 1, 1)) FROM t",
    "SELECT ward, COUNT(*) FROM t GROUP BY ward HAVING COUNT(*) = 1",
    "SELECT VARIANCE(CLAMP(x, 2, 2)) FROM t", "SELECT COUNT(*) - COUNT(*) FROM t",
]  # fmt: skip


@spark_in_soak
def test_no_shape_of_question_is_free_and_exact(open_on):
    engine = open_on(frame(ward=["a", "b", "a"], x=[1.0, 2.0, 3.0], n=[1, 2, 3]), name="t")
    for text in SHAPES:
        with session(engine) as one:
            try:
                answer = one.sql(text, epsilon=1)
            except SfumatoError:
                assert one.spent.epsilon == 0
                continue
            assert not answer.cost.is_nothing, text
            assert one.spent.epsilon > 0, text
            for column in answer.measures.values():
                if None in column.noises:  # only sums that are 0 whatever the data lack noise
                    assert column.recipe.grid is not None, text
                    assert column.recipe.grid.ends == (0, 0), text
                    assert column.noises[-1] is not None, text


@spark_in_soak
def test_one_null_moves_no_sum(open_on):
    values = [10.0] * 10
    facts = {"name": "t", "bounds": {"x": (0, 20), "n": (0, 5)}}
    question = "SELECT SUM(x), COUNT(x), SUM(x + n), AVG(x) FROM t"
    without = exact(open_on(frame(x=values, n=[1] * 10), **facts), question)
    other = exact(open_on(frame(x=[*values, None], n=[1] * 11), **facts), question)
    assert without == other
    assert other[()][0] * step(20) == 100
    assert other[()][1] == 10


@pytest.mark.parametrize(
    ("kind", "groups"),
    [
        pytest.param(kind, k, marks=SOAK if kind == "spark" and k != 3 else ())
        for kind in ENGINES for k in (1, 3, 7)
    ],
    indirect=["kind"],
)  # fmt: skip
def test_a_bound_of_k_groups_keeps_k_and_not_the_same_for_everybody(open_on, groups):
    people, wards = range(40), "abcdef"
    rows = [(p, w) for p in people for w in wards]
    random.Random(3).shuffle(rows)
    ids, kept = zip(*rows, strict=True)
    engine = open_on(frame(id=list(ids), ward=list(kept)), name="t", person="id")
    unit = Unit("id", groups=groups, rows_per_group=1)
    facts = {one.name: one for one in engine.tables()}
    question = parse("SELECT ward, COUNT(DISTINCT id) FROM t GROUP BY ward", facts)
    prepared = prepare(question, unit, sf.ApproxDP(9, 0.1), epsilon=1)
    _, (request,) = requests(prepared, engine, SALT)
    counted = {key: count for (key, _), (count, _) in table(engine.aggregate(request)).items()}
    assert sum(counted.values()) == len(people) * min(groups, len(wards))
    if groups < len(wards):
        assert len(counted) == len(wards)  # no ward is left out for everybody …
        assert max(counted.values()) < len(people)  # … and none is kept for everybody


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        *((kind, Unit("id", groups=2, rows_per_group=2)) for kind in ENGINES),
        *((kind, Unit("id", rows=3)) for kind in ENGINES if kind != "spark"),
        pytest.param("spark", Unit("id", rows=3), marks=SOAK),
    ],
    indirect=["kind"],
    ids=str,
)
def test_the_choice_does_not_depend_on_the_order_of_rows(open_on, unit):
    rows = [(p, w, float(v)) for p in range(12) for w in "abc" for v in range(4)]
    results = []
    for seed in (1, 2):
        random.Random(seed).shuffle(rows)
        ids, wards, xs = map(list, zip(*rows, strict=True))
        engine = open_on(
            frame(id=ids, ward=wards, x=xs), name="t", person="id", bounds={"x": (0, 4)}
        )
        question = "SELECT ward, SUM(x) FROM t GROUP BY ward"
        results.append(exact(engine, question, unit))
    assert results[0] == results[1]


def test_nan_survives_no_clamp(open_on):
    values = [math.nan, math.inf, -math.inf, None, 4.0]
    engine = open_on(frame(x=values), name="t", bounds={"x": (0, 16)})
    found = exact(
        engine,
        "SELECT SUM(x), COUNT(x), SUM(CLAMP(x, 0, 8)), SUM(LEAST(x, 8)), SUM(COALESCE(x, 2)), "
        "SUM(CASE WHEN x > 1 THEN 1 ELSE 0 END), COUNT(CASE WHEN x = x THEN 1 END), "
        "SUM(CASE WHEN x IS NULL THEN 1 ELSE 0 END) FROM t",
    )[()]
    assert found[0] * step(16) == 20  # 16 + 0 + 4
    assert found[1] == 3
    assert found[2] * step(8) == 12  # 8 + 0 + 4
    assert found[3] * step(8) == 12
    assert found[4] * step(16) == 24
    assert found[5:] == (2, 3, 2)


def test_overflow_neither_raises_nor_wraps(open_on):
    wholes = [2**63 - 1, -(2**63), 2**62, 2**62, 2**62, 3]
    reals = [1e308, -1e308, 1e308, 1e308, 5e-324, 2.0]
    engine = open_on(frame(n=wholes, x=reals), name="t")
    most = 2**53
    found = exact(
        engine,
        "SELECT SUM(CLAMP(n, -9007199254740992, 9007199254740992)), SUM(CLAMP(n * n, 0, 1024)), "
        "SUM(CLAMP(x * x * x, -1024, 1024)), SUM(CLAMP(n + n - n, 0, 1024)) FROM t",
    )[()]
    clamped = [min(max(n, -most), most) for n in wholes]
    expected = sum(math.floor(n / step(most) + Fraction(1, 2)) for n in clamped)
    assert found[0] == expected
    assert found[1] == 5 * 1024 + 9
    assert found[2] * step(1024) == 3 * 1024 - 1024 + 0 + 8
    assert found[3] == 4 * 1024 + 3
    for text in ("SELECT SUM(" + "*".join(["n"] * 20) + ") FROM t",
                 "SELECT SUM(CLAMP(" + "*".join(["x"] * 30) + ", 0, 1)) FROM t"):  # fmt: skip
        with session(engine) as one:
            with pytest.raises(Refused) as caught:
                one.sql(text, epsilon=1)
            assert caught.value.code in {"too_large", "too_small"}


def test_sums_of_many_large_numbers_do_not_wrap(open_on):
    engine = open_on(frame(n=[2**30] * 3000), name="t")
    text = "SELECT SUM(CLAMP(n, 0, 1073741824)), VARIANCE(CLAMP(n, 0, 65536)) FROM t"
    found = exact(engine, text)[()]
    assert found[0] == 2**30 * 3000
    assert (2**15) ** 2 * 3000 in found  # squares about the centre


@spark_in_soak
def test_a_cast_quotes_nothing_since_it_is_not_made(open_on):
    secret = "AB-Positive"
    engine = open_on(frame(ward=[secret, "7", None]), name="t")
    for cast in (
        "CAST(ward AS INTEGER)", "ward::DOUBLE", "TRY_CAST(ward AS INTEGER)", "ward + 1",
        "CAST(ward AS DATE)", "CAST(ward AS BOOLEAN)", "ABS(ward)", "-ward", "ward * 1",
        "EXTRACT(YEAR FROM ward)", "STRPTIME(ward, '%Y')",
    ):  # fmt: skip
        with session(engine) as one:
            with pytest.raises(SfumatoError) as caught:
                one.sql(f"SELECT SUM(CLAMP({cast}, 0, 1)) FROM t", epsilon=1)
            assert secret not in str(caught.value), cast
            assert [entry.kind for entry in one.ledger.entries()] == ["registered"], cast


def test_division_by_zero_signals_nothing(open_on):
    facts = {"name": "t", "bounds": {"x": (-4, 4), "n": (0, 4)}}
    engine = open_on(frame(x=[0.0, -0.0, 2.0, None], n=[0, 4, 0, 2]), **facts)
    found = exact(
        engine,
        "SELECT COUNT(1 / x), COUNT(x / n), COUNT(n / 0), SUM(CLAMP(n / x, -8, 8)), "
        "COUNT(CASE WHEN 1 / x > 0 THEN 1 END), COUNT(1 / (x - 2)), COUNT(x / (n - n)) FROM t",
    )[()]
    assert found[0] == 1
    assert found[1] == 1  # -0.0 / 4
    assert found[2] == 0
    assert found[3] == 0  # 0 / 2.0
    assert found[4] == 1
    assert found[5] == 2  # 0.0 and -0.0
    assert found[6] == 0
    with session(engine) as one:
        assert one.sql("SELECT SUM(CLAMP(1 / x, 0, 1)) FROM t", epsilon=1).epsilon == 1
        assert one.sql("SELECT COUNT(*) FROM t WHERE 1 / x > 0", epsilon=1).epsilon == 1


@spark_in_soak
def test_groups_come_in_the_order_of_their_keys_and_no_other(open_on):
    names = ["b", "a", "Z", "é", "aa", "10", "9"]
    for seed in (1, 2):
        rows = [w for w in names for _ in range(60)]
        random.Random(seed).shuffle(rows)
        engine = open_on(frame(ward=rows), name="t")
        with session(engine) as one:
            found = one.sql("SELECT ward, COUNT(*) FROM t GROUP BY ward", epsilon=9)
            assert found.column("ward") == sorted(names)
            given = one.sql(
                "SELECT ward, COUNT(*) FROM t GROUP BY ward",
                epsilon=1,
                keys={"ward": ["é", "a", "q"]},
            )
            assert given.column("ward") == ["é", "a", "q"]  # the order of the question


@spark_in_soak
def test_errors_are_paid_for_every_time(open_on):
    engine = Failing(open_on(frame(x=[1.0]), name="t"))
    with session(engine, budget=sf.PureDP(2)) as one:
        for spent in (1, 2):
            with pytest.raises(DataError) as caught:
                one.sql("SELECT COUNT(*) FROM t", epsilon=1)
            assert one.spent.epsilon == spent
            assert "measles" not in str(caught.value)
        with pytest.raises(sf.BudgetExceeded):
            one.sql("SELECT COUNT(*) FROM t", epsilon=1)


def test_deltas_add_up_truly():
    budget = sf.ApproxDP(1000, 0.5)
    spent = SpentTotals()
    for _ in range(10_000):
        spent = spent.plus(Cost(epsilon="0.001", delta="0.001"))
    assert spent.delta == 10
    assert not fits(budget, spent)
    assert total(budget, spent).delta == 1  # what 10,000 × 0.001 promises: nothing


@spark_in_soak
def test_a_session_refuses_the_delta_that_is_not_there(open_on):
    engine = open_on(frame(ward=["a"] * 5), name="t")
    with session(engine, budget=sf.ApproxDP(10**4, 0.01)) as one:
        answered = 0
        while one.estimate(_keyed(answered), epsilon=1, delta="0.001").fits and answered < 20:
            _charge(one, _keyed(answered))
            answered += 1
        with pytest.raises(sf.BudgetExceeded):
            one.sql(_keyed(answered), epsilon=1, delta="0.001")
        assert 1 <= answered <= 10
        assert one.spent.delta <= 0.01


def _keyed(place):
    return f"SELECT ward, COUNT(*) FROM t WHERE n <> {place} GROUP BY ward"


def _charge(one, text):
    """Charge a question without answering it."""
    posed = one._submit(text)

    def plan(now):
        prepared = one.desk.prepare(posed, now, epsilon=1, delta="0.001")
        return Plan(prepared.allocation.cost, one.budget)

    one.spending.charge(plan, what=[text], blocks=posed.blocks)


VOLATILE = re.compile(
    r"\b(RANDOM|RAND|RANDN|UUID|GEN_RANDOM_UUID|NOW|CURRENT_\w+|CLOCK_TIMESTAMP|SETSEED|SHUFFLE|"
    r"MONOTONICALLY_INCREASING_ID|ROWID|CTID|TABLESAMPLE|SAMPLE|NEXTVAL)\b",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def drawn():
    """Draw requests of random questions; give them, and the facts of their tables."""
    from sfumato.ask.engines.duckdb import DuckDBEngine

    rng = random.Random(8)
    schema = {
        "id": pl.Int64, "ward": pl.String, "kind": pl.String, "age": pl.Int64, "cost": pl.Float64,
        "raw": pl.Float64, "n": pl.Int64, "ok": pl.Boolean, "day": pl.Date,
    }  # fmt: skip
    engine = DuckDBEngine.open(
        pl.DataFrame(draw_visits(rng, range(3), 3), schema=schema),
        person="id", name="visits", bounds={"age": (0, 9)}, domains=KEYS,
        private={"stays": pl.DataFrame({"id": [1], "ward": ["a"], "nights": [2]})},
        public={"wards": pl.DataFrame(WARD_ROWS),
                "tags": pl.DataFrame(TAG_ROWS)},
    )  # fmt: skip
    facts = {one.name: one for one in engine.tables()}
    grammar, found = Grammar(rng), []
    unit = Unit("id", groups=2, rows_per_group=2)
    while len(found) < 12:
        try:
            question = parse(grammar.question(), facts)
            prepared = prepare(question, unit, sf.ApproxDP(9, 0.1), epsilon=1)
        except SfumatoError:
            continue
        found += requests(prepared, engine, SALT)[1]
    return found, facts


@pytest.mark.parametrize("dialect", ENGINES)
def test_no_plan_draws_random_numbers_or_depends_on_when_it_runs(dialect, drawn):
    asked, facts = drawn
    for request in asked:
        text = printed(plan(request, facts), dialect)
        assert not VOLATILE.search(re.sub(r"'[^']*'", "''", text))
        assert text == printed(plan(request, facts), dialect)


@spark_in_soak
def test_the_same_request_has_the_same_answer(open_on):
    rows = [(p, w, float(v)) for p in range(9) for w in "abc" for v in range(3)]
    ids, wards, xs = map(list, zip(*rows, strict=True))
    engine = open_on(frame(id=ids, ward=wards, x=xs), name="t", person="id")
    text = "SELECT ward, SUM(CLAMP(x, 0, 2)) FROM t GROUP BY ward"
    unit = Unit("id", rows=4)
    assert exact(engine, text, unit) == exact(engine, text, unit)


FUNCTIONS = (
    "my_function(x)", "leak(x)", "pg_sleep(10)", "read_csv('/etc/passwd')", "getenv('HOME')",
    "pg_read_file('x')", "reflect('java.lang.System', 'exit', 1)", "java_method('a', 'b')",
    "current_setting('x')", "query('SELECT 1')", "random()", "rand()", "uuid()", "now()", "sqrt(x)",
    "error('x')", "raise_error('x')", "assert_true(ok)", "md5(ward)", "x -> x", "list_sum([x])",
    "nextval('s')", "setseed(1)", "regexp_matches(ward, '(a+)+$')", "public.abs(x)", "exp(x)",
    "ln(x)",
)  # fmt: skip


@spark_in_soak
def test_functions_of_others_are_refused(open_on):
    engine = open_on(frame(x=[1.0], ward=["a"]), name="t")
    with session(engine) as one:
        for call in FUNCTIONS:
            for text in (f"SELECT SUM(CLAMP({call}, 0, 1)) FROM t",
                         f"SELECT COUNT(*) FROM t WHERE {call} = 1",
                         f"SELECT {call}, COUNT(*) FROM t GROUP BY 1"):  # fmt: skip
                with pytest.raises(Refused) as caught:
                    one.sql(text, epsilon=1)
                assert caught.value.code in REASONS, text
        assert [entry.kind for entry in one.ledger.entries()] == ["registered"]


REFUSED = (
    "SELECT x FROM t", "SELECT * FROM t", "SELECT COUNT(DISTINCT ward) FROM t",
    "SELECT SUM(ward) FROM t", "SELECT COUNT(*) FROM t WHERE ward = 3", "SELECT MAX(ward) FROM t",
    "SELECT x, COUNT(*) FROM t GROUP BY x", "SELECT COUNT(*) FROM t UNION SELECT COUNT(*) FROM t",
    "SELECT SUM(x) OVER () FROM t", "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)",
    "SELECT COUNT(*) FROM other", "SELECT COUNT(nothing) FROM t", "SELECT", "SELECT SUM(x * x / 0",
    "SELECT SUM(CAST(ward AS INTEGER)) FROM t",
    "SELECT SUM(n*n*n*n*n*n*n*n*n*n*n*n*n*n*n*n*n*n*n*n) FROM t",
)  # fmt: skip


@spark_in_soak
def test_refusals_are_the_same_on_any_data(open_on):
    tables = (
        frame(x=[], ward=[]),
        frame(x=[math.nan, 1e308, 0.0], ward=["it's", "12", None], n=[2**63 - 1, 0, -5],
              ok=[True, None, False], day=[dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
    )  # fmt: skip
    told = []
    for one_table in tables:
        with session(open_on(one_table, name="t")) as one:
            refusals = []
            for text in REFUSED:
                with pytest.raises(Refused) as caught:
                    one.sql(text, epsilon=1)
                assert caught.value.code in REASONS
                refusals.append((caught.value.code, str(caught.value), caught.value.nearest))
            told.append(refusals)
    assert told[0] == told[1]


LITERALS = (
    "it's", "'; DROP TABLE t; --", 'a"b', "\\", "\\'", "\\\\' OR 1=1 --", "/* x */", "-- x", "%",
    "_", "''", "x' OR 'a'='a", "\n\t", "日本 ✓", "$$x$$", "${x}", "{x}", "\x1f", "E'\\n'", "%s",
    ":x", "?", "`",
)  # fmt: skip


def test_literals_inject_nothing(open_on):
    engine = open_on(frame(ward=[*LITERALS, "plain", None]), name="t")
    literals = ["'" + text.replace("'", "''") + "'" for text in LITERALS]
    each = ", ".join(f"COUNT(CASE WHEN ward = {one} THEN 1 END)" for one in literals)
    assert exact(engine, f"SELECT {each} FROM t")[()] == (1,) * len(LITERALS)
    listed = ", ".join(literals)
    found = exact(engine, f"SELECT COUNT(ward) FROM t WHERE ward IN ({listed})")
    assert found[()][0] == len(LITERALS)
    with session(engine) as one:
        keyed = one.sql(
            "SELECT ward, COUNT(*) FROM t GROUP BY ward",
            epsilon=50,
            keys={"ward": [*LITERALS, None]},
        )
        assert keyed.column("ward") == [*LITERALS, None]
        assert keyed.column("count") == [1] * (len(LITERALS) + 1)  # ε = 50: no noise to speak of


NAMES = (
    'a"b',
    "it's",
    "x; DROP TABLE t; --",
    "sélect",
    "SELECT",
    "a b",
    "%s",
    "/*",
    "日本",
    "1",
    "$1",
)


def test_names_inject_nothing(open_on):
    table_ = pl.DataFrame({name: [float(i), None] for i, name in enumerate(NAMES)})
    title = 'visits"; DROP SCHEMA sfumato; --'
    engine = open_on(table_, name=title)
    quoted = ['"' + name.replace('"', '""') + '"' for name in NAMES]
    from_ = '"' + title.replace('"', '""') + '"'
    sums = ", ".join(f"SUM(CLAMP({name}, 0, 100))" for name in quoted)
    found = exact(engine, f"SELECT {sums} FROM {from_}")[()]
    assert [one * step(100) for one in found] == list(range(len(NAMES)))
    with sf.Session(
        engine, unit="row", budget=sf.PureDP(9), name=title, analyst="o'Neil; --"
    ) as one:
        assert one.sql(f"SELECT COUNT(*) FROM {from_}", epsilon=9).epsilon == 9
        assert one.ledger.verify().ok
