"""Rivals run in virtual environments of their own, so that their requirements never meet ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def python_with(name, *packages):
    """Return the Python of `.venv-bench-NAME` with packages installed, or None if they do not install."""
    folder = ROOT / f".venv-bench-{name}"
    python = folder / "bin" / "python"
    mark = folder / "installed"
    wanted = "\n".join(packages)
    if mark.exists() and mark.read_text() == wanted:
        return python
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if subprocess.run([sys.executable, "-m", "venv", str(folder)], check=False, **quiet).returncode:
        return None
    install = [str(python), "-m", "pip", "install", "--quiet", *packages]
    if subprocess.run(install, check=False, **quiet).returncode:
        return None
    mark.write_text(wanted)
    return python


def ask(python, script, *arguments, seconds=300):
    """Run a rival's script; return the JSON it prints, or a text saying why there is none."""
    if python is None:
        return "does not install"
    command = [str(python), str(HERE / "rival_scripts" / script), *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"not done after {seconds} s"
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1][:80] if done.stderr else '?'}"
    return json.loads(done.stdout.strip().splitlines()[-1])
