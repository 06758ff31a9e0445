"""Shipped kernels are used where they fit; what numba made outlives a change of names."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from numba.core.errors import NumbaError

from sfumato import compiler
from sfumato.compiler import njit, njit_inner

ROOT = Path(__file__).parent.parent
NATIVE = ROOT / "native"

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
    numbas_own = {**os.environ, compiler.SHIPPED: "no"}
    return subprocess.run(
        command, cwd=folder, env=numbas_own, capture_output=True, text=True, check=False
    )


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


SHIPPED = """
    from typing import NamedTuple
    import numpy as np
    from sfumato.compiler import njit

    STEP = {step}
    TABLE = np.array([5, 7])

    class Range(NamedTuple):
        low: int
        high: int

    @njit(cache=True)
    def longer(value):
        return value + STEP

    @njit(cache=True)
    def shifted(values, range, factor=2):
        out = np.empty_like(values)
        for i in range_of(values):
            if values[i] < range.low:
                raise ValueError("below")
            out[i] = longer(values[i]) * factor + TABLE[0]
        return out, Range(range.low, values.size)

    @njit(cache=True)
    def range_of(values):
        return range(values.size)
"""
CALLS = """
    import importlib.util, pickle, sys
    import numpy as np
    spec = importlib.util.spec_from_file_location("sfumato._kernels", sys.argv[1])
    library = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)
    sys.modules["sfumato._kernels"] = library
    assert library.serves()
    {before}
    import moved
    values = np.arange(3, dtype={dtype})
    if library.serves():
        assert pickle.loads(pickle.dumps(moved.shifted)) is moved.shifted
    made, told = moved.shifted({call})
    assert isinstance(told, moved.Range)
    print(made.tolist(), made.dtype, tuple(told), "numba" in sys.modules)
"""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Build a library of one kernel, and give a function that runs it in a process of its own."""
    folder = tmp_path_factory.mktemp("shipped")
    (folder / "moved.py").write_text(dedent(SHIPPED.format(step=3)))
    (folder / "listed.txt").write_text("moved:shifted i8:1C,moved:Range(i8,i8),i8\n")
    build = [sys.executable, NATIVE / "build.py", "--signatures", folder / "listed.txt"]
    build += ["--into", folder, "--kept", folder / "kept"]
    # the source changes within a second, which its bytecode does not tell
    paths = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(build, env=paths, capture_output=True, check=True)
    if not (library := next(folder.glob("_kernels*"), None)):
        pytest.skip("there is no gcc here, or no header of Python, to build a package with")

    def call(
        given="values, moved.Range(0, 9)", *, step=3, dtype="np.int64", before="", fails=False
    ):
        (folder / "moved.py").write_text(dedent(SHIPPED.format(step=step)))
        code = dedent(CALLS.format(call=given, dtype=dtype, before=before))
        done = subprocess.run(
            [sys.executable, "-c", code, library],
            env=paths,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr if fails else done.stdout.strip()

    return call


@pytest.mark.slow("the library of one kernel is built with numba's C runtime")
def test_what_is_shipped_is_found_without_the_compiler(shipped):
    assert shipped("values, moved.Range(0, 9), 2") == "[11, 13, 15] int64 (0, 3) False"
    assert shipped() == "[11, 13, 15] int64 (0, 3) False"  # a default
    kept = "np.frombuffer(values.tobytes(), dtype=np.int64), moved.Range(0, 9)"
    assert shipped(kept) == "[11, 13, 15] int64 (0, 3) False"  # read only
    named = "values, factor=2, range=moved.Range(0, 9)"
    assert shipped(named) == "[11, 13, 15] int64 (0, 3) False"
    assert "ValueError: below" in shipped("values, moved.Range(1, 9), 2", fails=True)


def test_what_is_shipped_is_ignored_where_the_kernel_says_something_else(shipped):
    """The constant that has changed is named by a kernel that the shipped one calls."""
    assert shipped(step=4) == "[13, 15, 17] int64 (0, 3) True"


def test_what_is_shipped_is_ignored_for_other_types(shipped):
    assert shipped(dtype="np.int32") == "[11, 13, 15] int32 (0, 3) True"


def test_what_is_shipped_is_ignored_on_a_processor_that_lacks_the_baseline(shipped):
    assert shipped(before="library.serves = lambda: False") == "[11, 13, 15] int64 (0, 3) True"


def test_every_signature_that_is_shipped_names_a_kernel(monkeypatch):
    monkeypatch.syspath_prepend(NATIVE)
    build = importlib.import_module("build")
    lines = (NATIVE / "signatures.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    for line in lines:
        place, types = line.split(" ")
        kernel = build.found_kernel(place)
        assert not kernel.chosen.get("fastmath"), place  # results would depend on the processor
        function = kernel.py_func
        assert compiler.place(function) == place
        count = function.__code__.co_argcount
        assert len(build.numba_types(types)) == count, line


WAITING = """
    import sys
    import numpy as np
    from sfumato import compiler

    compiler.PATIENCE = {patience}
    sys.stderr.isatty = lambda: {person}

    @compiler.njit()
    def total(values):
        return values[0] + values[1]

    assert total(np.arange(2)) == 1
    assert total(np.arange(2.0)) == 1
"""


@pytest.mark.parametrize(
    ("patience", "person", "told"), [(0.001, True, 1), (0.001, False, 0), (600, True, 0)]
)
def test_a_person_who_waits_is_told_once_what_for(patience, person, told):
    code = dedent(WAITING.format(patience=patience, person=person))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.count("compiling for this machine") == told
