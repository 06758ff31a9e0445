"""The README's session gives an answer that means something, and keeps its budget on disk."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from statistics import fmean

import sfumato as sf

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "README.md").read_text("utf-8")


def test_the_session_answers_with_an_age_and_keeps_its_budget(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = sf.examples.patients(2000, seed=1)
    names: dict[str, object] = {"sf": sf, "people": sf.read(example.columns)}
    code = next(
        one for one in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "Session(" in one
    )
    exec(compile(code, "README.md", "exec", dont_inherit=True), names)
    answer, columns = names["answer"], example.columns
    ages = [int(a) for a, j in zip(columns["age"], columns["job"], strict=True) if j == "nurse"]
    low, high = answer.intervals(0.999_999)["age"][0]
    assert 18 <= low <= fmean(ages) <= high <= 100
    assert abs(answer.column("age")[0] - fmean(ages)) < 30
    with sf.Session(names["people"], name="people", ledger="people.ledger.sqlite") as again:
        assert again.remaining == names["session"].remaining == sf.PureDP(0.3)


def test_every_extra_is_named():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert [name for name in extras if name != "dev" and f"`{name}`" not in PAGE] == []
