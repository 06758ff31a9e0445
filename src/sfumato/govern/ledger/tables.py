"""The tables of a ledger, the same in SQLite and Postgres.

Contract: ``entries`` is the ledger; triggers refuse to change or delete a line of it. All other
tables could be made again from it, and ``verify`` does: ``head`` holds the number of entries and
the last hash (and is the row that writers lock), ``accounts`` the totals per dataset, block and
scope with the number of charges, ``registrations`` and ``blocks`` the owner's rules in force.
``answers`` keeps what was answered, one line per question of a charge; the hash of all is in the
chain, and so is that of each ``salt``, which is secret and in no entry. Numbers that decide
privacy are rationals in text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    inspect,
    text,
)

from sfumato.govern.ledger.chain import GENESIS

if TYPE_CHECKING:
    from sqlalchemy import Connection

VERSION = 2
METADATA = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text) for name in names]


def _needed(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


entries = Table(
    "sfumato_entries",
    METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=False),
    *_needed("time", "kind"),
    *_texts("dataset"),
    *_needed("blocks"),
    *_texts("analyst", "purpose", "fingerprint", "question", "guarantee", "cost"),
    Column("refers", _NUMBER),
    *_needed("details", "previous", "hash"),
)
Index("sfumato_entries_refers", entries.c.refers)
Index("sfumato_entries_dataset", entries.c.dataset)

head = Table(
    "sfumato_head",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("count", _NUMBER, nullable=False),
    *_needed("hash"),
)

accounts = Table(
    "sfumato_accounts",
    METADATA,
    *_needed("dataset", "block", "scope", "name", "spent"),
    PrimaryKeyConstraint("dataset", "block", "scope", "name"),
)

registrations = Table(
    "sfumato_registrations",
    METADATA,
    Column("dataset", Text, primary_key=True),
    *_needed("body"),
    *_texts("salt"),
)

blocks = Table(
    "sfumato_blocks",
    METADATA,
    *_needed("dataset", "block"),
    PrimaryKeyConstraint("dataset", "block"),
)

answers = Table(
    "sfumato_answers",
    METADATA,
    Column("charge", _NUMBER, nullable=False),
    Column("part", _NUMBER, nullable=False),
    *_needed("dataset", "analyst", "fingerprint", "question_key", "answer"),
    PrimaryKeyConstraint("charge", "part"),
)
Index(
    "sfumato_answers_question",
    answers.c.dataset,
    answers.c.analyst,
    answers.c.fingerprint,
    answers.c.question_key,
)

_REFUSAL = "entries of a ledger are never changed or deleted"
_SQLITE_TRIGGERS = tuple(
    f"CREATE TRIGGER IF NOT EXISTS sfumato_entries_no_{verb.lower()} BEFORE {verb} ON "
    f"sfumato_entries BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
    for verb in ("UPDATE", "DELETE")
)
_POSTGRES_TRIGGERS = (
    f"""
    CREATE OR REPLACE FUNCTION sfumato_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$
    """,
    """
    CREATE TRIGGER sfumato_entries_no_change BEFORE UPDATE OR DELETE
    ON sfumato_entries FOR EACH ROW EXECUTE FUNCTION sfumato_refuse()
    """,
    """
    CREATE TRIGGER sfumato_entries_no_truncate BEFORE TRUNCATE
    ON sfumato_entries FOR EACH STATEMENT EXECUTE FUNCTION sfumato_refuse()
    """,
)
_LOCK = 0x5F0A70  # any number; it keeps two processes from making the tables at once


def exist(connection: Connection) -> bool:
    """Tell whether the database holds a ledger."""
    return inspect(connection).has_table(head.name)


def create(connection: Connection) -> None:
    """Make the tables and triggers, unless another process just did; in one transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    if exist(connection):
        return
    METADATA.create_all(connection)
    sqlite = connection.dialect.name == "sqlite"
    for statement in _SQLITE_TRIGGERS if sqlite else _POSTGRES_TRIGGERS:
        connection.exec_driver_sql(statement)
    connection.execute(head.insert().values(id=1, version=VERSION, count=0, hash=GENESIS))
