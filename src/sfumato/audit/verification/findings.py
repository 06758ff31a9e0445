"""What is wrong with a released file beside its classes: columns and labels.

A release may keep every promise about classes and still give people away: a column that
names them, the number of their row in the original file, a value that was never
generalised. `look` reports these. A serious finding breaks the release whatever the
classes say; the others are worth knowing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.engines.duckdb import quoted
from sfumato.data.hierarchies.hierarchy import MISSING, ROOT, Hierarchy
from sfumato.data.tables.singling_out import TOGETHER
from sfumato.released.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sfumato.data.schema import Schema
    from sfumato.data.tables.singling_out import NearlyUnique
    from sfumato.data.tables.table import Table
    from sfumato.released.evidence import Evidence
    from sfumato.released.population import PopulationCounts

FEW_RECORDS = 20
"""Below this, whole numbers that happen to be close and all different prove nothing."""

MOST_OF = 0.9
"""Share of cells of a form from which on a column is taken to be of it."""

FIRST_RECORDS = 10_000
"""How many records are looked at before a column is searched for repeated values."""


@dataclass(frozen=True)
class FileFinding:
    """One thing found: what, in which column, and whether it breaks the release."""

    kind: str
    attribute: str
    text: str
    serious: bool = True

    def __str__(self) -> str:
        return self.text


def look(
    evidence: Evidence,
    table: Table,
    schema: Schema,
    pseudonyms: Collection[str] = (),
    numbers: str | None = None,
    linkable: Sequence[NearlyUnique] = (),
) -> tuple[FileFinding, ...]:
    """Return everything found about the columns and labels of a release.

    `numbers` is the column that tells the people of a class apart; `people.py` looks at it.
    `linkable` are the columns released as they are that are nearly unique.
    """
    told = {found.column for found in linkable}
    found = [
        *_identifiers(table, schema, pseudonyms),
        *_columns_without_role(table, schema, numbers),
        *_linkable(linkable, schema),
        *(
            finding
            for finding in _row_numbers(evidence, table, schema, {*pseudonyms, numbers or ""})
            if finding.kind != "all different" or finding.attribute not in told
        ),
        *_strange_labels(evidence, schema),
        *_nothing_left(evidence, schema),
        *_missing_columns(table, schema),
    ]
    return tuple(found)


def _identifiers(table: Table, schema: Schema, pseudonyms: Collection[str]) -> list[FileFinding]:
    found = []
    for name in schema.identifier_names:
        if name in table.columns and name in pseudonyms and _look_like_pseudonyms(table, name):
            text = f"Column '{name}' holds keyed pseudonyms: whoever has the key can undo them."
            found.append(FileFinding("pseudonyms", name, text, serious=False))
        elif name in table.columns:
            text = f"Column '{name}' is an identifier and is in the release; it must be left out."
            found.append(FileFinding("identifier", name, text))
    return found


def _look_like_pseudonyms(table: Table, name: str) -> bool:
    """Whether every cell has the form of our pseudonyms; a manifest alone is not believed."""
    text = table.text(name)
    query = f"SELECT count(*) FROM {table.scan} WHERE NOT regexp_full_match({text}, '([a-z2-7]{{16}})?')"  # noqa: E501, S608 - quoted by `text`
    return bool(table.run(query)[0][0] == 0)


def _columns_without_role(table: Table, schema: Schema, numbers: str | None) -> list[FileFinding]:
    return [
        FileFinding(
            "no role",
            name,
            f"Column '{name}' is in the release, but the schema gives it no role, so nothing "
            "protects it; name it in the schema or leave it out.",
        )
        for name in table.columns
        if name not in schema.attributes and name != numbers
    ]


def _linkable(columns: Sequence[NearlyUnique], schema: Schema) -> list[FileFinding]:
    """Tell of nearly unique columns: they break the release unless accepted with a reason."""
    accepted = schema.accepted
    return [
        FileFinding("linkable", c.column, f"{c.told}; accepted: {accepted[c.column]}.", False)
        if c.column in accepted
        else FileFinding("linkable", c.column, c.warning)
        for c in columns
    ]


def _row_numbers(
    evidence: Evidence, table: Table, schema: Schema, pseudonyms: Collection[str]
) -> list[FileFinding]:
    """Find columns of whole numbers, all different: where the record stood, or whose it is."""
    records = evidence.records
    others = [c for c in table.columns if c not in evidence.quasi and c not in pseudonyms]
    suspects = [name for name in others if _could_be_unique(evidence, name)]
    found = []
    for name in _unique_at_first(table, suspects):
        low, high = _extremes(table, name, records)
        if low is None or high is None:
            found += _all_different(table, name, records, schema)
            continue
        named = name in schema.attributes and name not in schema.identifier_names
        if named and (records < FEW_RECORDS or high - low >= 2 * records):
            continue  # salaries may well be all different; row numbers stand close together
        text = (
            f"Column '{name}' holds {records} different whole numbers, one per record: it looks "
            "like the row number of the original file, which tells who is who; leave it out."
        )
        found.append(FileFinding("row number", name, text))
    return found


def _all_different(table: Table, name: str, records: int, schema: Schema) -> list[FileFinding]:
    """Warn of a text that differs in every record: it may name people whatever its role."""
    if records < FEW_RECORDS or name in schema.identifier_names:
        return []
    text = table.text(name)
    query = f"SELECT count(DISTINCT {text}), count(TRY_CAST({text} AS DOUBLE)) FROM {table.scan}"  # noqa: S608 - quoted by `text`
    distinct, numbers = table.run(query)[0]
    if distinct < records or numbers == records:
        return []
    if _are_addresses(table, name):
        words = (
            f"Column '{name}' holds an e-mail address per record, which names people; leave it out."
        )
        return [FileFinding("address", name, words)]
    words = (
        f"Column '{name}' has a different text in every record; if it names people it must be "
        "left out."
    )
    return [FileFinding("all different", name, words, serious=False)]


def _are_addresses(table: Table, name: str) -> bool:
    """Tell whether nearly every cell is an e-mail address."""
    text = table.text(name)
    form = "regexp_full_match(trim(" + text + "), '[^@ ]+@[^@ ]+[.][A-Za-z]{2,}')"
    query = f"SELECT count(*) FILTER (WHERE {form}), count(*) FROM {table.scan}"  # noqa: S608 - quoted by `text`
    found, records = table.run(query)[0]
    return bool(found >= MOST_OF * records)


def _unique_at_first(table: Table, names: Sequence[str]) -> list[str]:
    """Return the columns without a repeated value in the first records; most drop out here.

    A few columns are asked about at a time: engines plan hundreds of distinct counts together for
    longer than they count.
    """
    found: list[str] = []
    for begin in range(0, len(names), TOGETHER):
        few = names[begin : begin + TOGETHER]
        chosen = ", ".join(quoted(name) for name in few)
        counts = ", ".join(f"count(DISTINCT {quoted(name)})" for name in few)
        first = f"(SELECT {chosen} FROM {table.scan} LIMIT {FIRST_RECORDS})"  # noqa: S608 - quoted above
        answer = table.run(f"SELECT count(*), {counts} FROM {first}")[0]  # noqa: S608 - same
        found += [name for name, count in zip(few, answer[1:], strict=True) if count == answer[0]]
    return found


def _could_be_unique(evidence: Evidence, name: str) -> bool:
    spread = evidence.sensitive.get(name)
    return spread is None or len(spread.values) == evidence.records


def _extremes(table: Table, name: str, records: int) -> tuple[int | None, int | None]:
    """Return the smallest and largest of a column if it is whole numbers, all different."""
    text = f"CAST({quoted(name)} AS VARCHAR)"
    whole = f"regexp_full_match({text}, '[+-]?[0-9]+([.]0+)?')"
    number = f"CASE WHEN {whole} THEN TRY_CAST({text} AS HUGEINT) END"
    chosen = f"min({number}), max({number}), count(DISTINCT {number})"
    answer = table.run(f"SELECT {chosen} FROM {table.scan}")  # noqa: S608 - quoted above
    low, high, distinct = answer[0]
    if distinct != records or records < 2:
        return None, None
    return int(low), int(high)


def _strange_labels(evidence: Evidence, schema: Schema) -> list[FileFinding]:
    """Find labels that no level of a declared hierarchy has.

    A rule (intervals, masks, …) makes its labels from the original values, which a release
    does not show; only hierarchies declared as a tree or file can be held against it.
    """
    found = []
    for a, name in enumerate(evidence.quasi):
        tree = schema.attribute(name).hierarchy
        if not isinstance(tree, Hierarchy):
            continue
        labels = Labels(tree)
        strange = [
            code
            for code, label in enumerate(evidence.labels[a])
            if label != MISSING and labels.leaves(label) is None
        ]
        if strange:
            records = int(evidence.sizes[np.isin(evidence.codes[:, a], strange)].sum())
            text = (
                f"Column '{name}' shows {len(strange)} label(s) in {records} record(s) that are "
                "no node of its hierarchy: values that were released without being generalised, "
                "or a schema that does not belong to this release."
            )
            found.append(FileFinding("strange label", name, text))
    return found


def _nothing_left(evidence: Evidence, schema: Schema) -> list[FileFinding]:
    """Find the class in which every quasi-identifier is suppressed."""
    if not evidence.quasi:
        return []
    blank = np.ones(evidence.classes, dtype=np.bool_)
    for a, name in enumerate(evidence.quasi):
        tree = schema.attribute(name).hierarchy
        roots = {ROOT, *(tree.labels[-1] if isinstance(tree, Hierarchy) else ())}
        codes = [code for code, label in enumerate(evidence.labels[a]) if label in roots]
        blank &= np.isin(evidence.codes[:, a], codes)
    records = int(evidence.sizes[blank].sum())
    if not records or records == evidence.records:
        return []
    text = (
        f"{records} record(s) show nothing on any quasi-identifier; they form a class of their "
        "own and are held to the same promise."
    )
    return [FileFinding("nothing left", "", text, serious=False)]


def _missing_columns(table: Table, schema: Schema) -> list[FileFinding]:
    wanted = (*schema.quasi_names, *schema.sensitive_names)
    return [
        FileFinding("left out", name, f"Column '{name}' is not in the release.", serious=False)
        for name in wanted
        if name not in table.columns
    ]


def incomplete_population(
    evidence: Evidence, counts: PopulationCounts | None
) -> tuple[FileFinding, ...]:
    """Report classes that more records than people fit: the population is not one."""
    lacking = 0 if counts is None else int((counts.people < evidence.sizes).sum())
    if not lacking:
        return ()
    text = (
        f"{lacking} class(es) have more records than people of the population who fit them, so "
        "the population does not contain everybody in the release."
    )
    return (FileFinding("population", "", text, serious=False),)
