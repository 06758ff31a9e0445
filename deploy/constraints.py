"""Write deploy/constraints.txt, what the container installs: python deploy/constraints.py

Versions are those installed here, with which the tests have run; each stands with the hashes of the
files that pip would take for the container (and for the Python that runs this), so what is
installed is what was tried, or nothing. Run it again where `pyproject.toml` or a version changes.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
EXTRAS = ("server", "postgres", "compiler")
HERE_TOO = ".".join(map(str, sys.version_info[:2]))
TARGETS = (("3.12", "x86_64"), ("3.12", "aarch64"), (HERE_TOO, "x86_64"))
HEAD = (
    "# Written by deploy/constraints.py: versions that were tried, and the hashes of their files.\n"
)


def wanted():
    """What the server needs, and what builds it."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    stated = project["project"]
    extras = [one for name in EXTRAS for one in stated["optional-dependencies"][name]]
    return [*stated["dependencies"], *extras, *project["build-system"]["requires"]]


def report(target, machine, pinned):
    """What pip would install there, as it says itself."""
    with tempfile.TemporaryDirectory() as folder:
        told, pins = Path(folder, "report.json"), Path(folder, "pins.txt")
        pins.write_text("".join(f"{name}=={number}\n" for name, number in pinned.items()))
        platforms = [f"{kind}_{machine}" for kind in ("manylinux2014", "manylinux_2_28")]
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed",
             "--only-binary=:all:", "--python-version", target, "--target", folder,
             *(word for name in platforms for word in ("--platform", name)),
             "--constraint", pins, "--report", told, *wanted()],
            check=True,
        )  # fmt: skip
        return json.loads(told.read_text(encoding="utf-8"))["install"]


def main():
    """Ask for each target, first unpinned: then what is installed here has its version."""
    found = {}
    for target, machine in TARGETS:
        names = [one["metadata"]["name"] for one in report(target, machine, {})]
        pinned = {}
        for name in names:
            try:
                pinned[name] = version(name)
            except PackageNotFoundError:
                print(f"{name} is not installed here; its version is the newest", file=sys.stderr)
        for one in report(target, machine, pinned):
            facts = one["metadata"]
            digest = one["download_info"]["archive_info"]["hashes"]["sha256"]
            found.setdefault((facts["name"].lower(), facts["version"]), set()).add(digest)
    lines = [
        f"{name}=={number}"
        + "".join(f" \\\n    --hash=sha256:{digest}" for digest in sorted(digests))
        for (name, number), digests in sorted(found.items())
    ]
    (HERE / "constraints.txt").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


main()
