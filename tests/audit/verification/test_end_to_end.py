"""What anonymising promises, verification finds; what is tampered with, it finds too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sfumato as sf

TREE = sf.Hierarchy.from_rows(
    [("flu", "lung", "*"), ("cold", "lung", "*"), ("ulcer", "gut", "*"), ("colitis", "gut", "*")]
)
SCHEMA = sf.Schema(
    quasi={
        "zip": sf.Hierarchy.mask(4),
        "age": sf.Hierarchy.intervals(width=10),
        "sex": sf.Hierarchy.flat(["f", "m"]),
    },
    sensitive={"disease": TREE},
)
PROMISES = [
    sf.KAnonymity(3),
    sf.DistinctLDiversity(3, "disease"),
    sf.EntropyLDiversity(2.2, "disease"),
    sf.RecursiveLDiversity(2, 2, "disease"),
    sf.TCloseness(0.35, "disease"),
    sf.TCloseness(0.3, "disease", distance="ordered"),
    sf.TCloseness(0.3, "disease", distance="hierarchical"),
    sf.TCloseness(0.5, "disease", distance="kl"),
    sf.BetaLikeness(1.2, "disease"),
    sf.DeltaDisclosure(1.5, "disease"),
    sf.KAnonymity(2) & sf.TCloseness(0.4, "disease") & sf.DistinctLDiversity(2, "disease"),
]


def people(seed, n=60):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "zip": rng.choice(["1305", "1306", "1485", "1486"], n),
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m", None], n, p=[0.48, 0.48, 0.04]),
            "disease": rng.choice(TREE.leaves, n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@pytest.mark.parametrize("suppression", [0.0, 0.3])
def test_releases_keep_what_they_promise(promise, suppression):
    data = people(int(suppression * 10))
    release = sf.anonymize(data, promise, schema=SCHEMA, suppression=suppression)
    found = sf.verify(release.table, SCHEMA, promise)
    assert found.holds, str(found)
    assert found.records == len(data) - release.suppressed


def test_tampering_is_found():
    promise = sf.KAnonymity(3)
    release = sf.anonymize(people(7), promise, schema=SCHEMA)
    table = pd.DataFrame(release.table).astype(object)
    smallest = sf.verify(table, SCHEMA, promise).bottleneck
    inside = np.logical_and.reduce(
        [table[name].fillna("") == label for name, label in smallest.cells.items()]
    )
    assert inside.sum() == smallest.size
    fewer = table.drop(index=table.index[inside][: smallest.size - 2])
    assert not sf.verify(fewer, SCHEMA, promise).holds
    moved = table.copy()
    moved.loc[moved.index[0], "zip"] = "0000"
    assert not sf.verify(moved, SCHEMA, promise).holds
