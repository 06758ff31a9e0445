"""A Postgres cluster for one run of the tests, from Debian's packages, in a temporary folder.

Contract: the first test that asks starts the cluster, the workers of one run share it (a file
lock decides who is first), and it is stopped and removed when the run ends. A watchdog does so even
if the run is killed. Where there is no Postgres, ``url`` raises :class:`Unavailable` with the
reason, and the reason is kept for the summary at the end of the run.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

HOME = "SFUMATO_TEST_SERVICES"
"""The environment variable that tells the workers where the run keeps its services."""

_SETTINGS = {
    "fsync": "off",  # the tests kill clients, never the machine
    "listen_addresses": "127.0.0.1",
    "log_min_messages": "fatal",
    "max_connections": "120",
    "shared_buffers": "32MB",
}


class Unavailable(Exception):
    """Postgres cannot be had here."""


def prepare() -> Path:
    """Name the folder of this run; called once, by the process that starts the workers."""
    name = f"sfumato-services-{os.getpid()}-{secrets.token_hex(8)}"
    home = Path(tempfile.gettempdir()) / name
    os.environ[HOME] = str(home)
    return home


def url(home: Path) -> str:
    """Start the cluster if this is the first call of the run; give the address of its server."""
    home.mkdir(exist_ok=True)
    home.chmod(0o755)  # the server's user passes through
    with (home / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known, missing = home / "url", home / "missing"
        if missing.exists():
            raise Unavailable(missing.read_text())
        if not known.exists():
            try:
                known.write_text(_start(home))
            except (Unavailable, OSError, subprocess.SubprocessError) as error:
                missing.write_text(str(error))
                raise Unavailable(str(error)) from None
        return known.read_text()


def missing(home: Path) -> str | None:
    """Tell why Postgres was missing, if a test asked for it in vain."""
    file = home / "missing"
    return file.read_text() if file.exists() else None


def stop(home: Path) -> None:
    """Stop the cluster, if one was started, and remove the folder."""
    cluster = home / "cluster"
    if (cluster / "postmaster.pid").exists():
        subprocess.run(_stopping(cluster), capture_output=True, timeout=60, check=False)
    shutil.rmtree(home, ignore_errors=True)


@contextmanager
def database(server: str, name: str):
    """Make an empty database, give its address, and drop it with all who are still connected."""
    import psycopg

    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"{server}/{name}"
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def empty(address: str) -> None:
    """Disconnect all others from a database, and drop everything that was made in it."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        made = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' "
            "AND nspname <> 'information_schema'"
        ).fetchall()
        for (schema,) in made:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
        connection.execute("CREATE SCHEMA public")


def _start(home: Path) -> str:
    programs = _programs()
    cluster = home / "cluster"
    cluster.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(cluster, "postgres")
    _run(programs / "initdb", "-D", cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
    for _ in range(5):
        port = _free_port()
        settings = {**_SETTINGS, "port": port, "unix_socket_directories": cluster}
        words = " ".join(f"-c {name}={value}" for name, value in settings.items())
        try:
            _run(
                *(programs / "pg_ctl", "-D", cluster, "-w", "-t", "30"),
                *("-l", cluster / "log", "-o", words, "start"),
            )
        except subprocess.CalledProcessError:
            time.sleep(0.2)  # somebody took the port between the look and the start
            continue
        _watch(home, cluster)
        return f"postgresql://postgres@127.0.0.1:{port}"
    raise Unavailable("Postgres is installed and its server does not start.")


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    if not found:
        raise Unavailable("Postgres is not installed; install Debian's package 'postgresql'.")
    return found[-1].parent


def _as_postgres() -> list[str]:
    """The server refuses to run as root, so root becomes the package's own user."""
    return ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []


def _run(*words: object) -> None:
    command = [*_as_postgres(), *map(str, words)]
    subprocess.run(
        command,
        check=True,
        timeout=90,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _stopping(cluster: Path) -> list[str]:
    program = _programs() / "pg_ctl"
    return [*_as_postgres(), str(program), "-D", str(cluster), "-m", "immediate", "-w", "stop"]


def _watch(home: Path, cluster: Path) -> None:
    """Leave a process behind that cleans up if the run is killed before it can."""
    owner = int(home.name.split("-")[2])
    stopping = " ".join(_stopping(cluster))
    script = (
        f"while kill -0 {owner} 2>/dev/null && [ -e {home} ]; do sleep 1; done; "
        f"[ -e {home} ] && {stopping}; rm -rf {home}"
    )
    subprocess.Popen(
        ["sh", "-c", script],
        cwd="/",
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
