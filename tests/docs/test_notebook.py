"""The notebook of every noun runs, and nothing it displays is a raw value.

Cells run as a notebook runs them, in one namespace: `display` and the last expression of a cell
are shown, by `_repr_html_` where there is one and by `repr` for a prompt. Every class that a public
room names must be shown by some cell; the number of nouns is counted, not listed.
"""

from __future__ import annotations

import ast
import html
import importlib
import inspect
import json
import re
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "every-noun.ipynb"
ROOMS = ("", "dp", "ask", "attack", "attack.models", "audit", "govern", "local", "places",
         "testing", "examples")  # fmt: skip
RAW = re.compile(
    r" object at 0x|\bat 0x[0-9a-f]{6,}|Fraction\(|\barray\(|mappingproxy|<class '|dtype=|<function"
)
"""An address, or a value of Python's own that nobody asked for."""


def run_cells(notebook):
    """Run the code cells of a notebook and return what they display."""
    shown = []
    names = {"__name__": "__main__", "display": lambda *values: shown.extend(values)}
    for number, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
            shown += [] if value is None else [value]
    return shown


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("notebook"))
        yield run_cells(NOTEBOOK)


def public_classes():
    for room in ROOMS:
        module = importlib.import_module(f"sfumato.{room}".rstrip("."))
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and not getattr(value, "_is_protocol", False):
                yield f"{room}.{name}".lstrip("."), value


@pytest.mark.slow("runs the notebook for its file")
def test_every_public_noun_is_shown(shown):
    missing = [
        name
        for name, noun in public_classes()
        if not any(isinstance(value, noun) for value in shown)
    ]
    assert not missing, "nouns that no cell of docs/tutorial/every-noun.ipynb shows"


def test_nothing_shows_itself_raw_at_a_prompt(shown):
    raw = {type(value).__name__: repr(value)[:200] for value in shown if RAW.search(repr(value))}
    assert not raw
    assert all(repr(value).strip() for value in shown)


def test_nothing_shows_itself_raw_in_a_notebook(shown):
    for value in shown:
        if isinstance(value, Exception):
            continue  # a message, which a notebook shows as it is
        page = value._repr_html_()
        text = html.unescape(
            re.sub(r"<svg.*?</svg>|<style.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)
        )
        assert not RAW.search(text), (type(value), text[:200])
        assert text.strip(), type(value)


def test_no_result_is_the_dataclass_that_holds_it(shown):
    """A representation names no field of a result as `dataclass` would write it."""
    from dataclasses import fields, is_dataclass

    from sfumato.representation import Written

    for value in shown:
        if is_dataclass(value) and not isinstance(value, Written):
            held = (f"{f.name}={getattr(value, f.name, None)!r}" for f in fields(value) if f.repr)
            assert repr(value) != f"{type(value).__qualname__}({', '.join(held)})"


def test_what_a_user_wrote_shows_itself_as_the_call_that_makes_it():
    import sfumato as sf

    scope = {**vars(sf.dp), **{name: getattr(sf, name) for name in sf.__all__}}
    names = (sf.PureDP(0.5), sf.KAnonymity(5), sf.TCloseness(0.2, "disease"), sf.ApproxDP(1, 1e-6))
    for written in (*names, sf.Unit("user_id", rows=5), sf.Swap("age", share=0.1)):
        assert eval(repr(written), scope) == written


def test_no_cell_of_the_data_is_shown():
    import sfumato as sf

    secret = "Zebulon-Quux"
    table = sf.read({"name": [secret, "b", "c", "d"] * 3, "age": [1, 2, 3, 4] * 3},
                    schema=sf.Schema(identifiers=["name"], quasi=["age"]))  # fmt: skip
    release = sf.anonymize(table, sf.KAnonymity(2))
    for value in (
        table,
        release,
        release.provenance,
        sf.attack.Knowledge(public=table),
        table.schema,
    ):
        assert secret not in repr(value) + value._repr_html_()
