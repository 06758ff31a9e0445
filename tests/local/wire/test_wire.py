"""Reports as bytes and as JSON: exact layout, round trips, and rubbish dropped by reason."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.local.collect.survey import PROTOCOLS, Survey
from sfumato.local.protocols.heavy_hitters import HeavyHitters
from sfumato.local.protocols.rappor import RAPPOR
from sfumato.local.reports import Reports
from sfumato.local.wire.files import pieces, write_messages
from sfumato.local.wire.json_lines import encode_json
from sfumato.local.wire.messages import Address, DroppedReports, Reason, encode
from sfumato.local.wire.reader import Reader

ANSWERS = ("none", "one", "two", "three", "many")
NAMES = tuple(PROTOCOLS)


def survey(protocol="OUE", *, epsilon=1, answers=ANSWERS, **more):
    return Survey.of(
        "cups", "How many cups?", list(answers), epsilon=epsilon, protocol=protocol, **more
    )


NONCE = bytes(range(8))


@dataclass
class Got:
    nonce: bytes
    reports: Reports
    out_of_range: int
    malformed: int


def read(data, agreed):
    """Read messages, their rows as reports; `reports` checks every row once more."""
    reader = Reader(agreed.address, agreed.protocol)
    return [
        found
        if isinstance(found, DroppedReports)
        else Got(found.nonce, reader.reports(found.rows), found.out_of_range, found.malformed)
        for found in reader.read([data])
    ]


def values(n, answers=ANSWERS):
    return [answers[i % len(answers)] for i in range(n)]


def same(a, b):
    return all(np.array_equal(a.payload[name], b.payload[name]) for name in a.payload)


def test_a_binary_message_is_laid_out_as_documented():
    agreed = survey("GRR")
    reports = Reports.of(agreed.protocol, {"value": np.array([4, 0, 3], dtype=np.uint8)})
    key = hashlib.sha256(b"cups").digest()[:4]
    expected = (
        b"SFL\x01" + key + struct.pack("<H", 1) + agreed.terms + NONCE
        + struct.pack("<II", 3, 1) + b"\x04\x00\x03"
    )  # fmt: skip
    assert encode(reports, agreed.address, nonce=NONCE) == expected
    assert len(expected) == 32 + 3


def test_bits_are_bits_and_a_hash_is_seed_and_value():
    agreed = survey("OUE", answers=[f"a{i}" for i in range(11)])
    bits = np.array([[0b10000001, 0b101]], dtype=np.uint8)
    data = encode(Reports.of(agreed.protocol, {"bits": bits}), agreed.address, nonce=NONCE)
    assert data[32:] == bytes([0b10000001, 0b101])
    agreed = survey("OLH")
    seeds, cells = np.array([[7, 2**31 - 2]], dtype=np.uint32), np.array([1], dtype=np.uint8)
    reports = Reports.of(agreed.protocol, {"seed": seeds, "value": cells})
    assert encode(reports, agreed.address)[32:] == struct.pack("<IIB", 7, 2**31 - 2, 1)
    text = json.loads(encode_json(reports, agreed.address))
    assert text["reports"] == [{"seed": struct.pack("<II", 7, 2**31 - 2).hex(), "value": 1}]


def test_a_json_message_is_laid_out_as_documented():
    agreed = survey("GRR")
    reports = Reports.of(agreed.protocol, {"value": np.array([4], dtype=np.uint8)})
    assert encode_json(reports, agreed.address, nonce=NONCE).decode() == (
        f'{{"sfumato":1,"survey":"cups","version":1,"terms":"{agreed.terms.hex()}",'
        '"nonce":"0001020304050607","reports":[{"value":4}]}'
    )


@pytest.mark.parametrize("write", [encode, encode_json])
@pytest.mark.parametrize("size", [2, 5, 8, 9, 300])
@pytest.mark.parametrize("name", NAMES)
def test_reports_come_back_as_they_were(name, size, write):
    answers = [f"a{i}" for i in range(size)]
    agreed = survey(name, answers=answers)
    reports = agreed.protocol.perturb(values(20, answers))
    data = write(reports, agreed.address, nonce=NONCE)
    (message,) = read(data, agreed)
    assert isinstance(message, Got)
    assert message.nonce == NONCE
    assert (message.out_of_range, message.malformed) == (0, 0)
    assert same(message.reports, reports)


@pytest.mark.parametrize("write", [encode, encode_json])
@pytest.mark.parametrize(
    ("protocol", "data"),
    [
        (RAPPOR(epsilon=4, report_epsilon=2), ["abc", "d"]),
        (HeavyHitters(epsilon=2), [0, 2**48 - 1]),
    ],
    ids=["RAPPOR", "HeavyHitters"],
)
def test_other_protocols_travel_the_same_way(protocol, data, write):
    reports = protocol.perturb(data)
    address = Address("strings", 3, b"abcdef")
    (message,) = read(write(reports, address), SimpleNamespace(address=address, protocol=protocol))
    assert same(message.reports, reports)


def test_messages_may_be_joined():
    agreed = survey("SubsetSelection")
    parts = [agreed.protocol.perturb(values(n)) for n in (1, 7, 3)]
    for write, mark in ((encode, b""), (encode_json, b"\n")):
        data = mark.join(write(part, agreed.address) for part in parts)
        found = list(read(data, agreed))
        assert [len(message.reports) for message in found] == [1, 7, 3]
        assert all(same(m.reports, part) for m, part in zip(found, parts, strict=True))
        assert len({message.nonce for message in found}) == 3


def test_a_file_is_cut_into_messages_again(tmp_path, monkeypatch):
    agreed = survey("OUE")
    monkeypatch.setattr("sfumato.local.wire.files.TOGETHER", 40)
    reports = agreed.protocol.perturb(values(100))
    for as_json in (False, True):
        write_messages(tmp_path / "r", reports, agreed.address, as_json=as_json)
        found = [message for piece in pieces(tmp_path / "r") for message in read(piece, agreed)]
        assert [len(message.reports) for message in found] == [40, 40, 20]
        assert same(Reports.concatenate([m.reports for m in found]), reports)
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def changed(data, place, value):
    return data[:place] + value + data[place + len(value) :]


def reasons(data, agreed):
    found = list(read(data, agreed))
    assert all(isinstance(one, DroppedReports) for one in found)
    return [(one.reason, one.reports) for one in found]


def test_binary_messages_are_dropped_by_reason():
    agreed = survey("GRR")
    data = encode(agreed.protocol.perturb(values(6)), agreed.address)
    assert reasons(b"", agreed) == [(Reason.MALFORMED, 1)]
    assert reasons(data[:31], agreed) == [(Reason.MALFORMED, 1)]
    assert reasons(data[:-1], agreed) == [(Reason.MALFORMED, 1)]
    assert reasons(changed(data, 0, b"X"), agreed) == [(Reason.MALFORMED, 1)]
    assert reasons(changed(data, 3, b"\x02"), agreed) == [(Reason.FORMAT, 1)]
    assert reasons(changed(data, 4, b"abcd"), agreed) == [(Reason.SURVEY, 6)]
    assert reasons(changed(data, 8, b"\x02\x00"), agreed) == [(Reason.VERSION, 6)]
    assert reasons(changed(data, 10, b"abcdef"), agreed) == [(Reason.TERMS, 6)]
    assert reasons(changed(data, 24, struct.pack("<II", 3, 2)), agreed) == [(Reason.MALFORMED, 3)]
    assert reasons(changed(data, 24, struct.pack("<II", 0, 1)), agreed) == [(Reason.MALFORMED, 1)]
    huge = struct.pack("<II", 2**32 - 1, 2**32 - 1)
    assert reasons(changed(data, 24, huge), agreed) == [(Reason.MALFORMED, 1)]


def test_a_message_for_others_does_not_hide_the_next_one():
    agreed, other = survey("GRR"), survey("OLH", version=2)
    mixed = encode(other.protocol.perturb(values(4)), other.address)
    mixed += encode(agreed.protocol.perturb(values(5)), agreed.address)
    dropped, message = read(mixed, agreed)
    assert (dropped.reason, dropped.reports) == (Reason.VERSION, 4)
    assert len(message.reports) == 5


@pytest.mark.parametrize("name", ["GRR", "OUE", "OLH", "SubsetSelection"])
def test_rows_that_no_client_makes_are_dropped_one_by_one(name):
    agreed = survey(name)
    reports = agreed.protocol.perturb(values(4))
    data = bytearray(encode(reports, agreed.address))
    data[32 + (len(data) - 32) // 4 * 3 - 1] = 0xFF  # the last byte of the third report
    (message,) = read(bytes(data), agreed)
    assert message.out_of_range == 1
    assert same(message.reports, reports[np.array([True, True, False, True])])


def test_json_rows_are_read_strictly():
    agreed = survey("GRR")
    good = json.loads(encode_json(agreed.protocol.perturb(values(1)), agreed.address))
    rows = [
        {"value": 4}, {"value": 5}, {"value": -1}, {"value": 10**30}, {"value": True},
        {"value": "4"}, {"value": None}, {}, {"value": 1, "name": "Ann"}, 4, [4], None,
    ]  # fmt: skip
    data = json.dumps({**good, "reports": rows}).encode()
    (message,) = read(data, agreed)
    assert message.reports.payload["value"].tolist() == [4]
    assert (message.out_of_range, message.malformed) == (3, 8)


def test_json_messages_are_dropped_by_reason():
    agreed = survey("OUE")
    good = json.loads(encode_json(agreed.protocol.perturb(values(3)), agreed.address))

    def why(**other):
        return reasons(json.dumps({**good, **other}).encode(), agreed)

    assert why(sfumato=2) == why(sfumato=True) == [(Reason.FORMAT, 1)]
    assert why(survey="other") == why(survey=None) == [(Reason.SURVEY, 3)]
    assert why(version=2) == why(version="1") == [(Reason.VERSION, 3)]
    assert why(terms="00") == [(Reason.TERMS, 3)]
    assert why(nonce="00") == why(nonce="G" * 16) == [(Reason.MALFORMED, 3)]
    assert why(reports=[]) == why(reports={}) == why(more=1) == [(Reason.MALFORMED, 1)]
    for line in (b"{", b"{}", b'{"sfumato":1}', b"{\xff}", b'{"a":' + b"[" * 100_000, b'{"a":NaN}'):
        assert reasons(line, agreed) == [(Reason.MALFORMED, 1)]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_nothing_that_arrives_raises(data):
    """Random bytes, and messages with a few bytes changed, cut or repeated."""
    agreed = survey(data.draw(st.sampled_from(NAMES)))
    write = data.draw(st.sampled_from([encode, encode_json]))
    message = bytearray(write(agreed.protocol.perturb(values(3)), agreed.address))
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(message) - 1))
        message[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(message)))
    for arrived in (bytes(message), bytes(message[:cut]), data.draw(st.binary(max_size=80))):
        for found in read(arrived, agreed):
            if isinstance(found, DroppedReports):
                assert found.reports >= 1
            else:
                assert len(found.reports) + found.out_of_range + found.malformed >= 1


def test_a_message_without_reports_is_not_written():
    agreed = survey()
    with pytest.raises(DataError, match="1 to"):
        encode(Reports.empty(agreed.protocol), agreed.address)


BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    "pattern",
    [
        "BJ", "JB", "BJnJ", "JJ", "uJnJn", "nJ", "sJ", "BnB", "JnuJ", "JnBJBn", "BxB", "xB", "BtB",
        "cJnJ", "cnJ", "xnJ", "tJ",
    ],
)  # fmt: skip
def test_files_of_both_forms_may_be_joined(pattern, at_once, tmp_path, monkeypatch):
    agreed = survey("GRR")
    monkeypatch.setattr("sfumato.local.wire.files.AT_ONCE", at_once)
    between = {"n": b"\n", "u": BOM, "s": b" ", "x": b"XXXX"}
    parts, data = [], b""
    for sign in pattern:
        reports = agreed.protocol.perturb(values(5))
        message = (encode_json if sign in "Jc" else encode)(reports, agreed.address)
        if sign in "BJ":
            parts.append(reports)
        data += between.get(sign) or (message[:-2] if sign in "tc" else message)
    if pattern == "cJnJ":
        parts = parts[1:]  # a line that broke off hides what follows on the same line
    (tmp_path / "r").write_bytes(data)
    cut = list(pieces(tmp_path / "r"))
    for found in (list(read(data, agreed)), [one for piece in cut for one in read(piece, agreed)]):
        taken = [one for one in found if isinstance(one, Got)]
        assert all(same(one.reports, part) for one, part in zip(taken, parts, strict=True))
        dropped = [one.reason for one in found if isinstance(one, DroppedReports)]
        assert dropped == [Reason.MALFORMED] * sum(sign in "xtc" for sign in pattern)
