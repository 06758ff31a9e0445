"""The tables of an office, in the database of its ledger, the same in SQLite and Postgres.

Contract: nothing here decides what was spent; the chain does. A secret (password, session, token,
one-time link) is kept as a hash. Times are seconds since 1970; JSON is text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Column, Float, Index, Integer, MetaData, Table, Text, text

if TYPE_CHECKING:
    from sqlalchemy import Connection

METADATA = MetaData()
_LOCK = 0x5F0A71  # any number; it keeps two processes from making the tables at once


def _table(name: str, key: str, texts: str, *, times: str = "", numbers: str = "") -> Table:
    """State a table: its key, columns of text that may be empty, times and whole numbers."""
    return Table(
        f"sfumato_office_{name}",
        METADATA,
        Column(key, Text, primary_key=True),
        *(Column(column, Text) for column in texts.split()),
        *(Column(column, Float) for column in times.split()),
        *(Column(column, Integer) for column in numbers.split()),
    )


people = _table("people", "id", "name role pseudonym password", times="made ended")
Index("sfumato_office_people_name", people.c.name, unique=True)

sessions = _table("sessions", "digest", "person agent", times="made used ends")
tokens = _table("tokens", "digest", "id person label scopes", times="made used ends")
links = _table("links", "digest", "kind about", times="made ends")
grants = _table("grants", "id", "person dataset purpose", times="made")
Index("sfumato_office_grants_person", grants.c.person, grants.c.dataset)
attempts = _table("attempts", "id", "account address", times="at")
Index("sfumato_office_attempts_at", attempts.c.at)
events = _table("events", "id", "kind who what", times="at")
Index("sfumato_office_events_at", events.c.at)

datasets = _table(
    "datasets", "name", "owner source schema_text facts", times="made", numbers="version"
)
owners = _table("owners", "id", "dataset person", times="made")
mistakes = _table("mistakes", "id", "dataset told", times="made")
questions = _table(
    "questions",
    "id",
    "person dataset purpose body under_way state code result worker",
    times="made shown lease",
    numbers="charge",
)
Index("sfumato_office_questions_under_way", questions.c.under_way, unique=True)
Index("sfumato_office_questions_person", questions.c.person, questions.c.made)
jobs = _table(
    "jobs",
    "id",
    "person dataset kind body state progress result code worker",
    times="made changed lease",
    numbers="tries process",
)
Index("sfumato_office_jobs_state", jobs.c.state, jobs.c.made)
wishes = _table("wishes", "id", "person dataset amount reason state answer", times="made closed")
subjects = _table(
    "subjects", "digest", "id kind dataset told key state answer", times="made closed due"
)
surveys = _table("surveys", "id", "owner file state", times="made")
survey_rules = _table("survey_rules", "id", "embed", numbers="together")
releases = _table(
    "releases", "id", "dataset person kind file promise sha256 facts", times="made",
    numbers="entry public",
)  # fmt: skip
checkpoints = _table("checkpoints", "id", "root signed", times="made", numbers="size")


def create(connection: Connection) -> None:
    """Make the tables that are not there yet; two processes may come at once."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    METADATA.create_all(connection)
