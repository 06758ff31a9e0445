"""Many quasi-identifiers, many columns, a large hierarchy: what a release takes then.

    python bench/wide.py [30] [800] [hierarchy]

* 30: Adult with its eight quasi-identifiers and 22 derived ones (parts, pairs and hashes of them, each
  with a hierarchy of its own), k = 5, at most 5 % suppressed. The lattice has about 10¹⁴ nodes.
* 800: 20,000 records with 800 columns, of which eight are quasi-identifiers and the rest is released
  as it is.
* hierarchy: 200,000 records with an attribute whose hierarchy has a million values.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import adult
import sfumato as sf

GOAL_SECONDS = 60


def thirty():
    """Give Adult with 22 derived quasi-identifiers, and its schema."""
    with (adult.FOLDER / "adult.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    columns = {name: [row[name] for row in rows] for name in (*adult.QUASI, "salary-class")}
    attributes = {
        name: {
            "role": "quasi",
            "hierarchy": {"file": str(adult.FOLDER / f"adult_hierarchy_{name}.csv")},
        }
        for name in adult.QUASI
    }
    draw = np.random.default_rng(30)
    for i in range(22):
        source = adult.QUASI[i % len(adult.QUASI)]
        values = sorted(set(columns[source]))
        size = 3 + i % 6
        code = dict(zip(values, draw.integers(size, size=len(values)).tolist(), strict=True))
        noise = draw.integers(size, size=len(rows)).tolist()
        name = f"derived-{i}"
        cells = [
            str(code[cell] if draw_cell else extra)
            for cell, extra, draw_cell in zip(
                columns[source], noise, (draw.random(len(rows)) < 0.9).tolist(), strict=True
            )
        ]
        columns[name] = cells
        lines = [f"{v};{'low' if v < size // 2 else 'high'};*" for v in range(size)]
        attributes[name] = {"role": "quasi", "hierarchy": lines}
    attributes["salary-class"] = {"role": "sensitive"}
    return columns, attributes


def schema_of(attributes, folder):
    """Write hierarchies that are lists of lines as files, and give the schema."""
    found = {}
    for name, attribute in attributes.items():
        hierarchy = attribute.get("hierarchy")
        if isinstance(hierarchy, list):
            path = Path(folder) / f"{name}.csv"
            path.write_text("\n".join(hierarchy) + "\n")
            hierarchy = {"file": str(path)}
        found[name] = attribute | ({"hierarchy": hierarchy} if hierarchy else {})
    return sf.Schema(attributes=found)


def eight_hundred(rows=20_000):
    draw = np.random.default_rng(8)
    columns, attributes = {}, {}
    for i in range(8):
        columns[f"q{i}"] = draw.integers(6, size=rows).astype(str).tolist()
        attributes[f"q{i}"] = {
            "role": "quasi",
            "hierarchy": [f"{v};{'a' if v < 3 else 'b'};*" for v in range(6)],
        }
    for i in range(792):
        columns[f"x{i}"] = draw.integers(1000, size=rows).astype(str).tolist()
        attributes[f"x{i}"] = {"role": "insensitive"}
    return columns, attributes


def million(values=1_000_000, rows=200_000):
    draw = np.random.default_rng(6)
    place = draw.integers(values, size=rows)
    columns = {
        "place": [f"{p:07d}" for p in place.tolist()],
        "sex": draw.choice(["f", "m"], rows).tolist(),
    }
    lines = [f"{v:07d};{v // 1000:04d}***;{v // 100_000:02d}*****;*" for v in range(values)]
    attributes = {
        "place": {"role": "quasi", "hierarchy": lines},
        "sex": {"role": "quasi", "hierarchy": ["f;*", "m;*"]},
    }
    return columns, attributes


def measured(made, folder):
    """Anonymise and save; return wall seconds, the label of the result, and a line of figures."""
    columns, attributes = made
    schema = schema_of(attributes, folder)
    start, cpu = time.perf_counter(), time.process_time()
    release = sf.anonymize(sf.read(columns, schema=schema), sf.KAnonymity(5), suppression=0.05)
    searched = time.perf_counter() - start
    release.save(Path(folder) / "out", report=False, replace=True)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    record = release.provenance.record
    label = f"{record.algorithm}: {record.label}"
    told = (
        f"{seconds:.1f} s ({searched:.1f} until decided and made), {cpu:.1f} CPU s; "
        f"{release.suppressed:,} suppressed, loss {next(iter(release.loss.values())):.3f}; {label}"
    )
    return seconds, label, told


def main(wanted):
    with tempfile.TemporaryDirectory(prefix="sfumato-wide-") as folder:
        if "30" in wanted and adult.FOLDER.exists():
            seconds, _, told = measured(thirty(), folder)
            print(f"Adult, 30 quasi-identifiers: {told}", flush=True)
            print(f"  {'ok    ' if seconds <= GOAL_SECONDS else 'MISSED'} at most {GOAL_SECONDS} s")
        for name, title, make in (
            ("800", "800 columns", eight_hundred),
            ("hierarchy", "a hierarchy of a million values", million),
        ):
            if name in wanted:
                print(f"{title}: {measured(make(), folder)[2]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["30", "800", "hierarchy"])
