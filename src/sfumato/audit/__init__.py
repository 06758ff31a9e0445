"""Checks that trust nobody: releases from their files alone, functions from their outputs alone.

Audit knows releases and functions, never the algorithm behind them. The names are loaded on
first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.attack.prechecks import Precheck as Precheck
    from sfumato.attack.prechecks import precheck as precheck
    from sfumato.audit.claims.check import check as check
    from sfumato.audit.claims.from_outputs import epsilon_lower_bound as epsilon_lower_bound
    from sfumato.audit.claims.verdict import Verdict as Verdict
    from sfumato.audit.claims.verdict import Witness as Witness
    from sfumato.audit.minimal_uniques import SpecialUniques as SpecialUniques
    from sfumato.audit.minimal_uniques import special_uniques as special_uniques
    from sfumato.audit.one_run import TrainingVerdict as TrainingVerdict
    from sfumato.audit.one_run import training as training
    from sfumato.audit.overlap import Overlap as Overlap
    from sfumato.audit.record_linkage import Linkage as Linkage
    from sfumato.audit.record_linkage import interval_risk as interval_risk
    from sfumato.audit.record_linkage import linkage_risk as linkage_risk
    from sfumato.audit.risk import Risk as Risk
    from sfumato.audit.risk import reidentification_risk as reidentification_risk
    from sfumato.audit.uniqueness import population_uniques as population_uniques
    from sfumato.audit.verification.verify import Verification as Verification
    from sfumato.audit.weighted_records import IndividualRisk as IndividualRisk
    from sfumato.audit.weighted_records import individual_risk as individual_risk

_HOME = {
    "IndividualRisk": "weighted_records",
    "Linkage": "record_linkage",
    "Overlap": "overlap",
    "Precheck": "sfumato.attack.prechecks",
    "Risk": "risk",
    "SpecialUniques": "minimal_uniques",
    "TrainingVerdict": "one_run",
    "Verdict": "claims.verdict",
    "Verification": "verification.verify",
    "Witness": "claims.verdict",
    "check": "claims.check",
    "epsilon_lower_bound": "claims.from_outputs",
    "individual_risk": "weighted_records",
    "interval_risk": "record_linkage",
    "linkage_risk": "record_linkage",
    "population_uniques": "uniqueness",
    "precheck": "sfumato.attack.prechecks",
    "reidentification_risk": "risk",
    "special_uniques": "minimal_uniques",
    "training": "one_run",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)
