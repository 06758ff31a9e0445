"""Disassociation on many small inputs: nothing changed, and k sets for all that is known."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.sets.chunks import Chunk, ChunkedSets, Cluster, read_chunks, reconstruct
from sfumato.errors import DataError, ParameterError

sys.path.insert(0, str(Path(__file__).parent))
import brute


def released(rng, k, m, **options):
    sets = brute.random_sets(rng, sets=int(rng.integers(2 * k, 30)))
    data = sf.read(sets, shape="sets", hierarchy=2)
    promise = sf.KmAnonymity(k, m=m)
    return sets, sf.anonymize(data, promise, algorithm="disassociation", **options)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_what_is_in_a_chunk_is_frequent_there(m):
    rng = np.random.default_rng(m)
    for _ in range(60):
        k = int(rng.integers(2, 4))
        sets, release = released(rng, k, m, cluster=int(rng.integers(2 * k, 4 * k)))
        chunked = release.data
        assert release.verify().holds
        assert sum(cluster.size for cluster in chunked.clusters) == len(sets)
        for chunk in chunked.chunks:
            assert brute.rarest(chunk.rows, m) >= k
        # nothing is changed: every item is as frequent as before, or a term
        terms = {item for cluster in chunked.clusters for item in cluster.terms}
        before = Counter(item for members in sets for item in members)
        after = Counter(i for chunk in chunked.chunks for row in chunk.rows for i in row)
        for item, count in before.items():
            assert after[item] == count or (item in terms and after[item] < count)


def originals(chunked):
    """Give every way to join rows of a small release; terms go to any sets, at least to one."""
    slots = [(c, i) for c, cluster in enumerate(chunked.clusters) for i in range(cluster.size)]
    ways = []
    for chunk in chunked.chunks:
        own = [s for s in range(len(slots)) if slots[s][0] in chunk.clusters]
        distinct = set()
        for places in product(*[own] * len(chunk.rows)):
            if len(set(places)) == len(places):
                distinct.add(tuple(sorted(zip(places, chunk.rows, strict=True))))
        ways.append(sorted(distinct))
    for c, cluster in enumerate(chunked.clusters):
        own = [s for s in range(len(slots)) if slots[s][0] == c]
        for term in cluster.terms:
            chosen = [
                tuple((s, (term,)) for s in places)
                for size in range(1, len(own) + 1)
                for places in combinations(own, size)
            ]
            ways.append(chosen)
    for way in product(*ways):
        sets = [set() for _ in slots]
        for placed in way:
            for slot, row in placed:
                sets[slot] |= set(row)
        if all(sets):
            yield sets


def test_some_original_has_k_sets_with_whatever_is_known():
    """Enumerate all originals of tiny releases: what the proof says, without its steps."""
    rng = np.random.default_rng(8)
    looked = 0
    while looked < 25:
        sets = [
            list(rng.choice(list("abc"), size=rng.integers(1, 4), replace=False)) for _ in range(4)
        ]
        data = sf.read(sets, shape="sets", hierarchy=2)
        release = sf.anonymize(data, sf.KmAnonymity(2, m=2), algorithm="disassociation", cluster=4)
        most = Counter()
        for original in originals(release.data):
            for known in {k for s in sets for k in brute.itemsets(s, 2)}:
                most[known] = max(most[known], sum(set(known) <= s for s in original))
        for members in sets:
            for known in brute.itemsets(members, 2):
                assert most[known] >= 2
        looked += 1


def test_refinement_joins_terms_of_several_clusters():
    rng = np.random.default_rng(4)
    sets = [
        [f"c{i % 8}", f"d{i % 8}", *(["rare"] if i % 10 == 0 else []), f"x{rng.integers(40)}"]
        for i in range(160)
    ]
    release = sf.anonymize(
        sf.read(sets, shape="sets", hierarchy=2),
        sf.KmAnonymity(5, m=2),
        algorithm="disassociation",
        cluster=20,
    )
    shared = [chunk for chunk in release.data.chunks if len(chunk.clusters) > 1]
    assert shared
    assert release.verify().holds
    assert release.loss["cut off"] < 0.2


def test_a_sample_has_as_many_sets_and_every_item(tmp_path):
    rng = np.random.default_rng(5)
    sets, release = released(rng, 3, 2)
    sample = release.sample(seed=1)
    assert len(sample) == len(sets)
    assert all(sample)
    assert {i for s in sample for i in s} == {i for s in sets for i in s}
    assert release.sample(seed=1) == sample
    release.save(tmp_path / "out", report=True)
    found = read_chunks(tmp_path / "out" / "chunks.json")
    assert reconstruct(found, seed=1) == sample
    assert sf.verify(tmp_path / "out").holds
    assert "disassociation" in (tmp_path / "out" / "report.html").read_text()


def whole(*rows, terms=("t",), clusters=(0,), size=4):
    return ChunkedSets((Cluster(size, terms),), (Chunk(clusters, rows),))


@pytest.mark.parametrize(
    ("broken", "word"),
    [
        (whole(("a", "b"), ("a",), ("a",)), ""),
        (whole(("a",), ("a",), ("a",), terms=("a",)), "two places"),
        (whole(*[("a",)] * 5), "more rows"),
        (whole(("a",), ("a",), terms=(), size=4), "neither a term"),
        (whole(("a",), ("a",), size=1), "fewer than 2"),
    ],
    ids=["rare pair", "item twice", "crowded", "empty sets", "small cluster"],
)
def test_a_release_that_is_broken_is_seen(broken, word):
    found = sf.verify(broken, shape="sets", definition=sf.KmAnonymity(2, m=2))
    assert not found.holds
    assert word in " ".join(finding.text for finding in found.findings)


def test_it_says_what_it_cannot_do(tmp_path):
    sets = [["a", "b"]] * 6
    data = sf.read(sets, shape="sets", hierarchy=2)
    with pytest.raises(ParameterError, match="k\\^m"):
        sf.anonymize(data, sf.KAnonymity(2), algorithm="disassociation")
    with pytest.raises(ParameterError, match="cluster must be"):
        sf.anonymize(data, sf.KmAnonymity(2), algorithm="disassociation", cluster=3)
    path = tmp_path / "chunks.json"
    path.write_text('{"clusters": 3}')
    with pytest.raises(DataError, match="does not hold clusters"):
        read_chunks(path)


def test_known_items_find_nobody():
    rng = np.random.default_rng(6)
    _, release = released(rng, 3, 2)
    assert sf.attack.known_items(release, m=2).exposed == 0
    assert replace(release.artefact).chunked is release.data
