"""Ranked ballots: a shape of data that Sfumato has never heard of, in one small file."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.anonymize.definitions.classes import Classes
from sfumato.decision import Decision, SearchRecord
from sfumato.released.view import View


@dataclass(frozen=True)
class Ballots:
    lines: tuple
    name: str = "ballots"
    shape = "ballots"

    def __len__(self):
        return len(self.lines)

    data = property(lambda self: list(self.lines))

    def write(self, folder, file_format=None):
        path = Path(folder) / "release.txt"
        path.write_text("".join(f"{' > '.join(line)}\n" for line in sorted(self.lines)))
        return path

    def manifest(self):
        return {"ranks": max((len(line) for line in self.lines), default=0)}


@dataclass(frozen=True, eq=False, kw_only=True)
class BallotsView(View):
    shape, unit = "ballots", "ballot"
    counted: tuple
    records = property(lambda self: sum(n for _, n in self.counted))

    def groups(self, definition=None):
        return Classes(np.array([n for _, n in self.counted], dtype=np.int64))

    def describe(self, group):
        return {"ballot": self.counted[group][0] or "(blank)"}


class BallotsShape(sf.Shape):
    name, unit, files = "ballots", "ballot", ("release.txt",)

    def read(self, source, *, schema=None, **options):
        return Ballots(tuple(tuple(line) for line in source))

    def algorithms(self):
        return {"truncate": truncate}

    def apply(self, data, decision):
        return Ballots(tuple(line[: decision.content] for line in data.lines))

    def losses(self, data, decision, artefact):
        came = sum(map(len, data.lines))
        return {"ranks lost": 1 - sum(map(len, artefact.lines)) / max(came, 1)}

    def view(self, source, *, schema=None, called=None, **options):
        if isinstance(source, Ballots):
            lines = [" > ".join(line) for line in source.lines]
        else:
            lines = Path(source).read_text().split("\n")[:-1]
        return BallotsView(
            source=called or "ballots", counted=tuple(sorted(Counter(lines).items()))
        )


def truncate(data, promise, *, progress=None):
    """Keep as many ranks as the promise allows: the first that holds, from the longest down."""
    for ranks in range(max(map(len, data.lines)), -1, -1):
        sizes = np.array(list(Counter(line[:ranks] for line in data.lines).values()))
        if promise.judge(Classes(sizes)).all():
            return Decision(record=SearchRecord("truncate", proven_optimal=True), content=ranks)
    raise sf.errors.Unsatisfiable("Even blank ballots do not keep the promise.")


sf.register_shape(BallotsShape())
