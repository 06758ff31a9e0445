"""Places of people: cloaked requests, mix zones, and geo-indistinguishable reports.

    cloak, Cloaker               boxes that k users share: for everybody at once, and for a stream
    measure_dial, draw_dial      what waiting buys: delay, area, success and speed by k
    verify_cloaks, …_stream      the same, checked by code that shares nothing with them
    PlanarLaplace, remap         a place with exact noise on an integer grid; the best guess from it
    OptimalMechanism             the least loss that geo-indistinguishability allows, for a prior
    TraceReporter                budgets for the places of a person over time
    MixZones, mix, draw_zones    where pseudonyms are exchanged among k people

This room holds no code: it gathers what others hold, and loads a name on first use.
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Cloaker": "sfumato.anonymize.places.cloaker",
    "Cloaks": "sfumato.anonymize.places.snapshot",
    "CloaksVerification": "sfumato.audit.verification.cloaks",
    "GeoIndistinguishability": "sfumato.dp.places.guarantee",
    "MixZones": "sfumato.anonymize.places.mix_zones",
    "OptimalMechanism": "sfumato.dp.places.optimal",
    "PlanarLaplace": "sfumato.dp.places.planar_laplace",
    "TraceReporter": "sfumato.govern.traces",
    "cloak": "sfumato.anonymize.places.snapshot",
    "draw_dial": "sfumato.report.trajectories.dial",
    "draw_zones": "sfumato.report.trajectories.zones",
    "keep_valid": "sfumato.anonymize.places.mix_zones",
    "measure_dial": "sfumato.anonymize.places.dial",
    "mix": "sfumato.anonymize.places.mix_zones",
    "remap": "sfumato.dp.places.remap",
    "verify_cloaks": "sfumato.audit.verification.cloaks",
    "verify_mixing": "sfumato.audit.verification.mixing",
    "verify_stream": "sfumato.audit.verification.cloaks",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above

__getattr__, __dir__ = lazy_names(__name__, _HOME)
