"""What the package says of itself agrees wherever it is said."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import sfumato

ROOT = Path(__file__).parent.parent


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = re.search(r"\nversion: (\S+)\n", (ROOT / "CITATION.cff").read_text("utf-8"))
    assert project["version"] == sfumato.__version__ == cited.group(1)


def test_no_file_names_a_registry():
    hosts = ("pypi.org", "pythonhosted", "registry.npmjs", "deb.debian")
    for path in ("pyproject.toml", "Makefile", "README.md", "CITATION.cff", "hatch_build.py"):
        text = (ROOT / path).read_text("utf-8")
        assert not [host for host in hosts if host in text], path


def test_the_readme_of_a_release_leads_into_its_repository():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    try:
        spec.loader.exec_module(hook := importlib.util.module_from_spec(spec))
    except ModuleNotFoundError:
        pytest.skip("hatchling is installed where packages are built only")
    told = hook.absolute((ROOT / "README.md").read_text("utf-8"), "https://example.org/s", "v1")
    assert "![The report of a release" in told
    assert "(https://example.org/s/raw/v1/docs/images/report.png)" in told
    assert "(https://example.org/s/blob/v1/docs/tutorial/first-release.md)" in told
    targets = re.findall(r"\]\(([^)\s]+)\)", told)
    assert targets
    assert not [target for target in targets if not target.startswith(("https://", "#"))]
