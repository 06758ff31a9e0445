"""The public surface cannot drift, and importing it stays cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf

CONTRACT = (
    "ApproxDP BetaLikeness BudgetExceeded Definition DeltaDisclosure DeltaPresence "
    "DistinctLDiversity EntropyLDiversity GDP Hierarchy KAnonymity KMap LocalDP PureDP RDP "
    "RecursiveLDiversity Release Schema SfumatoError TCloseness Table ZCDP anonymize audit dp "
    "examples inspect perturb read verify Session Ledger Limits Unit govern"
)


@pytest.mark.parametrize("name", CONTRACT.split(" "))
def test_every_promised_name_is_there(name):
    assert name in sf.__all__
    assert getattr(sf, name) is not None


def test_every_listed_name_can_be_loaded():
    for name in sf.__all__:
        assert getattr(sf, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = sf.no_such_name


def fresh(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_takes_milliseconds_and_loads_nothing_heavy():
    code = "import time; t = time.process_time(); import sfumato; print(time.process_time() - t)"
    best = min(float(fresh(code)) for _ in range(3))
    assert best < 0.3
    loaded = fresh("import sys, sfumato; print(*sys.modules)").split()
    assert not {"numpy", "duckdb", "numba", "pydantic", "pandas", "rich", "typer"} & set(loaded)


def test_optional_libraries_are_not_imported_by_the_main_path():
    code = (
        "import sys, sfumato as sf\n"
        "t = sf.read({'age': [1, 1, 2, 2], 'ill': ['a', 'b', 'a', 'b']},"
        " schema=sf.Schema(quasi=['age'], sensitive=['ill']))\n"
        "r = sf.anonymize(t, sf.KAnonymity(2))\n"
        "print(*sys.modules)"
    )
    loaded = set(fresh(code).split())
    assert not {"pandas", "polars", "sklearn", "dp_accounting", "opendp", "torch"} & loaded


def test_the_room_and_its_verb_share_a_name():
    import sfumato.anonymize.definitions

    assert callable(sf.anonymize)
    assert sf.anonymize.definitions is sfumato.anonymize.definitions


def test_a_type_checker_sees_the_same_names():
    """The imports under TYPE_CHECKING are the table of homes, no more and no less."""
    source = Path(sf.__file__).read_text(encoding="utf-8")
    seen = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                seen |= {alias.asname or alias.name for alias in statement.names}
    assert seen == set(sf.__all__) - {"__version__"}
