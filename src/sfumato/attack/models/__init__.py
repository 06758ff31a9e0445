"""Attacks on models: evasion, poisoning, membership, and what privacy changes about them.

An attack here holds what the adversary holds: a fitted model (weights, gradients, thresholds, or
nothing but its answers), rows of the same kind, or a say in some of the training rows.
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Evasion": "evasion",
    "Features": "features",
    "Membership": "guesses",
    "Network": "shadows",
    "Poison": "poisoning",
    "PrivacyTable": "privacy_table",
    "compare_privacy": "privacy_table",
    "draw_evasion": "pictures",
    "evade": "evasion",
    "flip_labels": "poisoning",
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

__getattr__, __dir__ = lazy_names(__name__, _HOME)
