"""The container file and the systemd unit: read by the tools that read them, built, and run."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from . import box

ROOT = Path(__file__).parents[2]
CONTAINER, UNIT = ROOT / "deploy" / "Containerfile", ROOT / "deploy" / "sfumato.service"
EXPOSURE = 35
"""What `systemd-analyze security` may find, of 100: a unit without a line of its own has 96."""


def instructions():
    """Read the container file: pairs of an instruction and what it says."""
    lines = CONTAINER.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    return [tuple(line.split(" ", 1)) for line in kept]


def said(name):
    return [text for word, text in instructions() if word == name]


def unit_lines(name):
    text = UNIT.read_text(encoding="utf-8")
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


def sent():
    """List the files that a build gets: all that `.dockerignore` lets through."""
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    names = [rule[1:] for rule in rules if rule.startswith("!")]
    left_out = [rule for rule in rules if rule and rule[0] not in "#!*"] + ["**/__pycache__"]
    found = [file for name in names for file in ([ROOT / name] if (ROOT / name).is_file() else
             sorted((ROOT / name).rglob("*"))) if file.is_file()]  # fmt: skip
    return [file for file in found
            if not any(fnmatch(part, rule.removeprefix("**/")) for rule in left_out
                       for part in file.relative_to(ROOT).parts)]  # fmt: skip


def test_what_is_deployed_has_no_privileges():
    unit = UNIT.read_text(encoding="utf-8")
    assert "DynamicUser=yes" in unit
    assert "ProtectSystem=strict" in unit
    assert said("USER") == ["sfumato"]
    assert "--read-only" in CONTAINER.read_text(encoding="utf-8")


def test_what_is_sent_to_a_build_is_the_package_and_nothing_else():
    names = {str(file.relative_to(ROOT)) for file in sent()}
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE"} <= names
    assert "src/sfumato/service/templates/base.html" in names
    names.remove("deploy/constraints.txt")
    assert all(n.startswith("src/sfumato/") for n in names if "/" in n)


def test_the_container_installs_versions_that_were_tried_by_the_hashes_of_their_files():
    """All that the server needs stands in deploy/constraints.txt, and no host of an index."""
    text = (ROOT / "deploy" / "constraints.txt").read_text(encoding="utf-8")
    assert "://" not in text
    entries = dict(
        re.findall(r"^(\S+)==\S+((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", text, re.MULTILINE)
    )
    assert len(entries) == text.count("==")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    stated = [*project["dependencies"], *extras["server"], *extras["postgres"]]
    names = {re.split(r"[\[<>=]", one)[0].lower() for one in stated}
    assert names <= set(entries), names - set(entries)
    assert "--require-hashes" in " ".join(said("RUN"))


def test_every_option_that_is_named_is_one_of_serve():
    """A word of the entry point or the unit that `sfumato serve` does not know is an error."""
    from sfumato.requests.serve import ServeCommand

    known = {
        flag
        for name, field in ServeCommand.model_fields.items()
        for flag in (f"--{name.replace('_', '-')}", *re.findall(r"--[a-z-]+", repr(field.metadata)))
    }
    words = json.loads(said("ENTRYPOINT")[0]) + shlex.split(unit_lines("ExecStart")[0])
    assert "serve" in words
    flags = {word for word in words if word.startswith("--")}
    assert flags
    assert flags <= known


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_accepts_the_unit_and_finds_it_guarded(tmp_path):
    file = tmp_path / "sfumato.service"
    begin = unit_lines("ExecStart")[0].split(" ", 1)[0]
    file.write_text(UNIT.read_text(encoding="utf-8").replace(begin, sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True,
                          check=False, timeout=60)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    guarded = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", file]
    done = subprocess.run(guarded, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout[-500:]


# -- built and run --------------------------------------------------------------------------


def python_of_the_image():
    """Find the Python that the container file begins with, for the box has no images."""
    version = re.match(r"python:(3\.\d+)-slim", said("FROM")[0])[1]
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    found = shutil.which(f"python{version}") if not kept else str(kept[-1])
    return None if found is None else Path(found).resolve().parents[1]


@pytest.fixture
def root(tmp_path):
    """A root to run in, or the reason why there is none."""
    if box.missing():
        pytest.skip(f"NOTHING WAS RUN AS IT IS DEPLOYED: {box.missing()}")
    return box.Box(tmp_path / "box")


@pytest.fixture
def image(root):
    """The root after every COPY and RUN of the container file."""
    python = python_of_the_image()
    if python is None:
        pytest.skip("the container was not built: the Python of its image is not here")
    for file in sent():
        target = root.folder / "up" / "src" / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    shutil.copytree(python, root.folder / "up" / "usr" / "local" / "python", symlinks=True)
    environment = {**os.environ, "PATH": f"/usr/local/python/bin:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    # A Python of pyenv looks for its library below /root, which the server's user may not read.
    places = "/usr/local/python/lib"
    root.build(f"echo {places} > /etc/ld.so.conf.d/python-of-the-image.conf; ldconfig", environment)
    for line in said("RUN"):
        root.build(line, environment)
    return root


def first_line(process, wanted):
    """Read what a server prints until a line has what is wanted."""
    end, seen = time.monotonic() + 120, []
    while time.monotonic() < end and select.select([process.stdout], [], [], 120)[0]:
        seen.append(process.stdout.readline())
        if re.search(wanted, seen[-1]):
            return re.search(wanted, seen[-1])[0]
        if not seen[-1]:
            break
    raise AssertionError(f"{wanted} was not printed: {''.join(seen)[-2000:]}")


def is_healthy(made, process, user, python):
    """Do what HEALTHCHECK says until it succeeds."""
    check = [python, *json.loads(said("HEALTHCHECK")[0].removeprefix("CMD "))[1:]]
    for _ in range(240):
        if made.beside(process, check, user=user).returncode == 0:
            return True
        time.sleep(0.25)
    return False


def stop(process):
    process.terminate()
    process.wait(60)
    process.stdout.close()


def folder_of(made, user, name):
    """Make a folder that a user may write to."""
    folder = made.folder / name
    folder.mkdir(mode=0o700)
    os.chown(folder, user, user)
    return folder


def deployed(made):
    """Give how the container runs: its user, a volume for it, and its variables."""
    user = int(re.search(r"--uid (\d+)", " ".join(said("RUN")))[1])
    environment = {"PATH": "/usr/bin:/bin"}
    environment |= dict(pair.split("=", 1) for pair in said("ENV")[0].split())
    volume = {said("VOLUME")[0]: folder_of(made, user, "volume")}
    return {"user": user, "writable": volume, "environment": environment}


def entry_point(program):
    """Give the words of the entry point, begun by another program."""
    return [*program, *json.loads(said("ENTRYPOINT")[0])[1:]]


@pytest.mark.soak
def test_the_entry_point_serves_from_a_root_that_is_only_read(root):
    """As the container runs it, by the Python of the tests."""
    root.build(f"chmod o+rx /root; {said('RUN')[-1]}", dict(os.environ))
    how = deployed(root)
    process = root.start(entry_point([sys.executable, "-m", "sfumato"]), **how)
    try:
        assert first_line(process, r"http://\S+/welcome/\S+")
        assert is_healthy(root, process, how["user"], sys.executable)
        for place in ("/x", "/opt/x", "/etc/x", "/var/x", str(ROOT / "x")):
            assert root.beside(process, ["touch", place], user=how["user"]).returncode, place
    finally:
        stop(process)
    files = [file.stat() for file in (root.folder / "volume").glob("*.sqlite")]
    assert {(file.st_uid, file.st_mode & 0o077) for file in files} == {(how["user"], 0)}


def visited(made, process, user, program, python):
    """Register, anonymise and publish there, and check the certificate without anything else."""
    link = first_line(process, r"http://\S+/welcome/\S+").replace("0.0.0.0", "127.0.0.1")
    assert is_healthy(made, process, user, python)
    visit = (Path(__file__).parent / "visit.py").read_text(encoding="utf-8")
    told = made.beside(process, [python, "-c", visit, link, "/tmp/visit"], user=user)
    assert '"done"' in told.stdout, told.stdout + told.stderr
    files = ["/tmp/visit/release.csv", "--certificate", "/tmp/visit/certificate.json",
             "--key", "/tmp/visit/keys.json"]  # fmt: skip
    checked = made.beside(process, [*program, "verify", *files], user=user)
    assert "the certificate holds" in checked.stdout, checked.stdout + checked.stderr


@pytest.mark.soak
def test_the_container_is_built_and_serves_from_a_root_that_is_only_read(image):
    program = json.loads(said("ENTRYPOINT")[0])[0]
    python, how = str(Path(program).with_name("python")), deployed(image)
    process = image.start(entry_point([program]), **how)
    try:
        visited(image, process, how["user"], [program], python)
    finally:
        stop(process)
    again = image.start(entry_point([program]), **how)  # the same volume: nothing is lost
    try:
        assert is_healthy(image, again, how["user"], python)
        code = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8000/').read())"
        shown = image.beside(again, [python, "-c", code], user=how["user"]).stdout
        assert "<code>rows</code>" in shown
    finally:
        stop(again)


@pytest.mark.soak
def test_the_unit_s_command_serves_from_a_root_that_is_only_read(image):
    """ExecStart under what the unit states: its folders to write, no homes, no privileges."""
    user, places = 10002, {}
    for kind, base in (("State", "/var/lib"), ("Cache", "/var/cache")):
        [name] = unit_lines(f"{kind}Directory")
        (image.folder / "up" / base.lstrip("/") / name).mkdir(parents=True, exist_ok=True)
        places[f"{base}/{name}"] = folder_of(image, user, kind.lower())
    environment = {"PATH": "/usr/bin:/bin", **dict(one.split("=", 1) for one in
                                                   unit_lines("Environment"))}  # fmt: skip
    words = shlex.split(unit_lines("ExecStart")[0])
    process = image.start(words, user=user, writable=places, environment=environment,
                          hidden=("/root", "/home"))  # fmt: skip
    try:
        assert "/welcome/" in first_line(process, r"http\S+/welcome/\S+")
        assert is_healthy(image, process, user, str(Path(words[0]).with_name("python")))
        assert (image.folder / "state" / "ledger.sqlite").stat().st_uid == user
    finally:
        stop(process)
