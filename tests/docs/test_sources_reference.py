"""The examples on Postgres in the reference on sources, on a server of our own."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import psycopg

import sfumato as sf
from sfumato.cli import run

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/sources-and-engines.md").read_text("utf-8")
SECTION = re.search(r"^## Postgres\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)[1]
ADDRESS = re.compile(r"postgresql://ann@host:5432/\w+")


def filled(url):
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE visits (patient text, department text)")
        connection.execute(
            "INSERT INTO visits SELECT 'p' || i % 500, 'radiology' FROM generate_series(1, 2000) i"
        )
        connection.execute("CREATE TABLE floors (department text, floor integer)")
        connection.execute("CREATE TABLE patients (patient text, age integer)")


def test_the_session_in_python(fresh_postgres_url):
    filled(fresh_postgres_url)
    code = ADDRESS.sub(
        fresh_postgres_url, re.search(r"```python no-run\n(.*?)```", SECTION, re.DOTALL)[1]
    )
    names: dict[str, object] = {"sf": sf}
    exec(compile(code, "sources-and-engines.md", "exec", dont_inherit=True), names)
    with names["session"] as session:
        assert abs(session.sql("SELECT COUNT(*) FROM visits", epsilon=0.5).value - 2000) < 500


def test_the_command(fresh_postgres_url, monkeypatch):
    filled(fresh_postgres_url)
    export, command = re.findall(
        r"^\$ (.*)$", ADDRESS.sub(fresh_postgres_url, SECTION), re.MULTILINE
    )
    name, _, place = export.removeprefix("export ").partition("=")
    monkeypatch.setenv(name, place)
    assert run(shlex.split(command)[1:]) == 0
    with sf.Ledger(place, create=False) as ledger:
        assert ledger.registration("visits") is not None


def test_the_walk_through_of_a_database_administrator(fresh_postgres_url):
    filled(fresh_postgres_url)
    page = ROOT / "docs/walkthroughs/database-administrator.md"
    code = "\n".join(re.findall(r"```python no-run\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
    names: dict[str, object] = {}
    exec(
        compile(ADDRESS.sub(fresh_postgres_url, code), page.name, "exec", dont_inherit=True), names
    )
    names["session"].close()
    assert sum(row[1] for row in names["answer"].rows) > 0
