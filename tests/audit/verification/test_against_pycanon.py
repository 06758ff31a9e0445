"""Figures of the verifier beside those of pycanon, where it is installed for benchmarks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf

PYTHON = Path(__file__).resolve().parents[3] / ".venv-bench" / "bin" / "python"
SCRIPT = """
import json, sys
import pandas as pd
from pycanon import anonymity as a
table, qi, sa = pd.read_csv(sys.argv[1], dtype=str, keep_default_na=False), ["a", "b"], ["s"]
print(json.dumps([
    float(a.k_anonymity(table, qi)), float(a.l_diversity(table, qi, sa)),
    float(a.entropy_l_diversity(table, qi, sa)), float(a.t_closeness(table, qi, sa)),
    float(a.basic_beta_likeness(table, qi, sa)), float(a.delta_disclosure(table, qi, sa)),
]))
"""


def test_figures_agree(tmp_path):
    probe = [PYTHON, "-c", "import pycanon"]
    if not PYTHON.exists() or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("pycanon is not installed in .venv-bench")
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "a": rng.choice(list("xyz"), 400),
            "b": rng.choice(list("pq"), 400),
            "s": rng.choice(list("uvwz"), 400, p=[0.5, 0.25, 0.15, 0.1]),
        }
    )
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    answer = subprocess.run(
        [PYTHON, "-c", SCRIPT, path], capture_output=True, check=True, text=True
    )
    k, distinct, entropy, t, beta, delta = json.loads(answer.stdout.splitlines()[-1])
    found = sf.verify(path, sf.Schema(quasi=["a", "b"], sensitive=["s"])).found
    assert found["k"] == k
    assert found["distinct l of s"] == distinct
    assert int(found["entropy l of s"]) == entropy  # pycanon rounds down
    assert found["t (equal) of s"] == pytest.approx(t)
    assert found["β of s"] == pytest.approx(beta)
    assert found["δ of s"] == pytest.approx(delta)
