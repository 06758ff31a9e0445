"""Files put in place once and whole, and changes that wait for each other."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

from sfumato.staging import alone_in, put_once


def test_of_several_one_puts_a_file_and_nobody_reads_a_part(tmp_path):
    path = tmp_path / "keys" / "secret"
    start = threading.Barrier(8)

    def put(number):
        start.wait()
        put_once(path, b"%d" % number * 5000)
        return path.read_bytes()

    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(put, range(8)))
    assert len(found) == 1
    assert len(found.pop()) == 5000
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["secret"]


def test_a_file_system_without_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    for content in (b"first", b"second"):
        put_once(tmp_path / "secret", content)
    assert (tmp_path / "secret").read_bytes() == b"first"
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_who_changes_a_folder_is_alone(tmp_path):
    inside, most = [], []

    def change(_):
        with alone_in(tmp_path):
            inside.append(1)
            most.append(len(inside))
            threading.Event().wait(0.02)
            inside.pop()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(change, range(4)))
    assert most == [1] * 4
