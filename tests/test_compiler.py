"""Compiled kernels outlive a change of names."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import numpy as np
import pytest
from numba.core.errors import NumbaError

from sfumato.compiler import njit, njit_inner

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


def test_a_kernel_that_others_call_may_not_make_arrays():
    """No references are counted in it: what it made would never be given back."""

    @njit_inner
    def total(values):
        doubled = values * 2
        return doubled[0] + doubled[1]

    with pytest.raises(NumbaError, match="NRT required"):
        total(np.arange(3))


def test_a_kernel_that_others_call_works_on_parts_of_arrays_and_keeps_them_alive():
    @njit_inner
    def add(values):
        total = 0
        for value in values:
            total += value
        return total

    @njit(cache=False)
    def outer(count):
        total = 0
        for i in range(count):
            total += add(np.full(50, i)[10:])
        return total

    assert outer(2000) == 40 * 1999 * 1000
