"""What a notebook and a prompt show of a session: parameters, short texts, pictures."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import sfumato as sf

KERNEL_WITHOUT_WIDGETS = """
import sys, types
kernel = types.ModuleType("IPython")
kernel.get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = kernel
sys.modules["ipywidgets"] = None
import duckdb
try:
    duckdb.connect().execute("SET enable_progress_bar = false")
except duckdb.Error:
    print("refused")
import sfumato as sf
with sf.Session({"a": [1, 2]}, name="t", unit="row", budget=sf.PureDP(1)) as session:
    session.sql("SELECT COUNT(*) AS n FROM t", epsilon=1)
    print("answered")
"""


@pytest.fixture
def session():
    people = {"sex": ["f", "m"], "age": [30, 40]}
    with sf.Session(
        people,
        name="t",
        unit="row",
        budget=sf.PureDP(1),
        keys={"sex": ["f", "m"]},
        bounds={"age": (0, 100)},
    ) as opened:
        yield opened


def test_a_session_opens_in_a_notebook_without_widgets():
    # As `python -c` has no file, DuckDB takes the process for a notebook's.
    ended = subprocess.run(
        [sys.executable, "-c", KERNEL_WITHOUT_WIDGETS], capture_output=True, text=True, check=False
    )
    assert ended.stdout.split() == ["refused", "answered"], ended.stderr


def test_help_and_completion_show_what_a_session_takes():
    parameters = inspect.signature(sf.Session).parameters
    assert {"source", "unit", "budget", "bounds", "keys", "limits"} <= set(parameters)
    assert "options" not in parameters


@pytest.mark.parametrize("room", [sf, sf.dp, sf.attack, sf.govern])
def test_a_room_lists_public_names_alone(room):
    assert not {"annotations", "lazy", "lazy_names", "TYPE_CHECKING"} & set(dir(room))


def test_questions_in_the_making_are_shown_in_a_line(session):
    assert repr(session.table()) == "<Rows of t: sex, age>"
    assert repr(session.table().group_by("sex").count()) == (
        "<Question: COUNT for each sex; .ask(epsilon=…)>"
    )
    assert repr(session).endswith(": ε = 1 left>")


def test_a_picture_is_drawn_and_not_printed(session):
    picture = session.sql("SELECT COUNT(*) AS n FROM t", epsilon=1).picture()
    assert picture.startswith("<svg")
    assert picture._repr_svg_() == picture
    assert len(repr(picture)) < 100
