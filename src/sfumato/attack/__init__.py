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
    "Condition": "tracker",
    "Finding": "finding",
    "Linkage": "linking",
    "Outcome": "finding",
    "Reconstruction": "dinur_nissim",
    "attribute_from_answers": "answers",
    "attribute_inference": "inference",
    "background_knowledge": "background",
    "composition": "two_releases",
    "de_finetti": "definetti",
    "differencing": "tracker",
    "homogeneity": "homogeneous",
    "linkage": "linking",
    "membership": "presence",
    "membership_from_answers": "answers",
    "minimality": "minimal",
    "probabilistic_inference": "probabilistic",
    "reconstruct": "dinur_nissim",
    "reconstruction": "dinur_nissim",
    "reconstruction_curves": "dinur_nissim",
    "similarity": "similar",
    "skewness": "skewed",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above

__getattr__, __dir__ = lazy_names(__name__, _HOME)
