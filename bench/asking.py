"""One question with a privacy unit, beside the rivals: CPU seconds, memory, keys and noise in one run.

    python bench/asking.py [ROWS]

10 million rows of 100,000 people in 1,000 groups, some of them a hundred times as popular as others.
Asked: COUNT and SUM per group, of each person at most 20 groups and 5 rows in each, values clamped to
[0, 100], at (1, 10⁻⁶). Every way runs in a process of its own; CPU seconds are those of the process
and its children during the question, memory is the peak of them all. A way gets
SFUMATO_BENCH_SECONDS (300) to finish.

What is not the same for all, and in whose favour:

* What runs in our Python (DuckDB, numpy, Polars, Sfumato) is asked once before and then three times,
  and the cheapest counts. Postgres and the rivals are asked once, so theirs includes what they load
  or compile on the first question; for what runs on a JVM that is tens of seconds. Our Spark is asked
  twice, and the note says what the first question took.
* DuckDB, numpy, Polars, Postgres, SmartNoise and PipelineDP have the rows in memory or in a table
  beforehand; "straight from Parquet", OpenDP, Spark and Tumult read them during the question.
* SmartNoise bounds rows and not groups: it keeps 20 rows per person where the others keep up to 100
  in 20 groups, which is less work; it gets ε = 1/2 for each of two columns. Tumult is told the keys;
  the others find them. OpenDP sums whole numbers.

σ is the standard deviation of the noise of a count. "exact" ways bound and add up and add no noise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from rivals import ask, python_with

HERE = Path(__file__).resolve().parent
SECONDS = int(os.environ.get("SFUMATO_BENCH_SECONDS", "300"))
GROUPS = 1000
GOAL_CPU, GOAL_MEMORY, GOAL_SIGMA, GOAL_OVERHEAD, GOAL_CHARGE = 2.0, 1.5, 134, 0.010, 0.001
WAYS = (
    ("plain", "DuckDB, nothing bounded"),
    ("kernel", "Sfumato, exact"),
    ("kernel_in_place", "Sfumato, exact, straight from Parquet"),
    ("kernel_texts", "Sfumato, exact, people named by texts"),
    ("session", "Sfumato, the whole question"),
    ("numpy_kernel", "numpy by hand, exact"),
    ("polars_frame", "Polars by hand, exact"),
    ("hand_windows", "DuckDB windows by hand, exact"),
    ("plan_windows", "our plan on DuckDB by windows, exact"),
    ("postgres", "our plan on Postgres, exact"),
    ("postgres_stream", "Postgres, columns streamed, exact"),
    ("spark", "our plan on Spark, exact, warm"),
    ("spark_kernel", "kernel on Spark's workers, exact, warm"),
)
EXACT = ("kernel", "plan_windows", "postgres", "postgres_stream", "spark", "spark_kernel")
GOALS_BY_ENGINE = {
    "kernel": 0.8, "kernel_texts": 1.8, "postgres": 26, "postgres_stream": 12, "spark": 45,
    "spark_kernel": 20,
}  # fmt: skip
RIVALS = (
    ("opendp-frames", ("opendp[polars]",), "opendp_asking.py", "OpenDP on Polars"),
    ("smartnoise", ("smartnoise-sql",), "smartnoise_asking.py", "SmartNoise SQL"),
    ("pipelinedp", ("pipeline-dp",), "pipelinedp_asking.py", "PipelineDP"),
    ("tumult", ("tmlt.analytics",), "tumult_asking.py", "Tumult Analytics on Spark"),
)


def people_of(rows):
    """Say how many people a table of so many rows has."""
    return max(rows // 100, 10)


def made(folder, rows):
    """Write the data, as Parquet and as CSV for those who read nothing else."""
    draw = np.random.default_rng(4)
    weights = np.cumsum(1 / (np.arange(GROUPS) + 5))
    frame = pl.DataFrame(
        {
            "person": draw.integers(people_of(rows), size=rows),
            "grp": np.searchsorted(weights / weights[-1], draw.random(rows)),
            "value": draw.normal(50, 40, rows),
        }
    )
    file = str(Path(folder) / "visits.parquet")
    frame.write_parquet(file)
    csv = file.replace(".parquet", ".csv")
    duckdb.execute(f"COPY (FROM read_parquet('{file}')) TO '{csv}' (HEADER false)")
    return file


def way(name, file):
    """Run one of our ways; return the JSON it prints, or a text saying why there is none."""
    command = [sys.executable, "-W", "ignore", str(HERE / "asking_ways.py"), name, file]
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:100]}"
    return json.loads(done.stdout.strip().splitlines()[-1])


def row(title, found):
    if isinstance(found, str):
        print(f"{title:<40} {found}", flush=True)
        return
    sigma = f"{found['sigma']:8.0f}" if "sigma" in found else f"{'':>8}"
    line = f"{title:<40} {found['cpu']:8.2f} {found['gigabytes']:7.2f} {found['groups']:6}{sigma}"
    print(f"{line}  {found.get('note', '')}", flush=True)


def verdict(what, reached, measured):
    print(f"  {'ok    ' if reached else 'MISSED'} {what}: {measured}")


def verdicts(found, small):
    print("\nGOALS")
    for name, title in (
        ("kernel", "exact"),
        ("kernel_in_place", "from Parquet"),
        ("session", "whole"),
    ):
        figures = found[name]
        if isinstance(figures, str):
            verdict(f"{title}: at most {GOAL_CPU} CPU s", False, figures)
            continue
        cpu, memory = figures["cpu"], figures["gigabytes"]
        verdict(f"{title}: at most {GOAL_CPU} CPU s", cpu <= GOAL_CPU, f"{cpu:.2f}")
        verdict(f"{title}: at most {GOAL_MEMORY} GB", memory <= GOAL_MEMORY, f"{memory:.2f}")
    for name, goal in GOALS_BY_ENGINE.items():
        figures = found[name]
        cpu = None if isinstance(figures, str) else figures["cpu"]
        title = f"{dict(WAYS)[name]}: at most {goal} CPU s"
        verdict(title, cpu is not None and cpu <= goal, figures if cpu is None else f"{cpu:.2f}")
    exact = [found[name] for name in EXACT]
    exact = [(one["kept"], one["sum"]) for one in exact if not isinstance(one, str)]
    verdict("all engines agree exactly", len(set(exact)) == 1, f"{len(exact)} compared")
    whole, kernel = found["session"], found["kernel"]
    if not isinstance(whole, str) and not isinstance(kernel, str):
        populous = {key for key, n in kernel["people"].items() if n >= 1.5 * whole["threshold"]}
        missing = populous - set(map(str, whole["released"]))
        verdict(
            f"every key of at least 1.5 × {whole['threshold']} kept people is released",
            not missing,
            f"{len(missing)} of {len(populous)} missing; {whole['groups']} released",
        )
        verdict(
            f"σ of the count at most {GOAL_SIGMA} where keys are known",
            whole["sigma_of_known_keys"] <= GOAL_SIGMA,
            f"{whole['sigma_of_known_keys']:.1f} ({whole['sigma']:.1f} where they are found)",
        )
    if isinstance(small, str):
        verdict("overhead of a question on a small table", False, small)
        return
    for name, figures in small["questions"].items():
        own, engine = figures["own"], figures["engine"]
        verdict(
            f"{name}: parsing, planning, charging, noise under 10 ms of CPU",
            own <= GOAL_OVERHEAD,
            f"{own * 1e3:.1f} ms (and DuckDB {engine * 1e3:.1f} ms)",
        )
    charge = small["charge"]
    verdict("charging under 1 ms of CPU", charge <= GOAL_CHARGE, f"{charge * 1e3:.2f} ms")


def main(rows):
    with tempfile.TemporaryDirectory(prefix="sfumato-asking-") as folder:
        file = made(folder, rows)
        print(f"{rows:,} rows, {people_of(rows):,} people, {GROUPS:,} groups; C = 20, L = 5\n")
        print(f"{'':<40} {'CPU s':>8} {'GB':>7} {'keys':>6} {'σ':>7}")
        found = {}
        for name, title in WAYS:
            found[name] = way(name, file)
            row(title, found[name])
        for name, packages, script, title in RIVALS:
            python = python_with(name, *packages)
            row(title, ask(python, script, file, GROUPS, seconds=SECONDS))
        verdicts(found, way("overhead", file))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
