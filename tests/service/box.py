"""A root to build and run in, as a container has one, where there is no container engine.

The machine's files lie below an overlay; what a build writes goes to a folder of its own. What runs
has a root that is only read, a /tmp in memory, a network of its own and no privileges: what
`podman run --read-only --tmpfs /tmp` and the unit's `ProtectSystem=strict` give. Needs root.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

NEEDED = ("unshare", "nsenter", "setpriv", "mount", "chroot")
ALIVE = (
    "import fcntl,socket,struct;s=socket.socket();fcntl.ioctl(s,0x8914,struct.pack('16sh',b'lo',1))"
)
"""Brings the loopback of a new network up (SIOCSIFFLAGS), where there is no `ip`."""


def missing():
    """Say what keeps a box from being made; an empty text if nothing does."""
    absent = [name for name in NEEDED if shutil.which(name) is None]
    if os.geteuid() != 0 or absent:
        return f"a box needs root and {', '.join(NEEDED)}"
    tried = subprocess.run(["unshare", "-mn", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "namespaces are not allowed here"


class Box:
    """One root: `build` writes to it, `start` runs in it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in ("up", "work", "root"):
            (self.folder / name).mkdir(parents=True)

    def _inside(self, lines, command, *, net=False):
        """Give the command line that mounts the root and runs a command in it."""
        root = self.folder / "root"
        layers = f"lowerdir=/,upperdir={self.folder}/up,workdir={self.folder}/work"
        whole = [
            "mount --make-rprivate /",
            f"mount -t overlay overlay -o {layers} {root}",
            *lines(root),
            f"mount -t proc proc {root}/proc",
            f"mount --rbind /dev {root}/dev",
            *([f"python3 -c {shlex.quote(ALIVE)}"] if net else []),
            f"exec chroot {root} {command}",
        ]
        kinds = "-mn" if net else "-m"
        return ["unshare", kinds, "sh", "-ec", "\n".join(whole)]

    def build(self, line, environment):
        """Run a line of a build, as root; what it writes stays."""
        command = self._inside(lambda _: (), f"/bin/sh -ec {shlex.quote(line)}")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (line, done.stdout[-2000:], done.stderr[-2000:])

    def start(self, words, *, user, writable, environment, hidden=()):
        """Start something without privileges; `writable` says which folder lies where."""

        def mounts(root):
            yield f"mount -o remount,ro {root}"
            yield f"mount -t tmpfs -o mode=1777 none {root}/tmp"
            for place in hidden:
                yield f"mount -t tmpfs -o mode=000 none {root}{place}"
            for place, folder in writable.items():
                yield f"mount --bind {folder} {root}{place}"

        dropped = "setpriv --no-new-privs --bounding-set=-all --inh-caps=-all --clear-groups"
        known = shlex.join(f"{name}={value}" for name, value in environment.items())
        command = f"{dropped} --reuid={user} --regid={user} env -i {known} {shlex.join(words)}"
        return subprocess.Popen(
            self._inside(mounts, command, net=True), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def beside(self, process, words, *, user):
        """Run something beside a process that was started: same root, network and user."""
        at, same = str(process.pid), (f"--reuid={user}", f"--regid={user}", "--clear-groups")
        enter = ["nsenter", "-t", at, "-n", "-m", f"--root=/proc/{at}/root", "--wd=/"]
        words = ["setpriv", *same, *words]
        return subprocess.run([*enter, *words], capture_output=True, text=True, check=False)
