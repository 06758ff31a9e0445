"""Places as cells of a quadtree, alone and in hybrid records."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.hybrid.quadtree import quadtree
from sfumato.errors import DataError


def test_a_cell_holds_its_places():
    rng = np.random.default_rng(0)
    places = [f"{rng.uniform(47, 49):.4f}, {rng.uniform(7, 10):.4f}" for _ in range(60)]
    tree = quadtree(places, "home")
    assert tree.items == 60
    for node in range(tree.items, tree.nodes - 1):
        low, high = tree.labels[node].split(" × ")
        for name, axis in ((low, 0), (high, 1)):
            least, most = (float(text) for text in name.strip("[)").split(", "))
            for place in tree.leaves(node):
                assert least - 1e-4 <= float(place.split(", ")[axis]) <= most + 1e-4


def test_places_are_shown_as_cells():
    rng = np.random.default_rng(1)
    count = 30
    table = {
        "home": [f"{rng.uniform(47, 49):.4f} {rng.uniform(7, 10):.4f}" for _ in range(count)],
        "bought": ["|".join(rng.choice(list("abcd"), 2, replace=False)) for _ in range(count)],
    }
    schema = sf.Schema(attributes={
        "home": {"role": "quasi", "type": "place"}, "bought": {"role": "quasi", "type": "set"}
    })  # fmt: skip
    promise = sf.KAnonymity(3) & sf.KmAnonymity(3, m=2, attribute="bought")
    release = sf.anonymize(sf.read(table, schema=schema), promise)
    assert release.verify().holds
    assert all(label == "*" or " × [" in label for label in release.data["home"])


def test_a_place_that_is_none_gets_a_clear_message():
    with pytest.raises(DataError, match="two numbers"):
        quadtree(["here"], "home")
    with pytest.raises(DataError, match="outside of the bounds"):
        quadtree(["5000 3"], "home")
    assert quadtree(["5000 3", "1 2"], "home", (0, 0, 10_000, 10)).items == 2
