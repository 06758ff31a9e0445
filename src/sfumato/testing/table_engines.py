"""A conformance kit for engines that hold the rows of tables: ours and a third party's.

`check_table_engine` asks for a small, unpleasant table in the engine under check and holds it
against texts that are written down here, and against a table of those texts in memory:

* every cell has the text it should have, in every column and in all combinations of columns;
* a numbered copy keeps the order of rows; what is handed over can be joined with rows;
* with the same seed, every algorithm and every way of writing rows gives the very same release;
* verification, risk, linkage, suggestions and perturbation find the same;
* without a seed the order of rows is another one every time;
* no message holds a cell.

A check that an engine cannot pass may be listed in ``notimpl`` with the reason. A reason is
demanded, and a listed check that passes after all fails, so that the list stays true.
"""

# SQL here is built from names that `quoted` quotes.
# ruff: noqa: S608

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.run import anonymize
from sfumato.anonymize.tables.perturb.operations import AddNoise, PostRandomize, Swap, perturb
from sfumato.attack.releases.linkage import linkage
from sfumato.audit.verification.verify import verify
from sfumato.data.engines.duckdb import quoted
from sfumato.data.schema import Schema
from sfumato.data.tables.sources import read
from sfumato.data.tables.suggestions import suggest
from sfumato.data.tables.table import ROW, Table
from sfumato.errors import DataError
from sfumato.representation import Shown
from sfumato.testing.table_cells import CheckColumn, check_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    MakeTable: TypeAlias = "Callable[[Mapping[str, CheckColumn]], Table]"

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"order": "keep"},
    {"pseudonym_key": b"a key of the conformance kit ....", "suppression": 0.05},
    {"algorithm": "local"},
    {"algorithm": "mondrian", "pseudonym_key": b"a key of the conformance kit ...."},
)
"""Ways to release: counted at once, joined row by row, with records dealt out to classes."""

OPERATIONS = (
    AddNoise("age", scale=2.0),
    Swap("disease", share=0.5),
    PostRandomize("area", keep=0.5),
)
"""Changes to three columns; the others stay as they are."""


@dataclass(frozen=True)
class TableEngineCheck(Shown):
    """What an engine passed, and what it was excused from and why."""

    passed: tuple[str, ...]
    notimpl: Mapping[str, str]


@dataclass(eq=False)
class TableBench:
    """A table in the engine under check, and the same texts in memory."""

    make: MakeTable

    @cached_property
    def columns(self) -> dict[str, CheckColumn]:
        """The columns of the checks."""
        return check_columns()

    @cached_property
    def schema(self) -> Schema:
        """Two quasi-identifiers; the rest is released as it is."""
        roles: dict[str, Any] = {"person": {"role": "identifier"}, "disease": {"role": "sensitive"}}
        roles |= {name: {"role": "quasi"} for name in ("age", "area")}
        roles |= {n: {"role": "insensitive"} for n in self.columns if n not in roles}
        return Schema(attributes=roles)

    @cached_property
    def table(self) -> Table:
        """The table in the engine."""
        return self.make(self.columns).with_schema(self.schema)

    @cached_property
    def reference(self) -> Table:
        """The texts in memory."""
        texts = {name: np.array(c.texts, dtype=object) for name, c in self.columns.items()}
        return read(texts, schema=self.schema)

    @property
    def both(self) -> tuple[Table, Table]:
        """The table under check and the reference."""
        return self.table, self.reference


def cells_have_their_texts(bench: TableBench) -> None:
    """Every column has the texts that are written down for it, and the type."""
    for name, column in bench.columns.items():
        counted = bench.table.count([name])
        found = dict(zip(counted.values[0], counted.counts.tolist(), strict=True))
        assert found == Counter(column.texts), f"the texts of '{name}' differ: {found}"
        assert bench.table.types[name] == column.kind, f"'{name}' is {bench.table.types[name]}"


def combinations_are_counted(bench: TableBench) -> None:
    """All columns together are counted, encoded in the order of the bytes of their texts."""
    found, wanted = (table.count(tuple(bench.columns)) for table in bench.both)
    assert found.values == wanted.values
    assert all(np.array_equal(a, b) for a, b in zip(found.codes, wanted.codes, strict=True))
    assert np.array_equal(found.counts, wanted.counts)


def copies_are_numbered(bench: TableBench) -> None:
    """Rows of a copy are numbered from 1, in their order, and joined with what is given."""
    copy = bench.table.materialize()
    names = list(bench.columns)
    cells = ", ".join(copy.text(name) for name in names)
    rows = copy.run(f"SELECT {ROW}, {cells} FROM {copy.scan} ORDER BY {ROW}")
    texts = zip(*(bench.columns[name].texts for name in names), strict=True)
    assert [tuple(row) for row in rows] == [(i, *row) for i, row in enumerate(texts, start=1)]
    given = copy.engine.register(
        {"m0": np.array(["30", "no such"], dtype=object), "n0": np.array([7, 8])}
    )
    ages = f"SELECT {copy.text('age')} AS a FROM {copy.scan}"
    query = f"SELECT sum(d.n0) FROM ({ages}) r JOIN {given} d ON r.a = d.m0"
    assert int(copy.run(query)[0][0]) == 7 * bench.columns["age"].texts.count("30")
    copy.drop()


def releases_are_the_same(bench: TableBench) -> None:
    """With the same seed, a release is the same cell for cell, in the same order."""
    for settings in SETTINGS:
        found, wanted = (_release_text(table, settings) for table in bench.both)
        assert found == wanted, f"the releases with {sorted(settings)} differ"


def _release_text(table: Table, settings: dict[str, Any]) -> str:
    release: Any = anonymize(table, KAnonymity(3), seed=11, **settings)
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        path = Path(folder) / "rows.csv"
        release.artefact.rows.write_csv(path)
        return path.read_text(encoding="utf-8")


def judgements_are_the_same(bench: TableBench) -> None:
    """Verification, risk, linkage and suggestions agree."""
    verified = [verify(table, bench.schema, KAnonymity(2), called="it") for table in bench.both]
    assert verified[0].found == verified[1].found
    assert verified[0].rows() == verified[1].rows()
    apart = {f.text for f in verified[0].findings} - {f.text for f in verified[1].findings}
    assert ["two kinds" in text and "disease" in text for text in apart] == [True], apart
    release = anonymize(bench.reference, KAnonymity(3), seed=11)
    linked = [linkage(release, table, names="person") for table in bench.both]
    assert [str(f) for f in linked[0].findings] == [str(f) for f in linked[1].findings]
    assert linked[0].expected == linked[1].expected
    found, wanted = (suggest(table) for table in bench.both)
    assert [c.role for c in found.columns] == [c.role for c in wanted.columns]
    assert found.sets == wanted.sets


def records_can_be_perturbed(bench: TableBench) -> None:
    """Work on whole records finds the same records, in the same order, and keeps all others."""
    found, wanted = (perturb(t, *OPERATIONS, seed=3) for t in bench.both)
    a, b = (t.count(tuple(bench.columns)) for t in (found, wanted))
    assert a.values == b.values
    assert all(np.array_equal(x, y) for x, y in zip(a.codes, b.codes, strict=True))
    assert _release_text(found, {"order": "keep"}) == _release_text(wanted, {"order": "keep"})


def orders_tell_nothing(bench: TableBench) -> None:
    """Without a seed, two releases whose rows the engine orders stand in different orders."""
    settings: dict[str, Any] = {"pseudonym_key": b"a key of the conformance kit ...."}
    texts = []
    for _ in range(2):
        release: Any = anonymize(bench.table, KAnonymity(3), **settings)
        frame = release.artefact.rows.frame("arrow")
        texts.append([str(cell) for cell in frame.column("person")])
    assert sorted(texts[0]) == sorted(texts[1])
    assert texts[0] != texts[1]


def errors_quote_nothing(bench: TableBench) -> None:
    """Errors of a query that fails on a cell say a sentence of ours."""
    secret, said = bench.columns["disease"].texts[0], None
    try:
        bench.table.run(f"SELECT sum(CAST({quoted('disease')} AS INTEGER)) FROM {bench.table.scan}")
    except DataError as error:
        said = error
    assert said is not None, "a text was read as a number"
    assert secret not in str(said)
    assert said.__cause__ is None
    assert said.__context__ is None


CHECKS: tuple[Callable[[TableBench], None], ...] = (
    cells_have_their_texts,
    combinations_are_counted,
    copies_are_numbered,
    releases_are_the_same,
    judgements_are_the_same,
    records_can_be_perturbed,
    orders_tell_nothing,
    errors_quote_nothing,
)


def check_table_engine(
    make_table: MakeTable, *, notimpl: Mapping[str, str] | None = None
) -> TableEngineCheck:
    """Check that an engine counts, joins and releases the rows of a table as all others do.

    ``make_table`` puts columns into the engine, rows in their order, and opens them as a table.
    """
    excused = dict(notimpl or {})
    if not all(excused.values()):
        raise AssertionError("Every check in notimpl needs a reason.")
    unknown = set(excused) - {check.__name__ for check in CHECKS}
    if unknown:
        raise AssertionError(f"There is no check called {sorted(unknown)}.")
    bench, passed = TableBench(make_table), []
    for check in CHECKS:
        if check.__name__ not in excused:
            check(bench)
            passed.append(check.__name__)
            continue
        try:
            check(bench)
        except Exception:  # noqa: BLE001, S112 - it is expected to fail, in whatever way
            continue
        raise AssertionError(f"{check.__name__} passes, and is listed as not implemented.")
    return TableEngineCheck(tuple(passed), excused)
