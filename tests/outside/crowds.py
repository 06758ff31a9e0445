"""A definition from outside: groups come in whole dozens of people."""

from dataclasses import dataclass

import sfumato as sf


@dataclass(frozen=True)
class Crowds(sf.Definition):
    """Every group has at least so many dozens of members."""

    dozens: int
    shapes = None

    def judge(self, classes):
        return classes.sizes >= 12 * self.dozens

    def __str__(self):
        return f"crowds of {self.dozens} dozen"
