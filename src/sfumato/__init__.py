"""Sfumato: release data about people without exposing any of them.

The public names are listed here and loaded on first use, so that ``import sfumato``
costs milliseconds whatever the parts behind it need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what type checkers and notebooks see; a test holds it against the table below
    from sfumato import ask as ask
    from sfumato import attack as attack
    from sfumato import audit as audit
    from sfumato import dp as dp
    from sfumato import errors as errors
    from sfumato import examples as examples
    from sfumato import govern as govern
    from sfumato import local as local
    from sfumato import places as places
    from sfumato import testing as testing
    from sfumato.anonymize.definitions.anonymity import KAnonymity as KAnonymity
    from sfumato.anonymize.definitions.branches import KmnAnonymity as KmnAnonymity
    from sfumato.anonymize.definitions.branches import VertexDiversity as VertexDiversity
    from sfumato.anonymize.definitions.closeness import TCloseness as TCloseness
    from sfumato.anonymize.definitions.definition import Definition as Definition
    from sfumato.anonymize.definitions.diversity import DistinctLDiversity as DistinctLDiversity
    from sfumato.anonymize.definitions.diversity import EntropyLDiversity as EntropyLDiversity
    from sfumato.anonymize.definitions.diversity import RecursiveLDiversity as RecursiveLDiversity
    from sfumato.anonymize.definitions.itemsets import Coherence as Coherence
    from sfumato.anonymize.definitions.itemsets import ItemConstraints as ItemConstraints
    from sfumato.anonymize.definitions.itemsets import ItemDiversity as ItemDiversity
    from sfumato.anonymize.definitions.itemsets import KmAnonymity as KmAnonymity
    from sfumato.anonymize.definitions.itemsets import RhoUncertainty as RhoUncertainty
    from sfumato.anonymize.definitions.likeness import BetaLikeness as BetaLikeness
    from sfumato.anonymize.definitions.likeness import DeltaDisclosure as DeltaDisclosure
    from sfumato.anonymize.definitions.nearness import CoLocalization as CoLocalization
    from sfumato.anonymize.definitions.presence import DeltaPresence as DeltaPresence
    from sfumato.anonymize.definitions.presence import KMap as KMap
    from sfumato.anonymize.definitions.risk import AverageRisk as AverageRisk
    from sfumato.anonymize.definitions.risk import UniqueShare as UniqueShare
    from sfumato.anonymize.definitions.structure import KDegreeAnonymity as KDegreeAnonymity
    from sfumato.anonymize.definitions.structure import NodeKAnonymity as NodeKAnonymity
    from sfumato.anonymize.loss.tables import loss as loss
    from sfumato.anonymize.loss.utility import model_loss as model_loss
    from sfumato.anonymize.loss.utility import query_error as query_error
    from sfumato.anonymize.run import anonymize as anonymize
    from sfumato.anonymize.tables.comparison import compare as compare
    from sfumato.anonymize.tables.perturb.operations import AddNoise as AddNoise
    from sfumato.anonymize.tables.perturb.operations import AddSynthetic as AddSynthetic
    from sfumato.anonymize.tables.perturb.operations import Microaggregate as Microaggregate
    from sfumato.anonymize.tables.perturb.operations import PostRandomize as PostRandomize
    from sfumato.anonymize.tables.perturb.operations import Shuffle as Shuffle
    from sfumato.anonymize.tables.perturb.operations import Swap as Swap
    from sfumato.anonymize.tables.perturb.operations import perturb as perturb
    from sfumato.anonymize.tables.policy import Policy as Policy
    from sfumato.ask.fluent.terms import col as col
    from sfumato.ask.session.session import Session as Session
    from sfumato.audit.overlap import overlap as overlap
    from sfumato.audit.verification.verify import verify as verify
    from sfumato.data.hierarchies.hierarchy import Hierarchy as Hierarchy
    from sfumato.data.schema import Schema as Schema
    from sfumato.data.tables.suggestions import inspect as inspect
    from sfumato.data.tables.table import Table as Table
    from sfumato.dp.guarantees import GDP as GDP
    from sfumato.dp.guarantees import RDP as RDP
    from sfumato.dp.guarantees import ZCDP as ZCDP
    from sfumato.dp.guarantees import ApproxDP as ApproxDP
    from sfumato.dp.guarantees import LocalDP as LocalDP
    from sfumato.dp.guarantees import PureDP as PureDP
    from sfumato.dp.neighbours import Unit as Unit
    from sfumato.errors import BudgetExceeded as BudgetExceeded
    from sfumato.errors import SfumatoError as SfumatoError
    from sfumato.govern.ledger.ledger import Ledger as Ledger
    from sfumato.govern.limits import Limits as Limits
    from sfumato.release import Release as Release
    from sfumato.service.client import connect as connect
    from sfumato.shape import Shape as Shape
    from sfumato.shape import read as read
    from sfumato.shape import register_shape as register_shape

__version__ = "0.1.0"

_HOME = {
    "AddNoise": "anonymize.tables.perturb.operations",
    "AddSynthetic": "anonymize.tables.perturb.operations",
    "ApproxDP": "dp.guarantees",
    "AverageRisk": "anonymize.definitions.risk",
    "BetaLikeness": "anonymize.definitions.likeness",
    "BudgetExceeded": "errors",
    "Coherence": "anonymize.definitions.itemsets",
    "col": "ask.fluent.terms",
    "compare": "anonymize.tables.comparison",
    "connect": "service.client",
    "Definition": "anonymize.definitions.definition",
    "DeltaDisclosure": "anonymize.definitions.likeness",
    "DeltaPresence": "anonymize.definitions.presence",
    "DistinctLDiversity": "anonymize.definitions.diversity",
    "EntropyLDiversity": "anonymize.definitions.diversity",
    "GDP": "dp.guarantees",
    "Hierarchy": "data.hierarchies.hierarchy",
    "inspect": "data.tables.suggestions",
    "KAnonymity": "anonymize.definitions.anonymity",
    "ItemConstraints": "anonymize.definitions.itemsets",
    "ItemDiversity": "anonymize.definitions.itemsets",
    "KmAnonymity": "anonymize.definitions.itemsets",
    "CoLocalization": "anonymize.definitions.nearness",
    "KmnAnonymity": "anonymize.definitions.branches",
    "KDegreeAnonymity": "anonymize.definitions.structure",
    "KMap": "anonymize.definitions.presence",
    "Ledger": "govern.ledger.ledger",
    "Limits": "govern.limits",
    "LocalDP": "dp.guarantees",
    "Microaggregate": "anonymize.tables.perturb.operations",
    "model_loss": "anonymize.loss.utility",
    "NodeKAnonymity": "anonymize.definitions.structure",
    "overlap": "audit.overlap",
    "perturb": "anonymize.tables.perturb.operations",
    "Policy": "anonymize.tables.policy",
    "PureDP": "dp.guarantees",
    "loss": "anonymize.loss.tables",
    "query_error": "anonymize.loss.utility",
    "RDP": "dp.guarantees",
    "read": "shape",
    "register_shape": "shape",
    "Shape": "shape",
    "RecursiveLDiversity": "anonymize.definitions.diversity",
    "Release": "release",
    "RhoUncertainty": "anonymize.definitions.itemsets",
    "Schema": "data.schema",
    "Session": "ask.session.session",
    "SfumatoError": "errors",
    "PostRandomize": "anonymize.tables.perturb.operations",
    "Shuffle": "anonymize.tables.perturb.operations",
    "Swap": "anonymize.tables.perturb.operations",
    "Table": "data.tables.table",
    "TCloseness": "anonymize.definitions.closeness",
    "UniqueShare": "anonymize.definitions.risk",
    "Unit": "dp.neighbours",
    "VertexDiversity": "anonymize.definitions.branches",
    "verify": "audit.verification.verify",
    "ZCDP": "dp.guarantees",
}
_ROOMS = (
    "anonymize",
    "ask",
    "attack",
    "audit",
    "dp",
    "errors",
    "examples",
    "govern",
    "local",
    "places",
    "testing",
)

__all__ = ["__version__", *sorted(_HOME), *_ROOMS]  # noqa: PLE0604 - all are strings

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME, _ROOMS)
