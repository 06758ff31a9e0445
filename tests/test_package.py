"""What the package says of itself agrees wherever it is said."""

import re
import tomllib
from pathlib import Path

import sfumato

ROOT = Path(__file__).parent.parent


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = re.search(r"\nversion: (\S+)\n", (ROOT / "CITATION.cff").read_text("utf-8"))
    assert project["version"] == sfumato.__version__ == cited.group(1)


def test_no_file_names_a_registry():
    hosts = ("pypi.org", "pythonhosted", "registry.npmjs", "deb.debian")
    for path in ("pyproject.toml", "Makefile", "README.md", "CITATION.cff"):
        text = (ROOT / path).read_text("utf-8")
        assert not [host for host in hosts if host in text], path
