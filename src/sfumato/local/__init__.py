"""Local differential privacy: protocols (client side), estimation (server side), collection.

Every person's own device perturbs her value before it leaves; nobody ever receives the truth.
The public names are listed here and loaded on first use. Usable alone: ``import sfumato.local``.
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Aggregate": "reports",
    "AttributeReports": "protocols.attributes",
    "Attributes": "protocols.attributes",
    "Collector": "collect.collector",
    "Comparison": "comparison",
    "Domain": "protocols.domain",
    "Duchi": "protocols.duchi",
    "Estimate": "estimate",
    "Field": "reports",
    "FrequencyProtocol": "protocols.protocol",
    "GRR": "protocols.grr",
    "Hadamard": "protocols.hadamard",
    "HeavyHitters": "protocols.heavy_hitters",
    "Hybrid": "protocols.hybrid",
    "MeanEstimate": "protocols.means",
    "MeanProtocol": "protocols.means",
    "Memo": "collect.memo",
    "NumericDistribution": "protocols.square_wave",
    "OLH": "protocols.olh",
    "OUE": "protocols.unary",
    "Piecewise": "protocols.piecewise",
    "ProjectiveGeometry": "protocols.projective",
    "Protocol": "protocols.protocol",
    "RAPPOR": "protocols.rappor",
    "Receipt": "collect.collector",
    "Reports": "reports",
    "SUE": "protocols.unary",
    "Shuffled": "shuffle",
    "SquareWave": "protocols.square_wave",
    "SubsetSelection": "protocols.subset",
    "Support": "protocols.protocol",
    "Survey": "collect.survey",
    "Warner": "protocols.warner",
    "best": "comparison",
    "read_survey": "collect.survey_files",
    "shuffle_epsilon": "shuffle",
    "well_formed": "reports",
    "write_estimate": "collect.estimate_page",
    "write_page": "collect.survey_page",
    "write_survey": "collect.survey_files",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

__getattr__, __dir__ = lazy_names(__name__, _HOME)
