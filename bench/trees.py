"""Trees of 615 patients with 18,098 encounters: classes of like trees, and trees cut apart.

    python bench/trees.py

Real files are read from ../shared/data. CPU seconds, compiled code loaded before; no tool in public
does either, so there is nothing to put beside the figures but the goal.
"""

from __future__ import annotations

import time
from pathlib import Path

import sfumato as sf

DATA = Path(__file__).resolve().parents[1] / "../shared/data"
SCHEMA = sf.Schema(
    attributes={
        "gender": "quasi",
        "birth": {"role": "quasi", "type": "date"},
        "deceased": {"role": "quasi", "type": "date"},
        "city": "quasi",
        "zip": {"role": "quasi", "hierarchy": {"mask": {"length": 5}}},
        "marital": "quasi",
        "race": "quasi",
        "encounters.class": "quasi",
        "encounters.type": "quasi",
        "encounters.start": {"role": "quasi", "type": "date"},
        "encounters.conditions": "sensitive",
        "encounters.procedures": "insensitive",
        "encounters.medications": "insensitive",
    }
)
TASKS = {
    "k = 5": sf.KAnonymity(5),
    "k = 5, l = 3 distinct": sf.KAnonymity(5) & sf.DistinctLDiversity(3, "encounters.conditions"),
    "k = 5, l = 3 by frequency": sf.KAnonymity(5) & sf.VertexDiversity(3, "encounters.conditions"),
    "5^(2,1)": sf.KmnAnonymity(5, m=2, n=1),
    "5^(2,0)": sf.KmnAnonymity(5, m=2, n=0),
}


def main():
    """Print one line per task."""
    trees = sf.read(DATA / "trees" / "synthea_r4_trees.jsonl.gz", shape="trees", schema=SCHEMA)
    small = sf.read([{"a": "1", "b": [{"c": "1"}]}] * 2, shape="trees",
                    schema=sf.Schema(quasi=["a", "b.c"]))  # fmt: skip
    sf.anonymize(small, sf.KAnonymity(2))
    print(f"{trees!r}; the goal is 60 s")
    print(
        f"{'promise':28} {'CPU s':>6} {'verify':>6} {'loss':>6} {'left out':>8} {'withheld':>8}  holds"
    )
    for name, promise in TASKS.items():
        start = time.process_time()
        release = sf.anonymize(trees, promise)
        made = time.process_time()
        checked = release.verify()
        end = time.process_time()
        loss = release.loss
        hidden = loss.get("encounters.conditions withheld", 0.0)
        print(
            f"{name:28} {made - start:6.1f} {end - made:6.1f} {loss['loss per vertex']:6.3f} "
            f"{loss['vertices left out']:8.3f} {hidden:8.3f}  {checked.holds}, {checked.classes} classes"
        )


if __name__ == "__main__":
    main()
