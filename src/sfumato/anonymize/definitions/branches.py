"""Promises about trees: what somebody may learn who knows some vertices of a person's tree.

k^(m,n)-anonymity: Gkountouna, Terrovitis: Anonymizing collections of tree-structured data, TKDE
2015. What is known is up to m labels of a tree and up to n relations between the vertices that have
them: one lies above another, or two labels are of one vertex. A label that is known twice is of two
vertices: who knows that a course was taken twice knows two labels. A tree fits where its vertices
can play these parts. Supports count released trees that show all that literally: where one released
tree matches what is known through a hierarchy, its own labels are known facts of the same number,
and every tree that shows those matches, too.

Diversity vertex by vertex: Ozalp, Gursoy, Nergiz, Saygin: Privacy-preserving publishing of
hierarchical data, TOPS 2016. The groups that it judges are the vertices of a class of like trees
that nobody can tell apart: those on which the automorphisms of the class's tree map each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.anonymize.definitions.definition import (
    TOLERANCE,
    Definition,
    SensitiveDefinition,
    positive_integer,
)
from sfumato.anonymize.definitions.option import Option, number_and_attribute, whole_number
from sfumato.data.wording import some
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes

TREES = frozenset({"trees"})


def _read_known(text: str) -> Definition:
    parts = text.split(":")
    if len(parts) != 3:
        raise ParameterError(f"--kmn wants three whole numbers, such as --kmn 5:2:1, not '{text}'.")
    k, m, n = (whole_number("--kmn", part) for part in parts)
    return KmnAnonymity(k, m=m, n=n)


@dataclass(frozen=True)
class KmnAnonymity(Definition):
    """Whoever knows m labels of a tree and n relations between them is left with k trees, or none.

    Labels are values of quasi-identifiers, on any level; the same one may be known of several
    vertices, and counts as often. A relation says that one of the labels is
    at a vertex above that of another, or at the very same vertex.
    """

    k: int
    m: int = 2
    n: int = 1
    shapes: ClassVar[frozenset[str] | None] = TREES
    option: ClassVar[Option | None] = Option(
        "kmn",
        ("--kmn",),
        "K:M:N",
        "k^(m,n)-anonymity of trees: whoever knows m labels and n relations between their vertices "
        "is left with at least k trees.",
        _read_known,
        several=False,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_integer("k", self.k))
        object.__setattr__(self, "m", positive_integer("m", self.m))
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 0:
            raise ParameterError(f"n must be a whole number of at least 0, not {self.n!r}.")

    @property
    def relations(self) -> int:
        """How many relations matter: m labels have no more than m·(m − 1)/2."""
        return min(self.n, self.m * (self.m - 1) // 2)

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where at least k trees fit what is known."""
        return classes.sizes >= self.k

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - any label may be known
        """Say what may be known."""
        return (
            f"Whoever knows up to {some(self.m, 'label')} of a person's tree and up to "
            f"{some(self.n, 'relation')} between the vertices that have them is left with at least "
            f"{some(self.k, 'tree')}, or none."
        )

    def __str__(self) -> str:
        return f"{self.k}^({self.m},{self.n})-anonymity"


def _read_vertices(text: str) -> Definition:
    number, attribute = number_and_attribute("--vertex-l", text)
    return VertexDiversity(whole_number("--vertex-l", number), attribute)


@dataclass(frozen=True)
class VertexDiversity(SensitiveDefinition):
    """No value of a sensitive label has more than 1/l of the vertices that look alike."""

    l: int  # noqa: E741 - the letter of the definition
    attribute: str
    shapes: ClassVar[frozenset[str] | None] = TREES
    union_closed: ClassVar[bool] = True
    option: ClassVar[Option | None] = Option(
        "vertex_diversity",
        ("--vertex-l",),
        "L:LABEL",
        "l-diversity of a tree's vertices: no value of a sensitive label has more than 1/l of "
        "those that look alike; may be repeated.",
        _read_vertices,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", positive_integer("l", self.l))
        if not isinstance(self.attribute, str) or not self.attribute:
            raise ParameterError(f"attribute must be the path of a label, not {self.attribute!r}.")

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where the most frequent value is not too frequent."""
        most: NDArray[np.float64] = self.histogram(classes).shares.max(axis=1, initial=0.0)
        return most <= 1 / self.l + TOLERANCE

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - it is about others
        """Say how frequent a value may be."""
        return (
            f"Among vertices that nobody can tell apart, no {self.attribute} has more than one in "
            f"{self.l}."
        )

    def __str__(self) -> str:
        return f"{self.l}-diversity of the vertices' {self.attribute}"
