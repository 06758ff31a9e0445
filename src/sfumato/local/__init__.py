"""Local differential privacy: protocols (client side), estimation (server side), collection.

Every person's own device perturbs her value before it leaves; nobody ever receives the truth.
The public names are listed here and loaded on first use. Usable alone: ``import sfumato.local``.
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Aggregate": "reports",
    "AttributeReports": "attributes",
    "Attributes": "attributes",
    "Collector": "collector",
    "Comparison": "comparison",
    "Domain": "domain",
    "Duchi": "duchi",
    "Estimate": "estimate",
    "Field": "reports",
    "FrequencyProtocol": "protocol",
    "GRR": "grr",
    "Hadamard": "hadamard",
    "HeavyHitters": "heavy_hitters",
    "Hybrid": "hybrid",
    "MeanEstimate": "means",
    "MeanProtocol": "means",
    "Memo": "memo",
    "NumericDistribution": "square_wave",
    "OLH": "olh",
    "OUE": "unary",
    "Piecewise": "piecewise",
    "ProjectiveGeometry": "projective",
    "Protocol": "protocol",
    "RAPPOR": "rappor",
    "Receipt": "collector",
    "Reports": "reports",
    "SUE": "unary",
    "Shuffled": "shuffle",
    "SquareWave": "square_wave",
    "SubsetSelection": "subset",
    "Support": "protocol",
    "Survey": "survey",
    "Warner": "warner",
    "best": "comparison",
    "read_survey": "survey_files",
    "shuffle_epsilon": "shuffle",
    "well_formed": "reports",
    "write_estimate": "estimate_page",
    "write_page": "survey_page",
    "write_survey": "survey_files",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

__getattr__, __dir__ = lazy_names(__name__, _HOME)
