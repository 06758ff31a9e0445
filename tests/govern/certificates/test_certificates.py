"""A certificate holds, and every changed byte, wrong key or rolled-back checkpoint breaks it."""

from __future__ import annotations

import base64
import copy
import json
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli import run
from sfumato.errors import PromiseBroken, SfumatoError
from sfumato.govern.certificates import merkle
from sfumato.govern.certificates.certificate import certify_release
from sfumato.govern.certificates.check import check_certificate
from sfumato.govern.certificates.checkpoints import (
    Checkpoint,
    LedgerTree,
    compare_checkpoints,
    make_checkpoint,
    sign_checkpoint,
)
from sfumato.govern.certificates.keys import key_at, public_key
from sfumato.govern.ledger.connection import Store
from sfumato.govern.ledger.ledger import Ledger


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A release with its certificate, the key, and the leaves it was proved under."""
    folder = tmp_path_factory.mktemp("certified")
    people = sf.read({"age": [30, 30, 41, 41]}, schema=sf.Schema(quasi=["age"]), name="people")
    ledger = Ledger(folder / "ledger.sqlite")
    for number in range(6):
        ledger.record("noted", {"dataset": "other", "number": number})
    file = sf.anonymize(people, sf.KAnonymity(2)).save(folder / "out", ledger=ledger)
    entry = ledger.entries()[-1]
    for number in range(5):
        ledger.record("noted", {"dataset": "other", "number": number})
    key = key_at(folder / "signing.pem")
    leaves = LedgerTree(Store(folder / "ledger.sqlite")).leaves()
    return certify_release(entry, leaves=leaves, key=key), file, key, leaves


def test_it_holds_for_its_file_and_key(certified):
    certificate, file, key, _ = certified
    found = check_certificate(certificate, file=file, keys=[public_key(key)])
    assert found.key_was_named
    assert found.checkpoint.size == 12
    assert any("2-anonymity" in line for line in found.lines())
    assert not check_certificate(certificate, file=file).key_was_named


def test_its_file_is_found_in_a_folder_and_missed_where_it_is_not(certified, tmp_path):
    certificate, file, _, _ = certified
    check_certificate(certificate, file=file.parent)
    with pytest.raises(PromiseBroken, match=r"holds no release\.csv"):
        check_certificate(certificate, file=tmp_path)
    (tmp_path / "release.csv").write_text("another")
    (tmp_path / "original.csv").write_bytes(file.read_bytes())
    with pytest.raises(PromiseBroken, match=r"release\.csv is not the file"):
        check_certificate(certificate, file=tmp_path)
    (tmp_path / "release.csv").write_bytes(file.read_bytes())
    assert check_certificate(certificate, file=tmp_path).file == tmp_path / "release.csv"
    (tmp_path / "release.parquet").write_text("another")
    with pytest.raises(PromiseBroken, match=r"holds release\.parquet as well"):
        check_certificate(certificate, file=tmp_path)


def test_a_partner_checks_the_promise_from_folder_and_certificate_alone(tmp_path, capsys):
    rows = {
        "age": [30, 30, 41, 41],
        "ill": list("abab"),
        "ticket": [f"{i:x}" * 9 for i in range(4)],
    }
    schema = sf.Schema(
        quasi=["age"], sensitive=["ill"],
        attributes={"ticket": {"role": "insensitive", "linkable": "accepted, drawn at random"}},
    )  # fmt: skip
    place = str(tmp_path / "ledger.sqlite")
    people = sf.read(rows, schema=schema, name="people")
    sf.anonymize(people, sf.KAnonymity(2)).save(tmp_path / "out", ledger=place)
    with Ledger(place) as ledger:
        number = ledger.entries()[-1].number
    made = ["certificate", str(number), "-L", place, "--key", str(tmp_path / "signing.pem")]
    made += ["-o", str(tmp_path / "c.json"), "--public", str(tmp_path / "public.json")]
    assert run(made) == 0
    (tmp_path / "out" / "release.json").unlink()
    (tmp_path / "out" / "report.html").unlink()
    asked = ["verify", str(tmp_path / "out"), "--certificate", str(tmp_path / "c.json")]
    asked += ["--key", str(tmp_path / "public.json")]
    capsys.readouterr()
    assert run(asked) == 0
    shown = capsys.readouterr().out.replace("\n", " ")
    for told in ("quasi-identifiers: age", "drawn at random", "2-anonymity", "the key you named"):
        assert told in shown
    assert "the promise holds" in shown


def test_every_changed_byte_of_file_and_certificate_is_found(certified, tmp_path):
    certificate, file, key, _ = certified
    content = file.read_bytes()
    changed = tmp_path / "release.csv"
    for place in range(len(content)):
        changed.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(PromiseBroken):
            check_certificate(certificate, file=changed)
    payload = certificate["payload"]
    for place in range(0, len(payload), 7):
        broken = copy.deepcopy(certificate)
        other = "A" if payload[place] != "A" else "B"
        broken["payload"] = payload[:place] + other + payload[place + 1 :]
        with pytest.raises(SfumatoError):
            check_certificate(broken, file=file, keys=[public_key(key)])
    signature = certificate["signatures"][0]["sig"]
    for place in range(len(signature)):
        broken = copy.deepcopy(certificate)
        other = "A" if signature[place] != "A" else "B"
        broken["signatures"][0]["sig"] = signature[:place] + other + signature[place + 1 :]
        with pytest.raises(PromiseBroken):
            check_certificate(broken, file=file)


def test_another_key_and_a_forged_one_are_refused(certified, tmp_path):
    certificate, file, _, _ = certified
    other = key_at(tmp_path / "other.pem")
    with pytest.raises(PromiseBroken, match="not one that was named"):
        check_certificate(certificate, file=file, keys=[public_key(other)])


def test_what_is_signed_but_not_in_the_tree_is_refused(certified):
    """Somebody with the key states another promise, or an entry that the root does not cover."""
    from sfumato.govern.certificates.envelope import sign

    certificate, file, key, _ = certified
    statement = json.loads(base64.b64decode(certificate["payload"]))
    for change in (
        lambda s: s["predicate"].update(promise_in_words="100-anonymity"),
        lambda s: s["predicate"]["entry"].update(guarantee="100-anonymity"),
        lambda s: s["predicate"]["entry"].update(number=3),
        lambda s: s["predicate"]["proof"].pop(),
        lambda s: s["subject"][0]["digest"].update(sha256="0" * 64),
        lambda s: s["predicate"].pop("entry"),
        lambda s: s.update(predicateType="urn:something"),
    ):
        wrong = copy.deepcopy(statement)
        change(wrong)
        with pytest.raises(PromiseBroken):
            check_certificate(sign("application/vnd.in-toto+json", wrong, key), file=file)


def test_a_rolled_back_checkpoint_is_told(certified):
    certificate, file, key, leaves = certified
    size = make_checkpoint(leaves)
    rewritten = sign_checkpoint(Checkpoint(size.size, "0" * 64, size.time), key)
    with pytest.raises(PromiseBroken, match="rewritten"):
        check_certificate(certificate, file=file, noted=rewritten)
    longer = sign_checkpoint(Checkpoint(size.size + 5, "0" * 64, "2020-01-01T00:00:00+00:00"), key)
    with pytest.raises(PromiseBroken, match="rolled back"):
        check_certificate(certificate, file=file, noted=longer)
    compare_checkpoints(size, size)


@given(st.integers(1, 70), st.data())
@settings(max_examples=60, deadline=None)
def test_proofs_hold_and_no_other_does(size, data):
    leaves = [merkle.leaf_of(f"{i:064x}") for i in range(size)]
    place = data.draw(st.integers(0, size - 1))
    path, root = merkle.inclusion(leaves, place), merkle.root(leaves)
    assert merkle.root_from(leaves[place], place, size, path) == root
    other = merkle.leaf_of("f" * 64)
    assert merkle.root_from(other, place, size, path) != root
    if size > 1:
        wrong = (place + 1) % size
        assert merkle.root_from(leaves[place], wrong, size, path) != root
        assert merkle.root_from(leaves[place], place, size, path[:-1]) != root
    earlier = data.draw(st.integers(0, size))
    proof = merkle.consistency(leaves, earlier)
    old = merkle.root(leaves[:earlier])
    assert merkle.is_extension(old, earlier, root, size, proof)
    if 0 < earlier < size:
        forged = merkle.root([merkle.leaf_of("e" * 64), *leaves[1:earlier]])
        assert not merkle.is_extension(forged, earlier, root, size, proof)


def test_a_leaf_is_no_node():
    """A node's bytes are no entry's hash: the prefixes differ (second pre-images, RFC 9162)."""
    leaves = [merkle.leaf_of(f"{i:064x}") for i in range(2)]
    assert merkle.root(leaves) != merkle.leaf_of((leaves[0] + leaves[1]).hex())


def test_the_tree_of_the_first_leaves_is_that_of_those_leaves_alone(monkeypatch):
    leaves = [merkle.leaf_of(f"{i:064x}") for i in range(41)]
    hashed, node = [], merkle._node
    levels = merkle.Levels(leaves)
    monkeypatch.setattr(merkle, "_node", lambda *pair: hashed.append(pair) or node(*pair))
    for count in range(1, 42):
        first = levels.first(count)
        assert len(hashed) <= 6  # the edge, not the tree
        alone = merkle.Levels(leaves[:count])
        assert (first.size, first.root) == (count, merkle.root(leaves[:count]))
        for place in range(count):
            assert first.inclusion(place) == alone.inclusion(place)
            assert first.consistency(place) == alone.consistency(place)
        hashed.clear()


def test_kept_levels_give_the_same_proofs():
    for size in range(40):
        leaves = [merkle.leaf_of(f"{number:064x}") for number in range(size)]
        levels = merkle.Levels(leaves)
        assert levels.root == merkle.root(leaves)
        for place in range(size):
            assert levels.inclusion(place) == merkle.inclusion(leaves, place)
        for earlier in range(size + 1):
            assert levels.consistency(earlier) == merkle.consistency(leaves, earlier)


def test_the_tree_of_a_moment_ends_before_the_first_entry_that_is_later(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for number in range(3):
        ledger.record("noted", {"dataset": "other", "number": number})
    tree = LedgerTree(Store(tmp_path / "ledger.sqlite"))
    whole, times = tree.leaves(), [one.time for one in ledger.entries()]
    for place, time in enumerate(times):
        assert tree.leaves(datetime.fromisoformat(time)) == whole[:place]
    assert tree.leaves(datetime.fromisoformat(times[-1]) + timedelta(seconds=1)) == whole


def test_a_signature_is_written_in_one_way(certified):
    """The last letter has bits that no byte uses; another letter there is another certificate."""
    certificate, file, _, _ = certified
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    signature = certificate["signatures"][0]["sig"].rstrip("=")
    broken = copy.deepcopy(certificate)
    other = letters[letters.index(signature[-1]) + 1]
    broken["signatures"][0]["sig"] = signature[:-1] + other + "=="
    with pytest.raises(PromiseBroken):
        check_certificate(broken, file=file)
