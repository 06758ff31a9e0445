"""The public surface cannot drift, and importing it stays cheap."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import golden
import pytest
import surface

import sfumato as sf

FROZEN = Path(__file__).with_name("public_surface.txt")
"""Every public name with its signature and members, every command, every address of the service.

A line that goes or changes breaks what others wrote; one that comes is a promise."""

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


@pytest.mark.slow("loads every public module with the libraries behind it")
def test_no_name_signature_or_member_changes_unseen():
    golden.check(FROZEN, surface.texts())


def test_no_command_or_option_changes_unseen():
    golden.check(FROZEN, surface.commands())


def test_no_address_changes_unseen():
    golden.check(FROZEN, {"addresses of the service": surface.addresses()})


def test_nothing_is_left_in_the_file_that_is_gone():
    now = {*surface.modules(), *surface.commands(), "addresses of the service"}
    if golden.renewing:
        golden.keep(FROZEN, now)
    assert set(golden.read(FROZEN)) == now


def fresh(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_loads_nothing_heavy():
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


ROOMS = (
    "anonymize.definitions ask attack attack.models audit dp dp.queries examples govern "
    "govern.office local local.wire places testing"
)


@pytest.mark.parametrize("room", ["", *ROOMS.split()])
def test_a_type_checker_sees_the_same_names(room):
    """The imports under TYPE_CHECKING are the table of homes, no more and no less."""
    module = importlib.import_module(f"sfumato.{room}".rstrip("."))
    source = Path(module.__file__).read_text(encoding="utf-8")
    seen = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                seen |= {alias.asname or alias.name: statement.module for alias in statement.names}
    assert set(seen) == set(module.__all__) - {"__version__"}
    for name, home in seen.items():
        if (room, name) == ("", "anonymize"):
            continue  # the room, which can be called as the verb
        assert getattr(importlib.import_module(home), name) is getattr(module, name)


def test_the_verb_shows_its_own_signature_and_text():
    """What `sf.anonymize?`, help() and editors show, although the room has the same name."""
    shown = inspect.signature(sf.anonymize)
    assert list(shown.parameters)[:3] == ["data", "promise", "schema"]
    assert ">>> sf.anonymize(people" in sf.anonymize.__doc__
    assert "suppression" in inspect.getdoc(sf.anonymize)


def test_every_option_of_every_algorithm_is_known_to_type_checkers():
    """`Options` is what the built-in algorithms take: no option is missing, none is made up."""
    from sfumato.anonymize.options import Options
    from sfumato.anonymize.tables.release import ALGORITHMS, algorithm_named
    from sfumato.shape import _BUILT_IN, find_shape

    takes = [search for name in _BUILT_IN for search in find_shape(name).algorithms().values()]
    takes += [algorithm_named(name, None, {}) for name in ALGORITHMS]
    own = set()
    for function in takes:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY:
                own.add(parameter.name)
    assert own - {"algorithm"} == set(Options.__optional_keys__)
