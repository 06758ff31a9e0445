"""Attacks: what an adversary learns from a release or from answers, one module per adversary.

An attack sees what the adversary would see: a released file, its schema and background
knowledge, or a query function that answers. It never sees the algorithm. It returns an
`Outcome` with `Finding`s; sensitive values stay hidden unless somebody asks to reveal them.
The names are loaded on first use; modules have other names than the functions in them, so that
importing one never hides the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.attack import models as models
    from sfumato.attack.attack import Attack as Attack
    from sfumato.attack.attack import Knowledge as Knowledge
    from sfumato.attack.attack import NamedAttack as NamedAttack
    from sfumato.attack.finding import Finding as Finding
    from sfumato.attack.finding import Outcome as Outcome
    from sfumato.attack.graphs.collusion import colluding_neighbours as colluding_neighbours
    from sfumato.attack.graphs.edges import edge_disclosure as edge_disclosure
    from sfumato.attack.graphs.inference import edge_inference as edge_inference
    from sfumato.attack.graphs.planting import planted_subgraph as planted_subgraph
    from sfumato.attack.graphs.propagation import seed_propagation as seed_propagation
    from sfumato.attack.graphs.structure import structural_knowledge as structural_knowledge
    from sfumato.attack.places.cloaks import centre_of_box as centre_of_box
    from sfumato.attack.places.cloaks import intersection as intersection
    from sfumato.attack.places.cloaks import who_asked as who_asked
    from sfumato.attack.places.mixing import Habits as Habits
    from sfumato.attack.places.mixing import exit_entropies as exit_entropies
    from sfumato.attack.places.mixing import match_exits as match_exits
    from sfumato.attack.places.mixing import try_zones as try_zones
    from sfumato.attack.places.pieces import rejoin_pieces as rejoin_pieces
    from sfumato.attack.places.reappearance import match_reappearances as match_reappearances
    from sfumato.attack.places.unicity import Unicity as Unicity
    from sfumato.attack.places.unicity import unicity as unicity
    from sfumato.attack.prechecks import Precheck as Precheck
    from sfumato.attack.prechecks import precheck as precheck
    from sfumato.attack.queries.answers import attribute_from_answers as attribute_from_answers
    from sfumato.attack.queries.answers import membership_from_answers as membership_from_answers
    from sfumato.attack.queries.differencing import Condition as Condition
    from sfumato.attack.queries.differencing import differencing as differencing
    from sfumato.attack.queries.reconstruction import Reconstruction as Reconstruction
    from sfumato.attack.queries.reconstruction import reconstruct as reconstruct
    from sfumato.attack.queries.reconstruction import reconstruction as reconstruction
    from sfumato.attack.queries.reconstruction import reconstruction_curves as reconstruction_curves
    from sfumato.attack.releases.attribute_inference import (
        attribute_inference as attribute_inference,
    )
    from sfumato.attack.releases.background_knowledge import (
        background_knowledge as background_knowledge,
    )
    from sfumato.attack.releases.composition import composition as composition
    from sfumato.attack.releases.de_finetti import de_finetti as de_finetti
    from sfumato.attack.releases.homogeneity import homogeneity as homogeneity
    from sfumato.attack.releases.known_items import item_inference as item_inference
    from sfumato.attack.releases.known_items import known_absences as known_absences
    from sfumato.attack.releases.known_items import known_items as known_items
    from sfumato.attack.releases.linkage import Linkage as Linkage
    from sfumato.attack.releases.linkage import linkage as linkage
    from sfumato.attack.releases.membership import membership as membership
    from sfumato.attack.releases.minimality import minimality as minimality
    from sfumato.attack.releases.probabilistic_inference import (
        probabilistic_inference as probabilistic_inference,
    )
    from sfumato.attack.releases.similarity import similarity as similarity
    from sfumato.attack.releases.skewness import skewness as skewness
    from sfumato.attack.releases.synthetic import synthetic_inference as synthetic_inference
    from sfumato.attack.releases.synthetic import synthetic_membership as synthetic_membership
    from sfumato.attack.releases.synthetic import synthetic_singling_out as synthetic_singling_out

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
    "match_reappearances": "places.reappearance",
    "rejoin_pieces": "places.pieces",
    "try_zones": "places.mixing",
    "who_asked": "places.cloaks",
    "unicity": "places.unicity",
}

__all__ = [*sorted(_HOME), "models"]  # noqa: PLE0604 - names of the table above

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME, ("models",))
