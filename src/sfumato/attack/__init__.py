"""Attacks: what an adversary learns from a release or from answers, one module per adversary.

An attack sees what the adversary would see: a released file, its schema and background
knowledge, or a query function that answers. It never sees the algorithm. It returns an
`Outcome` with `Finding`s; sensitive values stay hidden unless somebody asks to reveal them.
The names are loaded on first use; modules have other names than the functions in them, so that
importing one never hides the other.
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Attack": "attack",
    "Condition": "queries.differencing",
    "Finding": "finding",
    "Knowledge": "attack",
    "Linkage": "releases.linkage",
    "NamedAttack": "attack",
    "Outcome": "finding",
    "Precheck": "prechecks",
    "Reconstruction": "queries.reconstruction",
    "attribute_from_answers": "queries.answers",
    "attribute_inference": "releases.attribute_inference",
    "background_knowledge": "releases.background_knowledge",
    "colluding_neighbours": "graphs.collusion",
    "composition": "releases.composition",
    "de_finetti": "releases.de_finetti",
    "differencing": "queries.differencing",
    "edge_disclosure": "graphs.edges",
    "edge_inference": "graphs.inference",
    "homogeneity": "releases.homogeneity",
    "item_inference": "releases.known_items",
    "known_absences": "releases.known_items",
    "known_items": "releases.known_items",
    "linkage": "releases.linkage",
    "membership": "releases.membership",
    "membership_from_answers": "queries.answers",
    "minimality": "releases.minimality",
    "planted_subgraph": "graphs.planting",
    "precheck": "prechecks",
    "probabilistic_inference": "releases.probabilistic_inference",
    "reconstruct": "queries.reconstruction",
    "reconstruction": "queries.reconstruction",
    "reconstruction_curves": "queries.reconstruction",
    "seed_propagation": "graphs.propagation",
    "similarity": "releases.similarity",
    "skewness": "releases.skewness",
    "synthetic_inference": "releases.synthetic",
    "synthetic_membership": "releases.synthetic",
    "synthetic_singling_out": "releases.synthetic",
    "structural_knowledge": "graphs.structure",
    "Unicity": "places.unicity",
    "centre_of_box": "places.cloaks",
    "Habits": "places.mixing",
    "exit_entropies": "places.mixing",
    "intersection": "places.cloaks",
    "match_exits": "places.mixing",
    "who_asked": "places.cloaks",
    "unicity": "places.unicity",
}

__all__ = [*sorted(_HOME), "models"]  # noqa: PLE0604 - names of the table above

__getattr__, __dir__ = lazy_names(__name__, _HOME, ("models",))
