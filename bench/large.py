"""Whole commands on 1, 10 and 100 million rows of Parquet: time, memory, and how they grow.

    python bench/large.py [ROWS ...]

Rows are of Adult's kind: records drawn from the extract, one cell in twenty from another record. Each
size is a Parquet file, anonymised by a fresh process (k = 5, at most 5 % suppressed; read, search,
written, verified). The exponent is that of CPU seconds between one size and the next; a picture is
written beside the data when SFUMATO_BENCH_PICTURE names a file.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from pathlib import Path

import duckdb

import adult
import tables

GOAL_MEMORY, GOAL_GROWTH = 6.0, 12.0


def make(rows, path):
    """Write rows, drawn by hashes of their numbers, so that they are the same every time."""
    engine = duckdb.connect()
    engine.execute("SET enable_progress_bar = false; SET preserve_insertion_order = false")
    source = str(adult.FOLDER / "adult.csv")
    engine.execute(
        "CREATE TABLE base AS SELECT *, row_number() OVER () - 1 AS place FROM "
        f"read_csv('{source}', delim=';', header=true, all_varchar=true)"
    )
    [(size,)] = engine.execute("SELECT COUNT(*) FROM base").fetchall()
    names = [name for name, *_ in engine.execute("DESCRIBE base").fetchall() if name != "place"]
    cells = ", ".join(
        f'CASE WHEN hash(i * 31 + {c}) % 20 = 0 THEN b."{name}" ELSE a."{name}" END AS "{name}"'
        for c, name in enumerate(names)
    )
    engine.execute(
        f"COPY (SELECT {cells} FROM (SELECT range AS i, hash(range) % {size} AS p, "
        f"hash(range + 1000000000000) % {size} AS q FROM range({rows})) AS drawn "
        "JOIN base AS a ON a.place = p JOIN base AS b ON b.place = q) "
        f"TO '{path}' (FORMAT parquet)"
    )
    engine.close()


def main(sizes):
    if not adult.FOLDER.exists():
        print(f"Adult is not in {adult.FOLDER}; nothing to measure.")
        return
    print(f"{'rows':>12} {'CPU s':>8} {'wall s':>8} {'GB':>6} {'exponent':>9}")
    found = []
    with tempfile.TemporaryDirectory(prefix="sfumato-large-") as name:
        folder = Path(name)
        tables.write_schema(folder)
        for rows in sizes:
            data = folder / f"rows{rows}.parquet"
            make(rows, data)
            wall, cpu, gigabytes = tables.command(folder, data, "--suppression", "0.05")
            grown = ""
            if found:
                before = found[-1]
                grown = f"{math.log(cpu / before[1]) / math.log(rows / before[0]):9.2f}"
            found.append((rows, cpu, wall, gigabytes))
            print(f"{rows:12,} {cpu:8.1f} {wall:8.1f} {gigabytes:6.2f} {grown}", flush=True)
            data.unlink()
    verdicts({rows: (cpu, gigabytes) for rows, cpu, _, gigabytes in found})
    if picture := os.environ.get("SFUMATO_BENCH_PICTURE"):
        Path(picture).write_text(drawn([(rows, cpu) for rows, cpu, *_ in found]), "utf-8")


def verdicts(found):
    if not {10_000_000, 100_000_000} <= set(found):
        return
    small, (large, memory) = found[10_000_000][0], found[100_000_000]
    for what, is_reached, figure in (
        (f"100 M rows: below {GOAL_MEMORY:g} GB", memory < GOAL_MEMORY, f"{memory:.2f}"),
        (
            f"100 M rows: at most {GOAL_GROWTH:g} × 10 M",
            large <= GOAL_GROWTH * small,
            f"{large / small:.1f}",
        ),
    ):
        print(f"  {'ok    ' if is_reached else 'MISSED'} {what}: {figure}")


def drawn(points):
    """Draw CPU seconds over rows, both by decades, as SVG."""
    low, high = math.log10(points[0][0]), math.log10(points[-1][0])
    top = math.ceil(math.log10(max(cpu for _, cpu in points)))

    def place(rows, cpu):
        across = 60 + 400 * (math.log10(rows) - low) / max(high - low, 1)
        return across, 220 - 200 * max(math.log10(cpu), 0) / max(top, 1)

    places = [place(*point) for point in points]
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in places)
    marks = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="4"/>'
        f'<text x="{x:.0f}" y="{y - 10:.0f}" text-anchor="middle">{cpu:.1f} s</text>'
        f'<text x="{x:.0f}" y="240" text-anchor="middle">{rows / 1e6:g} M</text>'
        for (x, y), (rows, cpu) in zip(places, points, strict=True)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 250" font-family="sans-serif" '
        f'font-size="12"><polyline points="{line}" fill="none" stroke="currentColor"/>{marks}</svg>\n'
    )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000_000, 10_000_000, 100_000_000])
