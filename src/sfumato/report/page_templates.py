"""Page templates, compiled once in a process and kept where Python keeps its compiled modules.

Compiling the template of a report takes longer than filling it. What is kept is bound to the
template's text, to this environment's settings and to the version of the template engine;
where nothing may be written, or Python is told to write no bytecode, nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined

from sfumato.report import figures

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.bccache import Bucket

FOLDER = Path(__file__).parent / "templates"


def page_template(name: str, **helpers: object) -> Template:
    """Return a template; `helpers` are the functions it may call beside the filters."""
    return _environment(FOLDER, frozenset(helpers.items())).get_template(name)


@cache
def _environment(folder: Path, helpers: frozenset[tuple[str, object]]) -> Environment:
    """Return the environment of these helpers, which are functions of modules and hence few."""
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        bytecode_cache=_BesideModules(),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=figures.count,
        percent=figures.percent,
        decimal=figures.decimal,
        cell=figures.label,
        figure=figures.figure,
    )
    environment.globals.update(helpers)
    return environment


class _BesideModules(BytecodeCache):
    """Keeps bytecode in `__pycache__`; jinja2 compares the checksum of the template's text."""

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            with self._path(bucket).open("rb") as file:
                bucket.load_bytecode(file)
        except OSError:
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        path = self._path(bucket)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, written = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    bucket.write_bytecode(file)
                Path(written).replace(path)
            except OSError:
                Path(written).unlink(missing_ok=True)
        except OSError:
            return  # a read-only installation compiles each time

    @staticmethod
    def _path(bucket: Bucket) -> Path:
        e = bucket.environment
        made_by = (bucket.key, jinja2.__version__, e.autoescape, e.trim_blocks, e.lstrip_blocks)
        digest = hashlib.sha256(repr(made_by).encode()).hexdigest()[:16]
        return Path(cache_from_source(str(FOLDER / f"template-{digest}.py")))
