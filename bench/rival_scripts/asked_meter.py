"""CPU seconds and peak memory of a process and all its children, a JVM among them."""

import json
import os
import threading
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def _stat(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), sum(map(int, fields[11:15])) / _TICKS  # parent; own and waited-for


def _resident(pid):
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _tree(roots):
    found = {int(name): _stat(name) for name in os.listdir("/proc") if name.isdigit()}
    mine = {os.getpid(), *roots}
    while True:
        more = {pid for pid, stat in found.items() if stat and stat[0] in mine} - mine
        if not more:
            return {pid: found[pid][1] for pid in mine if found.get(pid)}
        mine |= more


class Meter:
    """What is used between entering and leaving; `peak` is the whole tree's, from the start."""

    def __init__(self, *roots):
        self.roots = roots  # processes that work for us and are not our children
        self.peak = 0
        self._stop = threading.Event()

    def _watch(self):
        while not self._stop.wait(0.1):
            self.peak = max(self.peak, sum(map(_resident, _tree(self.roots))))

    def __enter__(self):
        threading.Thread(target=self._watch, daemon=True).start()
        self._before = _tree(self.roots)
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self._start
        self._stop.set()
        after = _tree(self.roots)
        self.peak = max(self.peak, sum(map(_resident, after)))
        self.cpu = sum(used - self._before.get(pid, 0) for pid, used in after.items())

    def tell(self, **more):
        """Print what was measured, for the process that asked."""
        figures = {"cpu": self.cpu, "wall": self.seconds, "gigabytes": self.peak / 1e9}
        print(json.dumps({**figures, **more}))
