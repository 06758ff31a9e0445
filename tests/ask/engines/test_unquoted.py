"""Nothing that an engine said can be reached from the error that leaves it."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from any_engine import ENGINES, opener

from sfumato.ask.engines import spark as spark_engine
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.data.engines.errors import nothing_quoted
from sfumato.data.tables.sources import read
from sfumato.errors import DataError

SECRET = "AB-Positive"


def reachable(error):
    """List the errors that can be reached: causes, contexts, and locals of frames of ours."""
    found, stack = [], [error]
    while stack:
        one = stack.pop()
        if one is None or one in found:
            continue
        found.append(one)
        stack += [one.__cause__, one.__context__]
        trace = one.__traceback__
        while trace is not None:
            if "sfumato" in trace.tb_frame.f_code.co_filename:
                held = trace.tb_frame.f_locals.values()
                stack += [value for value in held if isinstance(value, BaseException)]
            trace = trace.tb_next
    return found


def fail(engine, kind):
    """Let an engine fail with a message that quotes a cell."""
    if kind == "duckdb":
        statement = "SELECT CAST(ward AS INTEGER) FROM sfumato.t"
        assert SECRET in _said(lambda: engine._cursor().execute(statement).fetchall())
        engine._rows(_Printed(statement))
    elif kind == "postgres":
        statement = f"SELECT CAST(ward AS INTEGER) FROM {engine._tables['t']}"
        assert SECRET in _said(lambda: engine._connection.execute(statement).fetchall())
        engine._run(statement)
    else:
        engine._session.conf.set("spark.sql.ansi.enabled", "true")
        statement = f"SELECT CAST(ward AS INT) AS n FROM {engine._tables['t']}"
        assert SECRET in _said(lambda: engine._session.sql(statement).collect())
        with nothing_quoted(spark_engine._said):
            engine._session.sql(statement).collect()


class _Printed:
    """Stands for a plan that is printed as some text."""

    def __init__(self, text):
        self.text = text


def _said(run):
    try:
        run()
    except Exception as error:  # noqa: BLE001 - of any engine
        return str(error)
    return ""


@pytest.mark.parametrize("kind", ENGINES)
def test_no_error_leads_back_to_the_engine(kind, request, monkeypatch):
    from sfumato.ask.engines import duckdb

    monkeypatch.setattr(duckdb, "printed", lambda tree, _: tree.text)
    engine = opener(kind, request)(pl.DataFrame({"ward": [SECRET]}), name="t")
    with pytest.raises(DataError) as caught:
        fail(engine, kind)
    assert [type(one) for one in reachable(caught.value)] == [DataError]
    assert SECRET not in str(caught.value)


def test_reading_a_file_keeps_the_bytes_that_do_not_fit_to_itself(tmp_path):
    for encoding, content in (("utf-8", "ward\nZ\xfcrich\n"), ("ascii", "ward\nZ\xfcrich\n")):
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes(content.encode("latin-1"))
        with pytest.raises(DataError) as caught:
            read(path, encoding=encoding)
        assert [type(one) for one in reachable(caught.value)] == [DataError]


def test_a_broken_file_is_explained_without_the_engine(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text(f'a,b\n1,2\n"{SECRET}\n')
    with pytest.raises(DataError) as caught:
        DuckDBEngine.open(path)
    assert [type(one) for one in reachable(caught.value)] == [DataError]


def test_what_is_not_the_engine_s_is_left_as_it_is():
    with pytest.raises(KeyError), nothing_quoted(lambda _: None):
        raise KeyError("mine")
    with nothing_quoted(lambda _: "never"):
        done = True
    assert done
