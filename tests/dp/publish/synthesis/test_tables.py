"""Synthetic tables: domains, kinds of columns, rules, units, and what is refused."""

import datetime as dt
import json
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.data.engines.duckdb import DuckDB
from sfumato.dp.publish.synthesis.columns import Numbers, Texts, coder_of, numbers
from sfumato.dp.publish.synthesis.currencies import Contribution
from sfumato.dp.publish.synthesis.domain_search import show_texts, threshold_for
from sfumato.dp.publish.synthesis.table_codec import TableRecords, bounded_rows
from sfumato.errors import ParameterError, Unsatisfiable

Column = sf.dp.Column


def people(n=3000, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n)
    job = np.where(age < 16, None, rng.choice(["baker", "nurse", "clerk"], n))
    start = pd.Timestamp("1950-01-01")
    return pd.DataFrame(
        {
            "person": rng.integers(0, n // 3, n),
            "age": age,
            "job": job,
            "income": np.where(rng.random(n) < 0.3, 0.0, rng.gamma(2.0, 1000.0, n)),
            "since": start + pd.to_timedelta(rng.integers(0, 9000, n), unit="D"),
        }
    )


KNOWN = {
    "age": Column(bounds=(0, 99)),
    "job": Column(values=["baker", "nurse", "clerk"]),
    "income": Column(bounds=(0.0, 20_000.0), bins=40, special=[0]),
    "since": Column(bounds=("1950-01-01", "1979-12-31")),
}
RULES = ["age >= 16 or job is null", "since < DATE '1970-01-01' or age < 50"]


@pytest.fixture(scope="module")
def made():
    return sf.dp.synthesize(
        people(), columns=KNOWN, epsilon=3, delta=1e-6, constraints=RULES, target="job"
    )


def test_the_promise_the_kinds_and_the_size(made):
    table = made.table
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == list(KNOWN)
    assert abs(len(table) - 3000) < 150
    assert made.promise == sf.ApproxDP(3, 1e-6)
    assert table.age.between(0, 99).all()
    assert table.income.between(0, 20_000).all()
    assert set(table.job.dropna()) <= {"baker", "nurse", "clerk"}
    assert table.since.min() >= pd.Timestamp("1950-01-01")
    assert table.since.max() <= pd.Timestamp("1979-12-31")


def test_missing_cells_and_special_numbers_keep_their_share(made):
    true = people()
    assert abs(made.table.job.isna().mean() - true.job.isna().mean()) < 0.05
    assert abs((made.table.income == 0).mean() - 0.3) < 0.05


def test_no_row_breaks_a_rule(made):
    table = made.table
    assert not ((table.age < 16) & table.job.notna()).any()
    assert not ((table.since >= pd.Timestamp("1970-01-01")) & (table.age >= 50)).any()
    assert made.rules == tuple(RULES)


def test_the_book_is_the_budget(made):
    assert made.spent == sum(charge.price for charge in made.book)
    implied = sf.ZCDP(float(made.spent)).to(sf.ApproxDP, delta=1e-6)
    assert implied.epsilon <= 3 * (1 + 1e-9)
    assert implied.epsilon > 2.999


def test_it_is_a_release_that_is_saved_verified_and_reported(made, tmp_path):
    path = made.save(tmp_path / "out")
    assert sf.verify(path).holds
    facts = json.loads((tmp_path / "out/release.json").read_text(encoding="utf-8"))
    assert facts["shape"] == "synthetic"
    assert facts["truthful"] is False
    assert len(facts["measured_tables"]) == len(made.measurements)
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "Distances to the real data are not shown" in page
    path.write_text(path.read_text(encoding="utf-8") + "1,baker,2,1960-01-01\n", encoding="utf-8")
    assert not sf.verify(path).holds


def test_it_comes_in_kind(tmp_path):
    columns = {"a": list(range(40)), "b": ["x", "y"] * 20}
    known = {"a": Column(bounds=(0, 39)), "b": Column(values=["x", "y"])}
    made = sf.dp.synthesize(columns, columns=known, epsilon=2, delta=1e-5, size=25)
    assert len(made.data["a"]) == 25
    assert all(isinstance(value, int) for value in made.data["a"] if value is not None)
    file = tmp_path / "rows.csv"
    file.write_text("a;b\n" + "".join(f"{a};{b}\n" for a, b in zip(*columns.values(), strict=True)))
    schema = sf.Schema(
        attributes={
            "a": {"role": "quasi", "type": "integer", "domain": (0, 39)},
            "b": {"role": "sensitive", "domain": ["x", "y"]},
        }
    )
    made = sf.dp.synthesize(sf.read(file, schema=schema), epsilon=2, delta=1e-5, size=25)
    assert made.table.a.between(0, 39).all()


# -- cells and codes -------------------------------------------------------------------------


def codes_of(cells, coder, unit=None, rows=1):
    table = sf.read(cells)
    records = TableRecords.code(table, {coder.coded.name: coder}, unit, rows)
    return np.concatenate([piece[0] for piece in records.pieces()]).tolist()


def test_cells_outside_a_domain_raise_nothing():
    coder = numbers("x", (0, 9), "integer", None)
    given = ["-5", "0", "4.5", "9", "77", "", "words"]
    assert codes_of({"x": given}, coder) == [0, 0, 4, 9, 9, 10, 10]
    text = Texts("x", ("a", "b'c"))
    assert codes_of({"x": ["a", "b'c", "stranger", "", None]}, text) == [0, 1, 2, 2, 2]
    other = Texts("x", ("a", "b"), other="other")
    assert codes_of({"x": ["a", "zzz", None]}, other) == [0, 2, 3]


def test_floats_that_are_no_numbers_are_missing():
    coder = Numbers("x", (0.0, 1.0, 5.0), "number", special=(3.0,))
    given = np.array([0.5, 1.0, 3.0, np.nan, np.inf, -np.inf])
    assert codes_of({"x": given}, coder) == [0, 1, 2, 3, 1, 0]


@pytest.mark.parametrize(
    "coder",
    [
        numbers("x", (0, 1000), "integer", None),
        numbers("x", (0, 30), "integer", Column(bins=[0, 10, 30])),
        numbers("x", (-1.0, 1.0), "number", Column(bins=7)),
        numbers("x", ("1999-12-01", "2003-01-05"), None, None),
        Texts("x", tuple("abcdefghij")),
    ],
)
def test_what_is_decoded_has_the_code_it_came_from(coder):
    from sfumato.dp.noise import stream

    codes = np.repeat(np.arange(coder.coded.size, dtype=np.uint32), 30)
    values = coder.decode(codes, stream())
    engine = DuckDB()
    engine.run("SET preserve_insertion_order = true")
    name = engine.register({"c": values.numbers, "c_missing": values.missing})
    cells = [row[0] for row in engine.run(f"SELECT {values.sql('c')} FROM {name}")]
    text = [None if cell is None else str(cell) for cell in cells]
    assert codes_of({"x": text}, coder) == codes.tolist()


def test_dates_come_back_as_dates():
    coder = coder_of("x", Column(bounds=(dt.date(2000, 1, 1), dt.date(2000, 1, 31))), None)
    assert isinstance(coder, Numbers)
    assert coder.bins == 31
    assert codes_of({"x": ["2000-01-01", "2000-01-31", "1999-01-01", "no date"]}, coder) == [
        0,
        30,
        0,
        31,
    ]


# -- units --------------------------------------------------------------------------------------


def test_a_unit_keeps_at_most_its_rows_and_moves_no_others():
    rng = np.random.default_rng(2)
    who, what = rng.integers(0, 20, 300), rng.integers(0, 10, 300)
    coder = numbers("x", (0, 9), "integer", None)
    every = codes_of({"who": who, "x": what}, coder, "who", 3)
    for gone in range(5):
        rest = codes_of({"who": who[who != gone], "x": what[who != gone]}, coder, "who", 3)
        difference = np.bincount(every, minlength=11) - np.bincount(rest, minlength=11)
        assert difference.min() >= 0
        assert difference.sum() <= 3


def test_several_rows_per_person_are_bounded_and_promised():
    unit = sf.Unit("person", rows=2)
    made = sf.dp.synthesize(people(), columns=KNOWN, epsilon=2, delta=1e-6, neighbours=unit)
    assert made.promise.unit == unit
    assert "person" not in made.table.columns
    sigma = made.measurements[0].sigma
    single = sf.dp.synthesize(people(), columns=KNOWN, epsilon=2, delta=1e-6).measurements[0].sigma
    assert sigma > 1.5 * single * 0.9


def test_rows_of_nobody_are_left_out():
    coder = numbers("x", (0, 9), "integer", None)
    given = {"who": ["a", None, "", "b", None], "x": ["1", "2", "3", "4", "5"]}
    assert sorted(codes_of(given, coder, "who", 2)) == [1, 4]


# -- unknown domains ---------------------------------------------------------------------------


def test_a_column_without_a_domain_is_refused_by_name():
    with pytest.raises(ParameterError, match=r"No domain is declared for .*income") as error:
        sf.dp.synthesize(people(), columns={**KNOWN, "income": Column()}, epsilon=1, delta=1e-6)
    assert "search=" in str(error.value)


def test_columns_that_are_not_declared_are_left_out_by_name():
    some = {name: KNOWN[name] for name in list(KNOWN)[:2]}
    made = sf.dp.synthesize(people(), columns=some, epsilon=1, delta=1e-6)
    others = [name for name in KNOWN if name not in some]
    assert made.notes[0].startswith("Left out, because nothing is declared of them")
    assert all(name in made.notes[0] for name in others)


def test_domains_are_found_for_a_price():
    kinds = {"age": "integer", "job": "text", "income": "number", "since": "date"}
    unknown = {name: Column(kind=kind) for name, kind in kinds.items()}
    made = sf.dp.synthesize(people(20_000), columns=unknown, epsilon=4, delta=1e-6, search=0.2)
    prices = [c.price for c in made.book if c.what.startswith("the domain of")]
    assert len(prices) == 4
    assert sum(prices) == made.spent / 5
    assert 64 <= made.table.age.max() <= 127
    assert {"baker", "nurse", "clerk"} <= set(made.table.job.dropna())


def test_texts_that_occur_once_are_not_shown():
    shown = show_texts(
        np.ones(20_000, dtype=np.int64), Contribution(), Fraction(1), Fraction(1, 10**6)
    )
    assert not shown.any()
    assert show_texts(np.array([5000]), Contribution(), Fraction(1), Fraction(1, 10**6)).all()


def test_the_threshold_keeps_its_failures():
    """Against the exact discrete Gaussian tail, for m rows in one text or spread over m."""
    for rows, variance, delta in (
        (1, Fraction(9), Fraction(1, 1000)),
        (3, Fraction(40), Fraction(1, 100)),
    ):
        bound = threshold_for(Contribution(rows), variance, delta)
        grid = np.arange(-400, 401)
        weights = np.exp(-(grid**2) / (2 * float(variance)))
        tail = weights[np.newaxis, :] / weights.sum()
        for spread in range(1, rows + 1):
            most = rows - spread + 1
            one = tail[0][grid + most > bound].sum()
            assert 1 - (1 - one) ** spread <= delta


def test_pure_epsilon_warns_and_knows_no_unknown_texts():
    with pytest.warns(UserWarning, match="far more noise"):
        made = sf.dp.synthesize(people(), columns=KNOWN, epsilon=5)
    assert made.promise == sf.PureDP(5)
    assert made.spent == 5
    assert any("Pure" in note for note in made.notes)
    unknown = {**KNOWN, "job": Column(kind="text")}
    with pytest.warns(UserWarning, match="Pure"), pytest.raises(ParameterError, match="delta="):
        sf.dp.synthesize(people(), columns=unknown, epsilon=5, search=0.1)


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0}, "above 0"),
        ({"delta": 2}, "probability"),
        ({"epsilon": None, "delta": None}, "Give epsilon="),
        ({"rho": 1}, "rho= alone"),
        ({"target": "jobs"}, "not among the columns"),
        ({"constraints": "agee > 3"}, "names 'agee'"),
        ({"constraints": "age >"}, "not a condition"),
        ({"constraints": "select 1"}, "not a condition"),
        ({"constraints": "age + job"}, "cannot be judged"),
        ({"columns": {"agee": Column(bounds=(0, 1))}}, "does not have"),
        ({"columns": {**KNOWN, "age": Column(bounds=(9, 1))}}, "lower one first"),
        ({"columns": {**KNOWN, "age": Column(bounds=("x", 1))}}, "two numbers or two dates"),
        ({"columns": {**KNOWN, "job": Column(values=[])}}, "lists no value"),
        ({"neighbours": "edge"}, "rows or by Unit"),
        ({"neighbours": sf.Unit("person")}, "not limited"),
        ({"neighbours": sf.Unit("nobody", rows=1)}, "is not in"),
    ],
)
def test_bad_input_gets_a_clear_message(changed, message):
    given = {"columns": KNOWN, "epsilon": 1, "delta": 1e-6, **changed}
    with pytest.raises(ParameterError, match=message):
        sf.dp.synthesize(people(200), **given)


def test_contradictory_rules_are_said_to_be_so():
    with pytest.raises(Unsatisfiable, match="contradict"):
        sf.dp.synthesize(
            people(200), columns=KNOWN, epsilon=1, delta=1e-6, constraints=["age < 10", "age > 20"]
        )


def test_where_nothing_can_be_learnt_it_says_so():
    made = sf.dp.synthesize(people(50), columns=KNOWN, epsilon=0.01, delta=1e-9)
    assert any("noise hides" in note for note in made.notes)


def test_a_rule_is_kept_by_missing_cells_where_there_are_any():
    given = people(2000)
    given["age"] = np.where(np.arange(2000) % 2, given.age, np.nan)
    made = sf.dp.synthesize(given, columns=KNOWN, epsilon=2, delta=1e-6, constraints="age < 30")
    assert made.table.age.isna().any()
    assert (made.table.age.dropna() < 30).all()


# -- before and after: what may be told, and what may not ---------------------------------------


def test_the_error_is_predicted_before_anything_is_spent():
    told = sf.dp.predict_synthesis(people(10), rows=3000, columns=KNOWN, epsilon=1, delta=1e-6)
    made = sf.dp.synthesize(people(3000), columns=KNOWN, epsilon=1, delta=1e-6)
    for m in made.measurements[:4]:
        sizes = {"age": 101, "job": 4, "income": 42, "since": 102}
        # the measured table is of atoms, whose noise adds up in squares
        assert m.predicted <= told.columns[m.columns[0]] * 1.1
        assert m.columns[0] in sizes
    assert not told.useless
    poor = sf.dp.predict_synthesis(people(10), rows=50, columns=KNOWN, epsilon=0.01, delta=1e-9)
    assert poor.useless
    assert "too small" in str(poor)


def test_a_comparison_with_the_real_rows_says_that_it_is_not_to_be_published(made):
    found = sf.dp.compare_with_original(made, people())
    assert not found.private
    assert str(found).startswith("NOT TO BE PUBLISHED")
    assert 0 < found.mean_of_pairs < 0.5
    true, synthetic = people().job.fillna("none"), made.table.job.fillna("none")
    shares = [x.value_counts(normalize=True) for x in (true, synthetic)]
    expected = shares[0].subtract(shares[1], fill_value=0).abs().sum() / 2
    assert found.columns["job"] == pytest.approx(expected)
    assert "real" not in json.dumps(made.manifest()["measured_tables"])


def test_people_named_by_long_decimals_each_keep_their_own_rows(tmp_path):
    """Read as doubles they were one person, and removing one of them brought the other's rows."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute("CREATE TABLE t (id DECIMAL(38, 0), x INTEGER)")
        made.execute("INSERT INTO t SELECT 12345678901234567890 + i, i FROM range(5) AS r(i)")
    table = sf.read(f"{tmp_path / 't.duckdb'}::t")
    kept = table.run(f"SELECT x FROM {table.scan}{bounded_rows(table, 'id', 1)}")
    assert sorted(kept) == [(place,) for place in range(5)]
