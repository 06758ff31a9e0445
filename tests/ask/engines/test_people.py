"""People are told apart by the cell that names them, whatever it is declared to be."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from any_engine import ENGINES, opener

import sfumato as sf
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language import Scan
from sfumato.ask.request import Request, RowsBound, Total
from sfumato.dp.neighbours import Unit

IDS = ["7", "07", " 7", "+7", "7.0", "-0", "0", "7"]


def people(engine, table="t"):
    found = engine.aggregate(Request(Scan(table, ()), (), (Total("rows"),), RowsBound(1), b"salt"))
    return found.people.tolist(), found.totals[0].tolist()


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("declared", ["integer", "text", None])
def test_texts_that_are_read_as_one_number_are_several_people(kind, declared, request):
    types = {} if declared is None else {"types": {"id": declared}}
    engine = opener(kind, request)(pl.DataFrame({"id": IDS}), name="t", person="id", **types)
    assert people(engine) == ([7], [7])


@pytest.mark.parametrize("declared", ["integer", "real", "date", None])
def test_the_cells_of_a_file_name_people_as_they_are_written(declared, tmp_path):
    for place, ids in enumerate((IDS, ["0", "-0"], ["1", "2"])):
        path = tmp_path / f"{place}.csv"
        path.write_text("id,x\n" + "".join(f'"{one}",1\n' for one in ids))
        types = {} if declared is None else {"id": declared}
        engine = DuckDBEngine.open(path, name="t", person="id", types=types)
        assert people(engine) == ([len(set(ids))], [len(set(ids))])


def test_a_file_and_a_frame_name_the_same_people(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x\n7,1\n8,2\n07,3\n")
    stays = pl.DataFrame({"id": [7, 7, 8], "nights": [1, 2, 3]})
    question = "SELECT COUNT(*) FROM {} JOIN {} USING (id)"
    for main, other, names in ((path, stays, ("t", "s")), (stays, path, ("s", "t"))):
        with sf.Session(
            main, unit=Unit("id", rows=9), budget=sf.PureDP(10**4), name=names[0],
            private={names[1]: other}, ledger=tmp_path / f"{names[0]}.sqlite",
        ) as one:  # fmt: skip
            asked = one.sql(question.format(*names), epsilon=10**4)
            assert asked.rows == ((3,),)  # so little noise that none is seen
