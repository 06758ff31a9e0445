"""Running it: ready at once, a copy that can be put back, an older table that is made anew."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from sqlalchemy import text

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.office.office import Office
from sfumato.service.house import House
from sfumato.service.settings import Settings
from sfumato.service.startup import prepare

from .live import serving
from .load import question, send_all
from .setup_site import make_site


def ask(port, token, sql):
    [(status, body)] = send_all(port, [question("people", token, sql, "0.1")], lanes=1)
    return status, body


def test_a_copy_made_while_it_runs_can_be_put_back(tmp_path):
    settings, [token] = make_site(tmp_path / "site")
    copy = tmp_path / "copy"
    with serving(settings.folder) as live:
        assert ask(live.port, token, "SELECT COUNT(*) FROM people WHERE age > 20")[0] == 200
        copy.mkdir()
        with (
            sqlite3.connect(settings.place) as here,
            sqlite3.connect(copy / "ledger.sqlite") as there,
        ):
            here.backup(there)
        for name in ("keys", "data"):
            shutil.copytree(settings.path / name, copy / name)
        assert ask(live.port, token, "SELECT COUNT(*) FROM people WHERE age > 30")[0] == 200
        keys = urllib.request.urlopen(
            f"{live.address}/.well-known/sfumato-keys.json", timeout=30
        ).read()
    with serving(copy) as again:
        status, body = ask(again.port, token, "SELECT COUNT(*) FROM people WHERE age > 20")
        assert status == 200
        assert b'"stored": true' in body  # what was answered before the copy is known
        assert (
            urllib.request.urlopen(
                f"{again.address}/.well-known/sfumato-keys.json", timeout=30
            ).read()
            == keys
        )
    with Ledger(copy / "ledger.sqlite") as ledger:
        assert ledger.verify()
        assert sum(entry.kind == "charged" for entry in ledger.entries()) == 1


def test_an_upgrade_makes_the_tables_that_are_new(tmp_path):
    settings, _ = make_site(tmp_path / "site")
    office = Office(settings.place)
    office.change(text("DROP TABLE sfumato_office_surveys"))
    office.close()
    again = Office(settings.place)
    assert again.rows(text("SELECT * FROM sfumato_office_surveys")) == []
    assert len(again.rows(text("SELECT * FROM sfumato_office_people"))) == 1
    again.close()


def test_a_ledger_of_another_format_is_refused_and_not_touched(tmp_path):
    """Going back after an upgrade is putting the copy back, so nothing may be written before."""
    settings, _ = make_site(tmp_path / "site")
    with sqlite3.connect(settings.place) as ledger:
        ledger.execute("UPDATE sfumato_head SET version = 999")
    ledger.close()

    def content():
        with sqlite3.connect(settings.place) as found:
            return list(found.iterdump())

    before = content()
    with pytest.raises(SfumatoError, match="format 999"):
        prepare(settings)
    assert content() == before


def test_every_start_without_an_owner_prints_another_link(tmp_path):
    settings = Settings(folder=str(tmp_path / "site"))
    first, second = prepare(settings), prepare(settings)
    assert first
    assert second
    assert first != second
    assert stat.S_IMODE(settings.path.stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(settings.place).stat().st_mode) == 0o600


def test_the_service_adds_little_to_what_is_imported():
    code = (
        "import time, sfumato.ask.session.session, sfumato.govern.ledger.ledger, "
        "sfumato.requests.ask; t = time.process_time(); import sfumato.service.door; "
        "print(time.process_time() - t)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert float(done.stdout) < 2.5  # ten times what it takes: it guards against heavy imports


def test_the_example_declares_all_that_is_public(tmp_path):
    """So every question can be asked and every release made of it."""
    settings = Settings(folder=str(tmp_path / "site"))
    prepare(settings, example=True)
    house = House(settings)
    try:
        opened = house.opened("patients").asking
        facts = opened.registration.rules
        assert dict(facts["bounds"]).keys() >= {"age", "salary"}
        assert dict(facts["keys"]).keys() >= {"sex", "job", "diagnosis", "nationality"}
        held = sf.read(
            settings.path / "data/patients/patients.csv",
            schema=settings.path / "data/patients/schema.yaml",
        )
        assert sf.anonymize(held, sf.KAnonymity(5), suppression=0.02).verify()
    finally:
        house.close()
