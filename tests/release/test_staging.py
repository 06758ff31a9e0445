"""What a killed process leaves behind is removed; what another one is filling is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import sfumato as sf
from sfumato.staging import LOCK, staged

FILLING = """
import sys, time
from pathlib import Path
from sfumato.staging import staged
with staged(Path(sys.argv[1])) as folder:
    (folder / "release.csv").write_text("half")
    print(folder, flush=True)
    time.sleep(60)
"""


def left_over(target):
    found = [f.name for f in target.parent.iterdir() if f.name.startswith(f".{target.name}.")]
    locks = {name for name in found if name.endswith(LOCK)}
    assert locks <= {name + LOCK for name in found}  # no lock outlives its folder
    return [name for name in found if name not in locks]


@pytest.fixture
def filling(tmp_path):
    """Another process in the middle of filling its folder."""
    command = [sys.executable, "-c", FILLING, str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        other.stdout.readline()
        yield other
        other.kill()


def test_a_folder_is_removed_unless_it_was_put_in_place(tmp_path):
    target = tmp_path / "deep" / "out"
    with staged(target) as folder:
        (folder / "a").write_text("1")
        assert folder.parent == target.parent
    assert left_over(target) == []
    with staged(target) as folder:
        (folder / "a").write_text("2")
        folder.rename(target)
    assert (target / "a").read_text() == "2"
    assert left_over(target) == []


def test_a_folder_that_is_being_filled_is_left_alone(tmp_path, filling):
    target = tmp_path / "out"
    with staged(target):
        assert len(left_over(target)) == 2
    assert len(left_over(target)) == 1
    assert filling.poll() is None


def test_the_next_release_removes_what_a_killed_process_left(tmp_path, filling):
    target = tmp_path / "out"
    os.kill(filling.pid, signal.SIGKILL)
    filling.wait()
    (tmp_path / ".out.staged.file").write_text("not a folder")
    (tmp_path / ".output.staged.other").mkdir()
    assert len(left_over(target)) == 2
    people = {"age": [1, 1, 2, 2], "ill": list("abab")}
    schema = sf.Schema(quasi=["age"], sensitive=["ill"])
    sf.anonymize(people, sf.KAnonymity(2), schema=schema).save(target, report=False)
    assert (target / "release.csv").exists()
    assert left_over(target) == [".out.staged.file"]
    assert (tmp_path / ".output.staged.other").exists()


def test_folders_are_as_open_as_the_process_makes_them(tmp_path):
    before = os.umask(0o027)
    try:
        with staged(tmp_path / "out") as folder:
            assert folder.stat().st_mode & 0o777 == 0o750
    finally:
        os.umask(before)
