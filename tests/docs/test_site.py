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
            "-m",
            "sphinx",
            "-b",
            "dummy",
            "-W",
            "--keep-going",
            "-q",
            "docs",
            tmp_path,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr[-3000:]
