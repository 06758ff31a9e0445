"""Where the rows live: every row of what is to be reached, in one run, with its goal beside it.

    python bench/where.py [ROWS] [--rows NAME,…] [--hundred] [--tumult]

ROWS is 10 million unless said. Every row runs in a process of its own; CPU seconds are those of all
processes that took part (a server and a JVM included). A row gets SFUMATO_BENCH_SECONDS (600).

* bounded group-by: the question of `asking.py`, exact totals, by each engine (`asking_ways.py`);
* anonymise: a whole job, k = 5, at most 5 % suppressed: the command on Parquet for DuckDB; for
  Postgres and Spark the table read, written and verified where it is, beside the engine's own GROUP
  BY and CREATE TABLE AS (`where_engines.py`);
* `--hundred` also runs the command on ten times as many rows, which takes minutes and some
  gigabytes of disk; without it that row is said to be left out;
* `--tumult` also runs Tumult Analytics, in an environment of its own, on the same rows;
* Adult with 22 derived quasi-identifiers (`wide.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import adult
import asking
import large
import tables
import wide
from rivals import ask, python_with

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
asking.SECONDS = SECONDS = int(os.environ.get("SFUMATO_BENCH_SECONDS", "600"))


@dataclass(frozen=True)
class Found:
    """What a row was measured to be, and whether that is what was to be reached."""

    shown: str
    reached: bool | None


def by_asking(way, goal, folder, rows):
    """Ask the question of `asking.py` in one way."""
    figures = asking.way(way, asked_file(folder, rows))
    if isinstance(figures, str):
        return Found(figures, reached=False)
    note = f", {figures['note']}" if "note" in figures else ""
    shown = f"{figures['cpu']:.2f} s, {figures['gigabytes']:.2f} GB{note}"
    return Found(shown, None if goal is None else figures["cpu"] <= goal)


def asked_file(folder, rows):
    file = folder / "visits.parquet"
    return str(file) if file.exists() else asking.made(folder, rows)


def by_tumult(folder, rows):
    """Let Tumult answer the same question, with noise and with the keys given."""
    python = python_with("tumult", "tmlt.analytics")
    script, file = "tumult_asking.py", asked_file(folder, rows)
    figures = ask(python, script, file, asking.GROUPS, seconds=SECONDS)
    shown = figures if isinstance(figures, str) else f"{figures['cpu']:.1f} s"
    return Found(shown, None)


def by_command(folder, rows):
    """Anonymise a file of Parquet by the command, in a fresh process."""
    data = folder / "rows.parquet"
    large.make(rows, data)
    tables.write_schema(folder)
    _, cpu, gigabytes = tables.command(folder, data, "--suppression", "0.05")
    data.unlink()
    return cpu, gigabytes


def by_duckdb(goal, folder, rows):
    cpu, gigabytes = by_command(folder, rows)
    (folder / "command.json").write_text(json.dumps(cpu))
    return Found(f"{cpu:.1f} s, {gigabytes:.2f} GB", cpu <= goal)


def by_tenfold(most_memory, most_times, folder, rows):
    """Anonymise ten times as many rows; the smaller run came just before."""
    known = folder / "command.json"
    small = json.loads(known.read_text()) if known.exists() else by_command(folder, rows)[0]
    cpu, gigabytes = by_command(folder, 10 * rows)
    times = cpu / small
    shown = f"{gigabytes:.2f} GB, {cpu:.0f} s, {times:.1f} ×"
    return Found(shown, gigabytes < most_memory and times <= most_times)


def by_engine(engine, goal, folder, rows):  # noqa: ARG001 - the engine makes its own rows
    """Let an engine anonymise its table, beside its own GROUP BY + CREATE TABLE AS."""
    command = [sys.executable, "-W", "ignore", str(HERE / "where_engines.py"), engine, str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        return Found((done.stderr.strip().splitlines() or ["?"])[-1][:90], reached=False)
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    times = figures["cpu"] / figures["own"]
    shown = f"{times:.2f} × ({figures['cpu']:.1f} s, its own {figures['own']:.1f} s)"
    return Found(shown, times <= goal)


def by_thirty(goal, folder, rows):  # noqa: ARG001 - Adult is as long as it is
    """Anonymise Adult with 30 quasi-identifiers; the label says what the result is."""
    seconds, label, _ = wide.measured(wide.thirty(), folder)
    return Found(f"{seconds:.1f} s by the clock: {label}", bool(label) and seconds <= goal)


ROWS: dict[str, tuple[str, str, Callable[..., Found]]] = {
    "postgres-sql": ("bounded group-by, Postgres, SQL", "≤ 26 s", partial(by_asking, "postgres", 26)),
    "postgres-stream": ("the same, columns streamed", "≤ 12 s", partial(by_asking, "postgres_stream", 12)),
    "spark-sql": ("the same on Spark, warm, SQL", "≤ 45 s", partial(by_asking, "spark", 45)),
    "spark-kernel": ("the same, kernel on the workers", "≤ 20 s", partial(by_asking, "spark_kernel", 20)),
    "tumult": ("the same by Tumult Analytics", "beside", by_tumult),
    "texts": ("the same on DuckDB, people are texts", "≤ 1.8 s", partial(by_asking, "kernel_texts", 1.8)),
    "whole-numbers": ("the same, people are whole numbers", "≤ 0.8 s", partial(by_asking, "kernel", 0.8)),
    "unbounded": ("DuckDB, nothing bounded", "beside", partial(by_asking, "plain", None)),
    "duckdb": ("anonymise, whole command, DuckDB", "≤ 20 s", partial(by_duckdb, 20)),
    "postgres": ("anonymise, Postgres", "≤ 3 × its own", partial(by_engine, "postgres", 3)),
    "spark": ("anonymise, Spark, warm", "≤ 3 × its own", partial(by_engine, "spark", 3)),
    "hundred": ("ten times the rows, DuckDB, Parquet", "< 6 GB, ≤ 12 ×", partial(by_tenfold, 6, 12)),
    "thirty": ("Adult, 30 quasi-identifiers", "≤ 60 s, labelled", partial(by_thirty, 60)),
}  # fmt: skip
ASKED_FOR = {"hundred", "tumult"}
"""Rows that take minutes or are installed first, so they are measured only if wanted."""


def main(rows, chosen, wanted):
    if not adult.FOLDER.exists():
        print(f"Adult is not in {adult.FOLDER}; nothing to measure.")
        return
    print(f"\nWhere the rows live: {rows:,} rows; CPU seconds of all processes\n")
    print(f"{'':38} {'to reach':17} {'':8} measured", flush=True)
    missed, left = [], []
    with tempfile.TemporaryDirectory(prefix="sfumato-where-") as name:
        folder = Path(name)
        for row, (title, goal, measure) in ROWS.items():
            if (chosen and row not in chosen) or (row in ASKED_FOR - wanted - chosen):
                left.append(title)
                continue
            found = attempt(partial(measure, folder, rows))
            verdict = {True: "reached", False: "MISSED", None: ""}[found.reached]
            print(f"{title:38} {goal:17} {verdict:8} {found.shown}", flush=True)
            missed += [title] if found.reached is False else []
    print(f"\nMissed: {'; '.join(missed) or 'nothing'}.")
    print(f"Not measured in this run: {'; '.join(left) or 'nothing'}.")


def attempt(measure):
    """Measure a row; what goes wrong with it is said, and the next is measured."""
    try:
        return measure()
    except Exception as error:
        return Found(f"{type(error).__name__}: {error}"[:120], reached=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="All that is to be reached where rows live.")
    parser.add_argument("rows", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--rows", dest="chosen", default="", help=", ".join(ROWS))
    for extra in sorted(ASKED_FOR):
        parser.add_argument(f"--{extra}", action="store_true")
    given = parser.parse_args()
    picked = {name for name in given.chosen.split(",") if name}
    if picked - set(ROWS):
        parser.error(f"there are no rows {', '.join(sorted(picked - set(ROWS)))}")
    main(given.rows, picked, {extra for extra in ASKED_FOR if getattr(given, extra)})
