"""Attacks on models: evasion, poisoning, membership, attributes, and what privacy changes of it.

An attack here holds what the adversary holds: a fitted model (weights, gradients, thresholds, or
nothing but its answers), rows of the same kind, or a say in some of the training rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.attack.models.attributes import infer_attribute as infer_attribute
    from sfumato.attack.models.defence import vouch as vouch
    from sfumato.attack.models.evasion import Evasion as Evasion
    from sfumato.attack.models.evasion import evade as evade
    from sfumato.attack.models.evasion import transfer as transfer
    from sfumato.attack.models.features import Features as Features
    from sfumato.attack.models.guesses import Membership as Membership
    from sfumato.attack.models.guesses import judge_scores as judge_scores
    from sfumato.attack.models.guesses import membership as membership
    from sfumato.attack.models.intrusion import judge_detector as judge_detector
    from sfumato.attack.models.intrusion import read_connections as read_connections
    from sfumato.attack.models.pictures import draw_evasion as draw_evasion
    from sfumato.attack.models.pictures import draw_privacy as draw_privacy
    from sfumato.attack.models.poisoning import Poison as Poison
    from sfumato.attack.models.poisoning import flip_labels as flip_labels
    from sfumato.attack.models.poisoning import poison as poison
    from sfumato.attack.models.privacy_table import PrivacyTable as PrivacyTable
    from sfumato.attack.models.privacy_table import compare_privacy as compare_privacy
    from sfumato.attack.models.shadows import Network as Network
    from sfumato.attack.models.shadows import shadow_membership as shadow_membership
    from sfumato.attack.models.targets import target_of as target_of

_HOME = {
    "Evasion": "evasion",
    "Features": "features",
    "Membership": "guesses",
    "Network": "shadows",
    "Poison": "poisoning",
    "PrivacyTable": "privacy_table",
    "compare_privacy": "privacy_table",
    "draw_evasion": "pictures",
    "draw_privacy": "pictures",
    "evade": "evasion",
    "flip_labels": "poisoning",
    "infer_attribute": "attributes",
    "judge_detector": "intrusion",
    "judge_scores": "guesses",
    "membership": "guesses",
    "poison": "poisoning",
    "read_connections": "intrusion",
    "shadow_membership": "shadows",
    "target_of": "targets",
    "transfer": "evasion",
    "vouch": "defence",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)
