"""Work on rows of a database: only the columns it needs come here, and the result is the same."""

from __future__ import annotations

import random
import re
from decimal import Decimal

import pytest
from table_places import put, rows_of, target

import sfumato as sf
from sfumato.errors import DataError

DATABASES = ("file", "postgres", "spark")
KINDS = {
    "name": "VARCHAR", "age": "INTEGER", "disease": "VARCHAR", "income": "DOUBLE",
    "price": "DECIMAL(10,2)", "floor": "INTEGER",
}  # fmt: skip
DRAW = random.Random(8)
CELLS = [
    [f"p{i}" for i in range(80)],
    [30 + i % 4 for i in range(80)],
    [DRAW.choice(["flu", "cold", "", None, "a\nb", 'c"d']) for _ in range(80)],
    [None if i % 9 == 0 else i / 8 for i in range(80)],
    [Decimal(i * 3) for i in range(80)],
    [i % 7 for i in range(80)],
]
SCHEMA = sf.Schema(
    attributes={
        "name": {"role": "identifier"}, "age": {"role": "quasi"}, "disease": {"role": "sensitive"},
        "income": {"role": "insensitive", "linkable": "accepted, noise is added"},
        "price": {"role": "insensitive", "linkable": "accepted, noise is added"},
        "floor": {"role": "insensitive"},
    }
)  # fmt: skip
OPERATIONS = (
    sf.AddNoise(["income", "price"], relative=0.5, correlated=True),
    sf.Swap("disease", share=0.7),
    sf.AddNoise("age", scale=1.0, low=30, high=33),
)


@pytest.fixture
def crossed(monkeypatch):
    """Note the queries whose rows come into this process."""
    from sfumato.data.engines.postgres import Postgres
    from sfumato.data.engines.spark import Spark

    seen = []
    for engine in (Postgres, Spark):
        honest = engine.bring

        def bring(self, query, honest=honest):
            seen.append(query)
            return honest(self, query)

        monkeypatch.setattr(engine, "bring", bring)
    return seen


def released(place, request, operations, address):
    people = sf.read(put(place, request, KINDS, CELLS), schema=SCHEMA)
    changed = sf.perturb(people, *operations, seed=4)
    assert changed.untruthful == tuple(map(str, operations))
    assert changed.types == people.types
    release = sf.anonymize(changed, sf.KAnonymity(4), suppression=0.3, seed=1)
    release.save(address)
    assert sf.verify(address, SCHEMA).holds
    return release


@pytest.mark.filterwarnings("ignore:.*are brought from the database")
@pytest.mark.parametrize("place", ["postgres", "spark"])
def test_the_same_release_and_other_columns_stay(place, request, crossed):
    """Cell for cell as from a DuckDB file; neither names nor rows come here, and none goes back."""
    addresses = [target("file", request), target(place, request)]
    releases = [
        released(where, request, OPERATIONS, address)
        for where, address in zip(("file", place), addresses, strict=True)
    ]
    assert rows_of(addresses[0]) == rows_of(addresses[1])
    assert releases[0].loss == releases[1].loss
    assert releases[1].artefact.home.dialect == place
    columns = {name for query in crossed for name in re.findall(r'"(\w+)"', query)}
    assert columns == {"income", "price", "disease", "age"}
    assert all(len(re.findall(r'"\w+"', query)) == 1 for query in crossed)


@pytest.mark.filterwarnings("ignore:.*are brought from the database")
@pytest.mark.parametrize("place", ["postgres", pytest.param("spark", marks=pytest.mark.soak)])
def test_records_that_are_added_make_the_same_release(place, request):
    """Made-up records resemble whole records, so all columns come; the result is the same."""
    addresses = [target("file", request), target(place, request)]
    for where, address in zip(("file", place), addresses, strict=True):
        released(where, request, (sf.AddSynthetic(share=0.2),), address)
    assert rows_of(addresses[0]) == rows_of(addresses[1])


def test_it_is_said_once_and_a_failed_operation_leaves_no_copy(postgres_url, request):
    people = sf.read(put("postgres", request, KINDS, CELLS), schema=SCHEMA)
    with pytest.warns(UserWarning, match="'income' is the first") as told:
        sf.perturb(people, *OPERATIONS)
    assert len([w for w in told if "other columns stay there" in str(w.message)]) == 1
    left = "SELECT COUNT(*) FROM pg_class WHERE relpersistence = 't' AND relname LIKE 'sfumato_%'"
    before = people.engine.ask(left)
    with pytest.raises(DataError, match="needs numbers"), pytest.warns(UserWarning, match="stay"):
        sf.perturb(people, sf.AddNoise("disease", scale=1.0))
    assert people.engine.ask(left) == before


SETS = {"name": "VARCHAR", "age": "INTEGER", "secret": "VARCHAR", "items": "VARCHAR[]"}
SET_CELLS = [
    [f"p{i}" for i in range(40)],
    [30 + i % 4 for i in range(40)],
    [f"unnamed{i}" for i in range(40)],
    [[f"i{(i * j) % 7}" for j in range(1, 4)] for i in range(40)],
]


@pytest.mark.filterwarnings("ignore:.*are brought from the database")
@pytest.mark.parametrize("place", ["postgres", "spark"])
def test_rows_with_sets_come_without_names(place, request, crossed):
    """Of rows with sets, identifiers and columns without a role stay in the database."""
    schema = sf.Schema(
        attributes={
            "name": {"role": "identifier"},
            "age": {"role": "quasi"},
            "items": {"role": "quasi", "type": "set"},
        },
        unit="name",
    )
    released = [
        sf.anonymize(
            sf.read(put(where, request, SETS, SET_CELLS), schema=schema),
            sf.KAnonymity(4) & sf.KmAnonymity(4, m=2, attribute="items"),
            seed=2,
        ).data
        for where in ("file", place)
    ]
    assert dict(released[0]) == dict(released[1])
    assert crossed
    assert not any("name" in query or "secret" in query for query in crossed)
