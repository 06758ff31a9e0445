"""Public tables are the owner's: registered with the dataset, and the same ever after."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato as sf
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.errors import GovernanceError, ParameterError
from sfumato.testing.reference_engine import CheckTable, ReferenceEngine

PATIENTS = {"id": list(range(100)), "ill": [i % 2 for i in range(100)]}
FLOORS = {"ill": [0, 1], "floor": [3, 4]}
JOINED = "SELECT COUNT(*) FROM t JOIN floors ON t.ill = floors.ill WHERE floor = 3"
ATTACK = "SELECT COUNT(*) FROM t JOIN q ON CASE WHEN t.ill >= 0 THEN 7 ELSE 7 END = q.id"


@pytest.fixture
def place(tmp_path):
    return tmp_path / "ledger.sqlite"


def session(place, public=None, source=None, **more):
    given = {"unit": "row", "budget": sf.PureDP(1000), "name": "t", "ledger": place} | more
    given["public_types"] = ["ill"]
    return sf.Session(PATIENTS if source is None else source, public=public, **given)


def test_an_analyst_brings_no_table_of_her_own(place):
    with session(place, {"floors": FLOORS}):
        pass
    hers = {"id": [7], "secret": ["yes"]}
    with pytest.raises(GovernanceError, match="'q' is not registered as public"):
        session(place, {"q": hers})
    with pytest.raises(GovernanceError, match=r"'q\{0' is not registered as public"):
        session(place, {"floors": FLOORS, "q{0": hers})


def test_registered_tables_may_be_left_out_or_named_again(place):
    other = {"ill": [0, 1], "name": ["well", "ill"]}
    bounds = {"floors.floor": (0, 9)}
    with session(place, {"floors": FLOORS, "names": other}, bounds=bounds) as first:
        assert first.sql(JOINED, epsilon=100).value == pytest.approx(50, abs=2)
    with session(place) as bare:
        assert bare.sql("SELECT COUNT(*) FROM t", epsilon=100).value == pytest.approx(100, abs=2)
    reordered = {"ill": [1, 0], "floor": [4, 3]}
    with session(place, {"floors": reordered}) as again:
        assert again.sql(JOINED, epsilon=50).value == pytest.approx(50, abs=2)
        assert again.ledger.verify().ok


@pytest.mark.parametrize(
    "changed",
    [
        {"ill": [0, 1], "floor": [3, 5]},
        {"ill": [0, 1, 2], "floor": [3, 4, 4]},
        {"ill": [0, 1], "level": [3, 4]},
        {"ill": [0, 1], "floor": ["3", "4"]},
    ],
    ids=["a cell", "a row", "a name", "a kind"],
)
def test_what_was_registered_as_public_does_not_change_unless_its_owner_says_so(place, changed):
    with session(place, {"floors": FLOORS}):
        pass
    with pytest.raises(GovernanceError, match=r"other columns or rows.*Ledger.amend\('t', public"):
        session(place, {"floors": changed})
    with sf.Ledger(place) as ledger:
        ledger.amend("t", public=["floors"], reason="the wards moved")
    with session(place, {"floors": changed}):
        pass
    with pytest.raises(GovernanceError, match="other columns or rows"):
        session(place, {"floors": FLOORS})
    with sf.Ledger(place) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["registered", "amended", "amended"]
        assert ledger.entries()[1].details["reason"] == "the wards moved"
        assert ledger.verify().ok


def test_an_owner_allows_a_table_later(place):
    with session(place):
        pass
    with sf.Ledger(place) as ledger:
        ledger.amend("t", public=["floors"])
        with pytest.raises(ParameterError, match="a list of names"):
            ledger.amend("t", public="floors")
    with session(place, {"floors": FLOORS}) as one:
        assert one.sql(JOINED, epsilon=100).value == pytest.approx(50, abs=2)
    with session(place, {"floors": FLOORS}) as again:
        assert [e.kind for e in again.ledger.entries()].count("amended") == 2


@pytest.mark.parametrize("known", [False, True], ids=["at first", "when amended"])
@pytest.mark.parametrize("form", [dict, pd.DataFrame, lambda rows: pd.DataFrame(rows).iloc[::-1]])
def test_the_private_rows_are_no_public_table(place, form, known):
    if known:
        with session(place) as first:
            first.ledger.amend("t", public=["q"])
    with pytest.raises(GovernanceError, match="holds the rows of a private table"):
        session(place, {"q": form(PATIENTS)}).sql(ATTACK, epsilon=0.1)


def test_the_private_file_is_no_public_table_whatever_its_columns_are_read_as(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("id,ill\n" + "".join(f"{i},{i % 2}\n" for i in range(50)))
    texts = {"role": "insensitive", "type": "text"}
    schema = sf.Schema(insensitive=["id"], attributes={"ill": texts})
    (tmp_path / "same.csv").symlink_to(file)
    for given in (str(file), file, sf.read(file), tmp_path / "same.csv"):
        for source in (file, sf.read(file, schema=schema)):
            with pytest.raises(GovernanceError, match="holds the rows of a private table"):
                session(None, {"q": given}, source=source)


def test_the_file_of_another_private_table_is_no_public_table(tmp_path):
    visits = tmp_path / "visits.csv"
    visits.write_text("id,day\n" + "".join(f"{i},{i % 7}\n" for i in range(50)))
    with pytest.raises(GovernanceError, match="'q' is given as public"):
        session(None, {"q": visits}, unit=sf.Unit("id", rows=1), private={"v": (visits, "id")})


def test_a_file_with_a_ledger_beside_it_is_no_public_table_of_another_dataset(tmp_path):
    file = tmp_path / "patients.csv"
    file.write_text("id,ill\n" + "".join(f"{i},{i % 2}\n" for i in range(50)))
    with sf.Session(file, unit="row", budget=sf.PureDP(1)):
        pass
    with pytest.raises(GovernanceError, match="a dataset with a budget of its own"):
        session(None, {"q": file}, source={"mine": [1]})


def test_a_dataset_of_the_database_is_no_public_table_of_another(postgres_url, place):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE people AS SELECT i AS id FROM generate_series(1, 9) AS i")
        connection.execute("CREATE TABLE mine AS SELECT 7 AS id")
    with session(place, source=f"{postgres_url}?table=people", name="people"):
        pass
    with pytest.raises(GovernanceError, match="a dataset with a budget of its own"):
        session(place, {"q": "people"}, source=f"{postgres_url}?table=mine", name="mine")


def test_rows_that_come_to_equal_a_public_table_are_not_told_of(place):
    with session(place, {"floors": FLOORS}):
        pass
    with session(place, {"floors": FLOORS}, source={"id": [1], "ill": [0]}) as one:
        assert one.remaining == sf.PureDP(1000)


def test_the_private_relation_is_no_public_table(postgres_url, place):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE owned AS SELECT i AS id FROM generate_series(1, 9) AS i")
        connection.execute("CREATE VIEW seen AS SELECT * FROM owned")
    source = f"{postgres_url}?table=owned"
    for name in ("owned", "public.owned", "seen"):
        with pytest.raises(GovernanceError, match="holds the rows of a private table"):
            session(place, {"q": name}, source=source, name="owned")


def test_an_engine_of_one_s_own_tells_its_public_tables_apart(place):
    tables = {
        "t": CheckTable({"x": "integer"}, {"x": [1, 2, 3]}),
        "p": CheckTable({"y": "integer"}, {"y": [1, 2]}, private=False),
    }

    class OnePart(ReferenceEngine):
        def fingerprint(self):
            return "one"

    with session(place, source=ReferenceEngine(tables)) as one:
        assert set(one.ledger.registration("t").public) == {"p"}
    with pytest.raises(ParameterError, match="one about every public table"):
        session(None, source=OnePart(tables))


def test_blocks_share_their_public_tables(place):
    more = {"id": [1000], "ill": [1]}
    with session(place, {"floors": FLOORS}, source=[PATIENTS, more]) as both:
        assert both.sql(JOINED, epsilon=100).value == pytest.approx(50, abs=2)
    with pytest.raises(GovernanceError, match="other columns or rows"):
        session(place, {"floors": {"ill": [0], "floor": [3]}}, source=[PATIENTS, more])
    with pytest.raises(GovernanceError, match="holds the rows of a private table"):
        session(None, {"q": more}, source=[PATIENTS, more])


def test_an_engine_s_facts_name_no_rows(place):
    with session(place, {"floors": FLOORS}) as one:
        raw = DuckDBEngine.open(PATIENTS, name="t", public={"floors": FLOORS}).fingerprint()
        kept = one.ledger.registration("t").public["floors"]["fingerprint"]
        assert kept not in raw
