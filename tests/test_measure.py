"""What `make measure` counts, on a tree small enough to count by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[1] / "tools" / "measure.py"

FILES = {
    "__init__.py": '"""A package."""\n',
    "plain.py": '"""Two lines of code.\n\nAnd a docstring.\n"""\n\n# why\nX = (\n    1)  # noqa\n',
    "dp/__init__.py": "",
    "dp/one.py": "# why\nfrom sfumato.dp import two\n\n\ndef f():\n    return two.g()\n",
    "dp/two.py": "def g():\n    from sfumato.dp.one import f\n    import sfumato.plain\n",
}


def measured(folder, *words):
    for name, text in FILES.items():
        file = folder / "sfumato" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, TOOL, folder, "--no-journeys", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, {
        line[:42].strip(): line[42:].split() for line in done.stdout.split("\n")
    }


def test_figures_are_those_counted_by_hand(tmp_path):
    code, found = measured(tmp_path)
    assert code == 0
    assert found["code lines"] == ["8", "≤", "86,000"]
    assert [found[name][0] for name in ("modules", "folders", "depth", "noqa")] == list("5211")
    assert found["import lines, % of code"][0] == "37.5"
    assert found["comments per 100 code lines"][0] == "25.0"
    assert found["comments per 100 code lines, algorithms"][0] == "16.67"
    assert found["modules with a single importer, %"][0] == "100"
    assert found["circles of imports"][-2:] == ["sfumato.dp.one", "sfumato.dp.two"]
    assert found["code lines of the longest module"][-1] == "dp/one.py"


def test_a_missed_limit_is_an_exit_code_where_it_is_asked_for(tmp_path):
    assert measured(tmp_path, "--check")[0] == 1
