"""Compiled kernels outlive a change of names."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

MODULE = """
    from typing import NamedTuple
    from sfumato.compiler import njit

    class {name}(NamedTuple):
        low: int
        high: int

    @njit(cache=True)
    def width(range):
        return range.high - range.low

    print(width({name}(2, 9)), sum(width.stats.cache_hits.values()))
"""


def run(folder, name):
    (folder / "kernels.py").write_text(dedent(MODULE.format(name=name)))
    command = [sys.executable, "-c", "import kernels"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_what_an_older_version_has_compiled_is_compiled_again_where_a_type_was_renamed(tmp_path):
    assert run(tmp_path, "Range").stdout == "7 0\n"
    assert run(tmp_path, "Range").stdout == "7 1\n"
    renamed = run(tmp_path, "Interval")
    assert renamed.stdout == "7 0\n", renamed.stderr
