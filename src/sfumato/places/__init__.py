"""Places of people: cloaked requests, mix zones, and geo-indistinguishable reports.

    cloak, Cloaker               boxes that k users share: for everybody at once, and for a stream
    measure_dial, draw_dial      what waiting buys: delay, area, success and speed by k
    verify_cloaks, …_stream      the same, checked by code that shares nothing with them
    PlanarLaplace, remap         a place with exact noise on an integer grid; the best guess from it
    OptimalMechanism             the least loss that geo-indistinguishability allows, for a prior
    TraceReporter                budgets for the places of a person over time
    MixZones, mix, draw_zones    where pseudonyms are exchanged among k people
    write_zone_report            a page about that: map, evidence, attacks

This room holds no code: it gathers what others hold, and loads a name on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.anonymize.places.cloaker import Cloaker as Cloaker
    from sfumato.anonymize.places.dial import measure_dial as measure_dial
    from sfumato.anonymize.places.mix_zones import MixZones as MixZones
    from sfumato.anonymize.places.mix_zones import keep_valid as keep_valid
    from sfumato.anonymize.places.mix_zones import mix as mix
    from sfumato.anonymize.places.snapshot import Cloaks as Cloaks
    from sfumato.anonymize.places.snapshot import cloak as cloak
    from sfumato.audit.verification.cloaks import CloaksVerification as CloaksVerification
    from sfumato.audit.verification.cloaks import verify_cloaks as verify_cloaks
    from sfumato.audit.verification.mixing import verify_mixing as verify_mixing
    from sfumato.audit.verification.request_stream import verify_stream as verify_stream
    from sfumato.dp.places.guarantee import GeoIndistinguishability as GeoIndistinguishability
    from sfumato.dp.places.optimal import OptimalMechanism as OptimalMechanism
    from sfumato.dp.places.planar_laplace import PlanarLaplace as PlanarLaplace
    from sfumato.dp.places.remap import remap as remap
    from sfumato.govern.traces import TraceReporter as TraceReporter
    from sfumato.report.places.dial import draw_dial as draw_dial
    from sfumato.report.places.zones import draw_zones as draw_zones
    from sfumato.report.places.zones import write_zone_report as write_zone_report

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
    "draw_dial": "sfumato.report.places.dial",
    "draw_zones": "sfumato.report.places.zones",
    "keep_valid": "sfumato.anonymize.places.mix_zones",
    "measure_dial": "sfumato.anonymize.places.dial",
    "mix": "sfumato.anonymize.places.mix_zones",
    "remap": "sfumato.dp.places.remap",
    "verify_cloaks": "sfumato.audit.verification.cloaks",
    "verify_mixing": "sfumato.audit.verification.mixing",
    "verify_stream": "sfumato.audit.verification.request_stream",
    "write_zone_report": "sfumato.report.places.zones",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)
