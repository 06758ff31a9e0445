"""Which room may import which, lazy imports included; folder sizes; no import hides a cycle.

`MAY_IMPORT` is the plan of the house: an arrow between rooms that is not in it fails here. Imports
for type checkers alone may also follow `TYPES`; tables of places, which `sfumato.lazy.find` loads
from, are arrows as well and may also follow `FOUND`.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import sfumato

SOURCE = Path(sfumato.__file__).parent

GROUND = {
    "sfumato",
    "errors",
    "message",
    "lazy",
    "representation",
    "compiled",
    "compiler",
    "binomial",
    "staging",
    "pictures",
}
"""What all may lean on: the version, errors and what they say, ways to load, compile, draw."""

NOUNS = {"promise", "artefact", "decision", "release", "shape"}
"""The nouns of the sentence, of which everything is made."""

MAY_IMPORT: dict[str, set[str]] = {
    # what we hold: knows nobody
    "data": set(),
    # the nouns; a release can save and report itself, which loads the rest when asked
    "promise": {"dp"},
    "artefact": set(),
    "decision": set(),
    "shape": set(),
    "release": {"data", "promise", "release_folder", "report", "shape"},
    "release_folder": {"audit", "data", "govern", "shape"},
    "release_table": {"audit", "data", "govern", "released", "shape"},
    # promises and what keeps them
    "definitions": {"data", "promise"},
    "anonymize": {"data", "definitions", "released", *NOUNS},  # `sf.loss` reads released labels
    "dp": {"data", *NOUNS},
    "local": {"data", "dp", *NOUNS},
    # the owner's rules, and questions under them
    "govern": {"data", "dp", *NOUNS},
    "ask": {"data", "dp", "govern", *NOUNS},
    # what a stranger sees, and those who look: never the algorithm
    "released": {"data", "definitions", *NOUNS},
    "audit": {"data", "definitions", "dp", "released", *NOUNS},
    "attack": {"data", "definitions", "dp", "released", *NOUNS},
    "report": {"data", "definitions", "anonymize", "dp", "ask", "local", "released", "audit",
               "attack", *NOUNS},
    # one value per shape, which gathers what the rooms hold for it
    "shapes": {"data", "definitions", "anonymize", "dp", "local", "ask", "released", "audit",
               "attack", "report", "release_table", *NOUNS},
    # a public room without code of its own: it names what the others hold for places
    "places": set(),
    # what may be asked for, and the doors
    "requests": {"data", "definitions", "anonymize", "dp", "ask", "govern", *NOUNS},
    "service": {"data", "definitions", "anonymize", "dp", "local", "ask", "govern", "released",
                "audit", "attack", "report", "examples", "requests", "release_folder", *NOUNS},
    "cli": {"data", "definitions", "anonymize", "dp", "local", "ask", "govern", "released",
            "audit", "attack", "report", "requests", "service", "examples", "release_folder",
            "release_table", *NOUNS},
    "__main__": {"cli"},
    "demo": {"cli"},
    # beside the house
    "examples": {"data"},
    "testing": {"data", "definitions", "anonymize", "dp", "local", "ask", "govern", "released",
                "audit", "attack", *NOUNS},
    **{name: set() for name in GROUND},
}  # fmt: skip

TYPES: dict[str, set[str]] = {
    "sfumato": set(MAY_IMPORT),  # the public names, as a type checker sees them
    "audit": {"attack"},  # a name that attacks share with it
    "errors": {"dp"},
    "places": {"anonymize", "audit", "dp", "govern", "report"},  # names of what others hold
    "promise": {"definitions"},
    "release": {"artefact", "audit", "decision", "shapes"},
    "release_folder": {"release"},
    "release_table": {"release"},
    "shape": {"artefact", "data", "decision"},
}

FOUND: dict[str, set[str]] = {
    "shape": {"shapes"},  # one value per shape, by name
}

PLACE = re.compile(r"(sfumato(?:\.\w+)+):\w+")


class Arrow(NamedTuple):
    """One import of ours by ours: modules without the leading `sfumato.`, and when it happens.

    At the "top" of a module, "lazy" in a function, for "types" alone, or "found" in a table.
    """

    importer: str
    imported: str
    when: str


class _Imports(ast.NodeVisitor):
    """Gathers the imports of one module: at its top, in functions, and for type checkers."""

    def __init__(self, module, *, places):
        self.module, self.found, self.places = module, [], places
        self.inside, self.typing = 0, 0

    def visit(self, node):
        """Go down to statements, and to expressions where a table of places may be."""
        if self.places or not isinstance(node, ast.expr):
            super().visit(node)

    def visit_FunctionDef(self, node):
        self.inside += 1
        self.generic_visit(node)
        self.inside -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_If(self, node):
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)
            return
        self.typing += 1
        for statement in node.body:
            self.visit(statement)
        self.typing -= 1
        for statement in node.orelse:
            self.visit(statement)

    def visit_Import(self, node):
        for alias in node.names:
            self._add(alias.name)

    def visit_ImportFrom(self, node):
        assert not node.level, f"{self.module} imports relatively; write the module in full"
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            self._add(inner if is_module(inner) else node.module)

    def visit_Constant(self, node):
        if isinstance(node.value, str) and (place := PLACE.fullmatch(node.value)):
            assert is_module(place[1]), f"{self.module} names {node.value}, which is not there"
            self.found.append(Arrow(self.module, place[1].removeprefix("sfumato."), "found"))

    def _add(self, module):
        if module.split(".")[0] == "sfumato":
            when = "types" if self.typing else "lazy" if self.inside else "top"
            self.found.append(Arrow(self.module, module.removeprefix("sfumato."), when))


def is_module(name):
    place = SOURCE.parent.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or place.is_dir()


def room(module):
    """The room of a module; definitions are one of their own, since more may know them."""
    if module.startswith("anonymize.definitions"):
        return "definitions"
    return module.split(".")[0]


@cache
def arrows():
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts).removesuffix("__init__").rstrip(".") or "sfumato"
        text = file.read_text(encoding="utf-8")
        visitor = _Imports(name, places=PLACE.search(text) is not None)
        visitor.visit(ast.parse(text))
        found += visitor.found
    return tuple(found)


def test_every_import_is_seen():
    assert Arrow("cli.verify", "audit.verification.verify", "lazy") in arrows()
    assert Arrow("promise", "errors", "top") in arrows()
    assert Arrow("promise", "dp.guarantees", "types") in arrows()
    assert Arrow("shape", "shapes.tables", "found") in arrows()
    assert {room(arrow.importer) for arrow in arrows()} <= set(MAY_IMPORT)


BESIDE = {"types": TYPES, "found": FOUND}


def breaks(*when):
    for arrow in arrows():
        start, end = room(arrow.importer), room(arrow.imported)
        allowed = MAY_IMPORT[start] | GROUND | BESIDE.get(arrow.when, {}).get(start, set())
        if arrow.when in when and end != start and end not in allowed:
            yield arrow.importer, arrow.imported


def test_every_imported_module_is_there():
    """Also where a function imports it, which is found out only when somebody calls it."""
    gone = {arrow for arrow in arrows() if not is_module(f"sfumato.{arrow.imported}")}
    assert not {arrow for arrow in gone if arrow.imported != "sfumato"}


def test_rooms_import_as_the_plan_says():
    new = set(breaks("top", "lazy", "found"))
    assert not new, f"arrows that are not in the plan: {sorted(new)}"


def test_types_are_imported_as_the_plan_says():
    # A value may say the type of what it is handed by rooms above: readers of a manifest, sections.
    new = set(breaks("types"))
    assert not new, f"arrows that are not in the plan: {sorted(new)}"


def test_rooms_that_load_each_other_make_no_circle():
    """Follow imports at the top of modules from room to room; nobody comes back."""
    next_rooms = defaultdict(set)
    for arrow in arrows():
        start, end = room(arrow.importer), room(arrow.imported)
        if arrow.when == "top" and start != end and end != "sfumato":
            next_rooms[start].add(end)
    while next_rooms:
        ends = [name for name in next_rooms if not next_rooms[name] & set(next_rooms)]
        assert ends, f"rooms in a circle: {dict(next_rooms)}"
        for name in ends:
            del next_rooms[name]


@pytest.mark.parametrize(
    "folder",
    sorted(f for f in SOURCE.rglob("*") if f.is_dir() and f.name != "__pycache__"),
    ids=lambda folder: str(folder.relative_to(SOURCE)),
)
def test_a_folder_holds_at_most_25_modules(folder):
    modules = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]
    assert len(modules) <= 25, f"{folder.name} has {len(modules)} modules; group them"


TESTS = Path(__file__).parent
OWN = {
    "outside/typed",
    "distribution",
    "docs",
    "outside",
    "release",
    "services",
    "ask/golden",
    "ask/golden_plans",
}
"""Folders of tests of no single room: noise, pages, extensions, whole releases, servers, pairs."""


def test_tests_mirror_the_rooms():
    folders = {str(f.relative_to(TESTS)) for f in TESTS.rglob("*") if f.is_dir()}
    kept = {f for f in folders if "__pycache__" not in f} - OWN
    strange = {f for f in kept if not (SOURCE / f).is_dir()}
    assert not strange, f"folders of tests without a room: {sorted(strange)}"
    flat = [file.name for file in (TESTS / "ask").glob("test_*.py")]
    assert not flat, f"these belong to a room inside ask: {sorted(flat)}"


def reached(module, loaded):
    """Return all modules that loading this one loads."""
    seen, ahead = set(), [module]
    while ahead:
        for following in loaded[ahead.pop()] - seen:
            seen.add(following)
            ahead.append(following)
    return seen


def test_no_import_closes_a_circle():
    """Not at the top of a module, and not lazily in a function, which would only hide it."""
    loaded = defaultdict(set)
    for arrow in arrows():
        if arrow.when == "top":
            loaded[arrow.importer].add(arrow.imported)
    closing = {
        (arrow.importer, arrow.imported)
        for arrow in arrows()
        if arrow.when in {"top", "lazy"}
        and arrow.importer in reached(arrow.imported, loaded)
        and arrow.importer != "sfumato"
    }
    assert not closing, f"imports that close a circle: {sorted(closing)}"


NEUTRAL = {
    "release",
    "release_folder",
    "artefact",
    "decision",
    "released.view",
    "audit.verification.verify",
    "audit.verification.rows",
    "attack.attack",
    "attack.prechecks",
    "report.release_page",
    "report.section",
    "report.settings",
    "govern.releases",
}
"""What serves every shape: a release, saving, verifying, attacking, the page, the entry."""

OF_ONE_SHAPE = {"tables", "sets", "hybrid", "trees", "graphs", "graph", "trajectories", "models"}


def test_what_serves_every_shape_knows_none():
    """Neither by an import nor by a word that only one shape has."""
    imported = {
        (arrow.importer, arrow.imported)
        for arrow in arrows()
        if arrow.importer in NEUTRAL
        and arrow.when != "types"
        and (OF_ONE_SHAPE & set(arrow.imported.split(".")) or "checks" in arrow.imported)
    }
    assert not imported, f"ask the shape instead: {sorted(imported)}"
    for name in NEUTRAL:
        tree = ast.parse((SOURCE / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8"))
        asked = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        strange = asked & {"quasi", "quasi_names", "levels", "rows_released"}
        strange |= texts & {*OF_ONE_SHAPE, "quasi", "table", "model", "objective", "suppression"}
        assert not strange, f"{name} knows what only one shape has: {strange}"


@pytest.mark.parametrize("page", ["release.html", "evidence.html", "details.html"])
def test_the_page_of_every_shape_names_none(page):
    text = (SOURCE / "report" / "templates" / page).read_text(encoding="utf-8")
    code = " ".join(re.findall(r"\{[{%].*?[%}]\}", text))
    assert not re.search(r"release\.shape|quasi|\"(table|model)\"", code)
