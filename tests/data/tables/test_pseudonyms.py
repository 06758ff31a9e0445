"""Pseudonyms: consistent under a key, useless without it, never shared by two people."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import stat

import pytest

from sfumato.data.tables.pseudonyms import (
    LONGEST,
    create_key,
    key_beside,
    pseudonyms,
    read_key,
)
from sfumato.errors import DataError, ParameterError

KEY = bytes(range(32))


@pytest.mark.parametrize("length", [8, 15, 16, 17, 24, 40, LONGEST])
def test_they_are_the_hmac_in_base_32(length):
    own = hmac.new(KEY, b"name", hashlib.sha256).digest()
    expected = [
        base64.b32encode(hmac.new(own, v.encode(), hashlib.sha256).digest()).decode().lower()
        for v in ("Ann", "Zoë")
    ]
    made = pseudonyms(["Ann", "Zoë"], KEY, "name", length=length)
    assert made == [text[:length] for text in expected]


def test_equal_values_agree_across_batches_and_attributes_differ():
    first = pseudonyms(["Ann", "Bob", "Ann"], KEY, "name")
    second = pseudonyms(["Cy", "Ann"], KEY, "name")
    assert first[0] == first[2] == second[1]
    assert len({*first, *second}) == 3
    assert pseudonyms(["Ann"], KEY, "nurse") != [first[0]]
    assert pseudonyms(["Ann"], bytes(32), "name") != [first[0]]


def test_a_missing_cell_stays_missing():
    assert pseudonyms(["", "Ann", ""], KEY, "name")[::2] == ["", ""]
    assert pseudonyms([], KEY, "name") == []


def test_many_values_keep_many_pseudonyms():
    made = pseudonyms([str(i) for i in range(20_000)], KEY, "id")
    assert len(set(made)) == 20_000
    assert all(len(p) == 16 and p.isalnum() and p == p.lower() for p in made)


def test_two_people_never_share_one(monkeypatch):
    from sfumato.data.tables import pseudonyms as module

    monkeypatch.setattr(module, "_made", lambda distinct, *_: ["same"] * len(distinct))
    with pytest.raises(ParameterError, match=r"'id'.*share") as caught:
        pseudonyms(["Ann", "Bob"], KEY, "id")
    assert "Ann" not in str(caught.value)


@pytest.mark.parametrize("length", [0, 7, LONGEST + 1])
def test_length_is_bounded(length):
    with pytest.raises(ParameterError, match="from 8 to 51"):
        pseudonyms(["a"], KEY, "id", length=length)


def test_short_keys_are_refused():
    with pytest.raises(ParameterError, match="at least 32 bytes, but 4"):
        pseudonyms(["a"], b"1234", "id")


def test_a_key_is_made_once_for_its_owner_alone(tmp_path):
    path = tmp_path / "key"
    key = create_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_key(path) == key
    assert create_key(tmp_path / "other") != key
    before = path.read_text()
    with pytest.raises(DataError, match="exists already"):
        create_key(path)
    assert path.read_text() == before


def test_an_open_or_broken_or_absent_key_is_refused(tmp_path):
    path = tmp_path / "key"
    create_key(path)
    path.chmod(0o644)
    with pytest.raises(DataError, match="chmod 600"):
        read_key(path)
    path.chmod(0o600)
    for content in ("", "hello", "sfumato pseudonym key v1\nabc\n", "é"):
        path.write_text(content)
        with pytest.raises(DataError, match="is not a pseudonym key"):
            read_key(path)
    with pytest.raises(DataError, match="does not exist"):
        read_key(tmp_path / "none")
    with pytest.raises(DataError, match="cannot be written"):
        create_key(tmp_path / "no" / "key")


def test_the_key_never_lies_in_the_release(tmp_path):
    release = tmp_path / "out"
    release.mkdir()
    for inside in (release / "key", release / "deep" / ".." / "key", os.fspath(release) + "/k"):
        with pytest.raises(ParameterError, match="keep it apart"):
            key_beside(inside, release)
    key = key_beside(tmp_path / "key", release)
    assert key_beside(tmp_path / "key", release) == key
    assert list(release.iterdir()) == []
