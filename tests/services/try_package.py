"""Install the wheel and the source archive of a folder, each in an empty environment, and try them.

    python tests/services/try_package.py dist [--every | python3.11 python3.12 …]

What is tried is what a newcomer does first: the version, the example, a release, its check from the
file alone; with a wheel of compiled kernels, which is for one Python, also that it needs no
compiler. The environments lie in the folder of the archives and go away again. Nothing outside the
standard library is needed, so that it runs with any Python, on any system.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

LINES = (
    ("--version",),
    ("example", "clinic", "--rows", "300"),
    ("anonymize", "clinic/patients.csv", "-s", "clinic/patients.yaml", "-k", "3", "-o", "out"),
    ("verify", "out/release.csv", "-s", "clinic/patients.yaml", "-k", "3"),
    ("--json", "inspect", "clinic/patients.csv", "-o", "suggested.yaml"),
)


VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def every_python():
    """Find one Python of every version we serve: on the path, else of pyenv."""
    for version in VERSIONS:
        named = shutil.which(f"python{version}")
        kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        for python in [*([named] if named else []), *map(str, kept)]:
            if version_of(python) == f"Python {version}":
                yield python
                break
        else:
            print(f"there is no Python {version} here", flush=True)


def version_of(python):
    """Ask a Python for its version, as "Python 3.11"."""
    code = "import sys; print('Python %d.%d' % sys.version_info[:2])"
    told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return told.stdout.strip()


COMPILED = (
    "import sys; from sfumato.anonymize.tables.algorithms.top_down import cuts; "
    "from sfumato import compiler; assert compiler.LIBRARY.serves(); "
    "from importlib.util import find_spec; assert find_spec('numba') is None"
)


def fits(archive, python):
    """Tell whether an archive is for a Python; a wheel of compiled kernels is for one."""
    own = "cp" + version_of(python).removeprefix("Python ").replace(".", "")
    return archive.suffix != ".whl" or {"py3", own} & set(archive.stem.split("-"))


def try_archive(archive, python, place):
    """Install one archive with one Python, and run what a newcomer runs."""
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([python, "-m", "venv", place], check=True)
    inside = place / ("Scripts" if os.name == "nt" else "bin")
    own = inside / ("python.exe" if os.name == "nt" else "python")
    subprocess.run([own, "-m", "pip", "install", "--quiet", archive], check=True)
    work = place / "work"
    work.mkdir()
    for line in LINES:
        subprocess.run([own, "-m", "sfumato", *line], cwd=work, check=True, capture_output=True)
    if "py3" not in archive.stem.split("-") and archive.suffix == ".whl":
        subprocess.run([own, "-c", COMPILED], cwd=work, check=True)
    shutil.rmtree(place, ignore_errors=True)


def main():
    folder, pythons = Path(sys.argv[1]).resolve(), sys.argv[2:] or [sys.executable]
    pythons = list(every_python()) if pythons == ["--every"] else pythons
    archives = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    if {archive.suffix for archive in archives} != {".whl", ".gz"}:
        sys.exit(f"{folder} has to hold a wheel and a source archive.")
    for python in pythons:
        for archive in [one for one in archives if fits(one, python)]:
            try_archive(archive, python, folder / ".venv-try")
            print(f"{archive.name} with {version_of(python)}: installed and tried", flush=True)


if __name__ == "__main__":
    main()
