"""Promises about people in a graph, found again by where they stand in it.

Whoever knows a structural fact of a person, such as how many friends she has, is left with the
nodes for which the fact is the same; a promise says how many those are at least. Which fact is
meant is part of the promise: k-degree anonymity (Liu, Terzi, SIGMOD 2008) says nothing about
somebody who knows the friends' numbers of friends, too (Hay, Miklau, Jensen, Towsley, Weis, VLDB
2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import WithJsonSchema

from sfumato.anonymize.definitions.definition import Definition, positive_integer
from sfumato.anonymize.definitions.option import Option, whole_number
from sfumato.errors import ParameterError
from sfumato.promise import Entry, home_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes

DEGREE, NEIGHBOUR_DEGREES = "degree", "neighbour-degrees"
QUERIES = (DEGREE, NEIGHBOUR_DEGREES)

if TYPE_CHECKING:
    Query = str | Callable[..., Any]
else:  # what a file can say is one of the names
    Query = Annotated[Any, WithJsonSchema({"enum": list(QUERIES), "type": "string"})]


class StructuralDefinition(Definition):
    """A promise about every group of nodes for which a structural query has the same answer."""

    shapes: ClassVar[frozenset[str] | None] = frozenset({"graph"})
    monotone: ClassVar[bool] = True
    union_closed: ClassVar[bool] = True
    k: int

    @property
    def knowledge(self) -> str | Callable[..., Any]:
        """The structural query: a name, or a function of a graph and a node."""
        return DEGREE

    @property
    def minimum_size(self) -> int:
        """No group smaller than k can hold."""
        return self.k

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where at least k nodes have the same answer."""
        return classes.sizes >= self.k


def _read_degree(text: str) -> Definition:
    return KDegreeAnonymity(whole_number("--k-degree", text))


@dataclass(frozen=True)
class KDegreeAnonymity(StructuralDefinition):
    """Every number of neighbours that a node has is shared by at least k nodes.

    In a directed graph every pair is: how many arcs come in, and how many go out.

    >>> import sfumato as sf
    >>> str(sf.KDegreeAnonymity(5))
    '5-degree anonymity'
    """

    k: int
    option: ClassVar[Option | None] = Option(
        "k_degree",
        ("--k-degree",),
        "K",
        "k-degree anonymity of a graph: every degree is shared by at least k nodes.",
        _read_degree,
        several=False,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_integer("k", self.k))

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - nodes have no attributes here
        """Say it for whoever knows a number of friends, and for nobody else."""
        return (
            "Whoever knows how many neighbours a person has (with arcs: how many in, how many out) "
            f"is left with at least {self.k} nodes; nothing is said about those who know more."
        )

    def __str__(self) -> str:
        return f"{self.k}-degree anonymity"


def _read_node(text: str) -> Definition:
    number, _, query = text.partition(":")
    return NodeKAnonymity(whole_number("--node-k", number), query or DEGREE)


@dataclass(frozen=True)
class NodeKAnonymity(StructuralDefinition):
    """At least k nodes give the same answer to a structural query, whatever the answer is.

    `query` is "degree", "neighbour-degrees" (the degrees of the neighbours, in any order) or a
    function of a graph and a node, `graph.around(node)` being its neighbours.

    >>> import sfumato as sf
    >>> str(sf.NodeKAnonymity(5, query="neighbour-degrees"))
    'node 5-anonymity for the degrees of the neighbours'
    """

    k: int
    query: Query = DEGREE
    option: ClassVar[Option | None] = Option(
        "node_k",
        ("--node-k",),
        "K:QUERY",
        "Node k-anonymity of a graph: at least K nodes answer a query alike, 'degree' or "
        "'neighbour-degrees'.",
        _read_node,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_integer("k", self.k))
        if not callable(self.query) and self.query not in QUERIES:
            raise ParameterError(
                f"query must be 'degree', 'neighbour-degrees' or a function, not {self.query!r}."
            )

    @property
    def knowledge(self) -> str | Callable[..., Any]:
        """Return the query."""
        return self.query

    def to_json(self) -> Entry:
        """Return name and parameters; a query of your own is written in words."""
        if callable(self.query):
            return {"definition": home_of(type(self)), "text": str(self)}
        return super().to_json()

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - nodes have no attributes here
        """Say it for whoever knows the answer."""
        return f"Whoever knows {self._words} of a person is left with at least {self.k} nodes."

    @property
    def _words(self) -> str:
        if callable(self.query):
            return f"the answer to {getattr(self.query, '__name__', 'a query')}"
        return {DEGREE: "the degree", NEIGHBOUR_DEGREES: "the degrees of the neighbours"}[
            self.query
        ]

    def __str__(self) -> str:
        return f"node {self.k}-anonymity for {self._words}"
