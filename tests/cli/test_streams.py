"""Output reaches every terminal: legacy code pages, readers that leave, full disks."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from chance import false_alarm

from sfumato.cli.display.streams import spell

FULL = Path("/dev/full")
CODE_PAGES = ("cp1252", "cp437", "ascii")


def sfumato(*arguments, pages=None, folder=None, **more):
    """Run the command line in a process of its own."""
    environment = {**os.environ, **({"PYTHONIOENCODING": pages} if pages else {})}
    return subprocess.run(
        [sys.executable, "-m", "sfumato", *arguments],
        env=environment, cwd=folder, check=False, timeout=120, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("clinic")
    rows = "".join(f"{20 + i % 7},{'ab'[i % 2]},{'ł' if i % 2 else 'ü'}\n" for i in range(60))
    (place / "t.csv").write_text(f"age,sex,town\n{rows}", encoding="utf-8")
    (place / "t.yaml").write_text(
        "attributes: {age: quasi, sex: quasi, town: sensitive}\nunit: row\n"
    )
    return place


@pytest.mark.parametrize("pages", CODE_PAGES)
def test_help_and_verification_are_printed_on_a_legacy_code_page(folder, pages):
    for arguments in (["explain", "--help"], ["explain", "laplace", "-e", "1"]):
        done = sfumato(*arguments, pages=pages, folder=folder, capture_output=True)
        assert done.returncode == 0, done.stderr
    done = sfumato("verify", "t.csv", "-s", "t.yaml", "-k", "2",
                   pages=pages, folder=folder, capture_output=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"prosecutor" in done.stdout


@pytest.mark.parametrize("pages", CODE_PAGES[:1])
def test_an_answer_that_was_paid_for_is_printed(folder, pages, tmp_path):
    asked = ["ask", str(folder / "t.csv"), "SELECT town, COUNT(*) FROM t GROUP BY town", "-e", "50",
             "--keys", "town=ł,ü", "--public-types", "town", "--unit", "row", "--budget", "60",
             "--ledger", str(tmp_path / "ledger.sqlite")]  # fmt: skip
    done = sfumato(*asked, pages=pages, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"30" in done.stdout
    false_alarm(2 * math.exp(-50))  # that noise of this price is not 0
    again = sfumato(*asked, pages="utf-8", capture_output=True)  # and can be had again, for nothing
    assert (again.returncode, b"30" in again.stdout) == (0, True)


def test_characters_are_spelled_out():
    text = "ε ≤ 1, ł"
    error = UnicodeEncodeError("ascii", text, 0, 1, "")
    assert spell(error) == ("epsilon", 1)
    assert spell(UnicodeEncodeError("ascii", text, 7, 8, "")) == (r"\u0142", 8)


@pytest.mark.parametrize("arguments", [["verify", "t.csv", "-s", "t.yaml", "-k", "2"], ["--help"]])
def test_a_reader_who_leaves_is_no_verdict(folder, arguments):
    read, write = os.pipe()
    os.close(read)
    done = sfumato(*arguments, folder=folder, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is full")
def test_a_full_disk_is_told_and_a_charge_is_not_denied(folder, tmp_path):
    asked = ["ask", str(folder / "t.csv"), "SELECT COUNT(*) FROM t", "-e", "50", "--unit", "row",
             "--budget", "60", "--ledger", str(tmp_path / "ledger.sqlite")]  # fmt: skip
    with FULL.open("wb") as full:
        done = sfumato(*asked, stdout=full, stderr=subprocess.PIPE)
        other = sfumato("verify", "t.csv", "-s", "t.yaml", "-k", "2", folder=folder, stdout=full,
                        stderr=subprocess.PIPE)  # fmt: skip
    assert (done.returncode, other.returncode) == (74, 74)
    assert b"nothing was written" not in done.stderr
    assert b"stays charged" in done.stderr
    assert b"could not be written" in other.stderr
