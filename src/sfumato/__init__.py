"""Sfumato: release data about people without exposing any of them.

The public names are listed here and loaded on first use, so that ``import sfumato``
costs milliseconds whatever the parts behind it need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato import ask as ask
    from sfumato import attack as attack
    from sfumato import audit as audit
    from sfumato import dp as dp
    from sfumato import errors as errors
    from sfumato import examples as examples
    from sfumato import govern as govern
    from sfumato import local as local
    from sfumato import testing as testing
    from sfumato.anonymize.closeness import TCloseness as TCloseness
    from sfumato.anonymize.definitions import Definition as Definition
    from sfumato.anonymize.definitions import KAnonymity as KAnonymity
    from sfumato.anonymize.diversity import DistinctLDiversity as DistinctLDiversity
    from sfumato.anonymize.diversity import EntropyLDiversity as EntropyLDiversity
    from sfumato.anonymize.diversity import RecursiveLDiversity as RecursiveLDiversity
    from sfumato.anonymize.likeness import BetaLikeness as BetaLikeness
    from sfumato.anonymize.likeness import DeltaDisclosure as DeltaDisclosure
    from sfumato.anonymize.perturbation import AddNoise as AddNoise
    from sfumato.anonymize.perturbation import AddSynthetic as AddSynthetic
    from sfumato.anonymize.perturbation import Microaggregate as Microaggregate
    from sfumato.anonymize.perturbation import Swap as Swap
    from sfumato.anonymize.perturbation import perturb as perturb
    from sfumato.anonymize.policy import Policy as Policy
    from sfumato.anonymize.presence import DeltaPresence as DeltaPresence
    from sfumato.anonymize.presence import KMap as KMap
    from sfumato.anonymize.run import anonymize as anonymize
    from sfumato.anonymize.utility import model_loss as model_loss
    from sfumato.anonymize.utility import query_error as query_error
    from sfumato.ask.fluent_terms import col as col
    from sfumato.ask.session import Session as Session
    from sfumato.audit.overlap import overlap as overlap
    from sfumato.audit.verify import verify as verify
    from sfumato.data.hierarchy import Hierarchy as Hierarchy
    from sfumato.data.reading import read as read
    from sfumato.data.schema import Schema as Schema
    from sfumato.data.suggest import inspect as inspect
    from sfumato.data.table import Table as Table
    from sfumato.dp.guarantees import GDP as GDP
    from sfumato.dp.guarantees import RDP as RDP
    from sfumato.dp.guarantees import ZCDP as ZCDP
    from sfumato.dp.guarantees import ApproxDP as ApproxDP
    from sfumato.dp.guarantees import LocalDP as LocalDP
    from sfumato.dp.guarantees import PureDP as PureDP
    from sfumato.dp.neighbours import Unit as Unit
    from sfumato.errors import BudgetExceeded as BudgetExceeded
    from sfumato.errors import SfumatoError as SfumatoError
    from sfumato.govern.ledger import Ledger as Ledger
    from sfumato.govern.limits import Limits as Limits
    from sfumato.release import Release as Release

__version__ = "0.1.0"

_HOME = {
    "AddNoise": "anonymize.perturbation",
    "AddSynthetic": "anonymize.perturbation",
    "ApproxDP": "dp.guarantees",
    "BetaLikeness": "anonymize.likeness",
    "BudgetExceeded": "errors",
    "col": "ask.fluent_terms",
    "Definition": "anonymize.definitions",
    "DeltaDisclosure": "anonymize.likeness",
    "DeltaPresence": "anonymize.presence",
    "DistinctLDiversity": "anonymize.diversity",
    "EntropyLDiversity": "anonymize.diversity",
    "GDP": "dp.guarantees",
    "Hierarchy": "data.hierarchy",
    "inspect": "data.suggest",
    "KAnonymity": "anonymize.definitions",
    "KMap": "anonymize.presence",
    "Ledger": "govern.ledger",
    "Limits": "govern.limits",
    "LocalDP": "dp.guarantees",
    "Microaggregate": "anonymize.perturbation",
    "model_loss": "anonymize.utility",
    "overlap": "audit.overlap",
    "perturb": "anonymize.perturbation",
    "Policy": "anonymize.policy",
    "PureDP": "dp.guarantees",
    "query_error": "anonymize.utility",
    "RDP": "dp.guarantees",
    "read": "data.reading",
    "RecursiveLDiversity": "anonymize.diversity",
    "Release": "release",
    "Schema": "data.schema",
    "Session": "ask.session",
    "SfumatoError": "errors",
    "Swap": "anonymize.perturbation",
    "Table": "data.table",
    "TCloseness": "anonymize.closeness",
    "Unit": "dp.neighbours",
    "verify": "audit.verify",
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
    "testing",
)

__all__ = ["__version__", *sorted(_HOME), *_ROOMS]  # noqa: PLE0604 - all are strings

__getattr__, __dir__ = lazy_names(__name__, _HOME, _ROOMS)
