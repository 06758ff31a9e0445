"""The documentation is a site: every page is reached, every link leads somewhere."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow("builds all pages")
def test_the_site_is_built_without_a_warning(tmp_path):
    # The builder that writes nothing resolves the same links as the one that writes pages.
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            # The trees of all pages only grow: to look through them for garbage is half the time.
            "import gc, sys; gc.disable(); from sphinx.cmd.build import main; sys.exit(main())",
            *("-b", "dummy", "-W", "--keep-going", "-q"),
            # Types in signatures are looked up among all names; `conf.py` lets none of them warn.
            *("-D", "autodoc_typehints=none"),
            *("docs", tmp_path),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr[-3000:]
