"""Local differential privacy: protocols (client side), estimation (server side), collection.

Every person's own device perturbs her value before it leaves; nobody ever receives the truth.
The public names are listed here and loaded on first use. Usable alone: ``import sfumato.local``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.local.collect.collector import Collector as Collector
    from sfumato.local.collect.collector import Intake as Intake
    from sfumato.local.collect.collector import Receipt as Receipt
    from sfumato.local.collect.estimate_page import write_estimate as write_estimate
    from sfumato.local.collect.memo import Memo as Memo
    from sfumato.local.collect.survey import Survey as Survey
    from sfumato.local.collect.survey_files import read_survey as read_survey
    from sfumato.local.collect.survey_files import write_survey as write_survey
    from sfumato.local.collect.survey_page import write_page as write_page
    from sfumato.local.comparison import Comparison as Comparison
    from sfumato.local.comparison import best as best
    from sfumato.local.estimate import Estimate as Estimate
    from sfumato.local.explanation import explain as explain
    from sfumato.local.protocols.attributes import AttributeReports as AttributeReports
    from sfumato.local.protocols.attributes import Attributes as Attributes
    from sfumato.local.protocols.domain import Domain as Domain
    from sfumato.local.protocols.duchi import Duchi as Duchi
    from sfumato.local.protocols.grr import GRR as GRR
    from sfumato.local.protocols.hadamard import Hadamard as Hadamard
    from sfumato.local.protocols.heavy_hitters import HeavyHitters as HeavyHitters
    from sfumato.local.protocols.hybrid import Hybrid as Hybrid
    from sfumato.local.protocols.means import MeanEstimate as MeanEstimate
    from sfumato.local.protocols.means import MeanProtocol as MeanProtocol
    from sfumato.local.protocols.olh import OLH as OLH
    from sfumato.local.protocols.piecewise import Piecewise as Piecewise
    from sfumato.local.protocols.projective import ProjectiveGeometry as ProjectiveGeometry
    from sfumato.local.protocols.protocol import FrequencyProtocol as FrequencyProtocol
    from sfumato.local.protocols.protocol import Protocol as Protocol
    from sfumato.local.protocols.protocol import Support as Support
    from sfumato.local.protocols.rappor import RAPPOR as RAPPOR
    from sfumato.local.protocols.square_wave import NumericDistribution as NumericDistribution
    from sfumato.local.protocols.square_wave import SquareWave as SquareWave
    from sfumato.local.protocols.subset import SubsetSelection as SubsetSelection
    from sfumato.local.protocols.unary import OUE as OUE
    from sfumato.local.protocols.unary import SUE as SUE
    from sfumato.local.protocols.warner import Warner as Warner
    from sfumato.local.reports import Aggregate as Aggregate
    from sfumato.local.reports import Field as Field
    from sfumato.local.reports import Reports as Reports
    from sfumato.local.reports import well_formed as well_formed
    from sfumato.local.shuffle import Shuffled as Shuffled
    from sfumato.local.shuffle import shuffle_epsilon as shuffle_epsilon

_HOME = {
    "Aggregate": "reports",
    "AttributeReports": "protocols.attributes",
    "Attributes": "protocols.attributes",
    "Collector": "collect.collector",
    "Comparison": "comparison",
    "Domain": "protocols.domain",
    "Duchi": "protocols.duchi",
    "Estimate": "estimate",
    "explain": "explanation",
    "Field": "reports",
    "FrequencyProtocol": "protocols.protocol",
    "GRR": "protocols.grr",
    "Hadamard": "protocols.hadamard",
    "HeavyHitters": "protocols.heavy_hitters",
    "Hybrid": "protocols.hybrid",
    "Intake": "collect.collector",
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

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)
