"""`make bench`: every benchmark, one after the other, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ORDER = (
    "cold",
    "tables",
    "where",
    "arx_cases",
    "local_recoding",
    "families",
    "noise",
    "publish",
    "local",
    "attacks",
    "million",
    "checking",
    "ledger",
    "asking",
    "synthesis",
    "places",
    "sets",
    "learn",
    "models",
    "trees",
    "graphs",
    "service",
)


def main():
    """Run those asked for, or all."""
    wanted = sys.argv[1:] or [name for name in ORDER if (HERE / f"{name}.py").exists()]
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1"}
    failed = []
    for name in wanted:
        print(f"\n{'═' * 30} {name} {'═' * 30}", flush=True)
        done = subprocess.run(
            [sys.executable, str(HERE / f"{name}.py")], cwd=HERE, env=environment, check=False
        )
        if done.returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
