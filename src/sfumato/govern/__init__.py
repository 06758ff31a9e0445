"""The ledger and the owner's rules: who asked what, for which purpose, and what is left.

The public names are listed here and loaded on first use.
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Charge": "ledger.charges",
    "Entry": "ledger.chain",
    "EqualShares": "policies",
    "Fixed": "policies",
    "Free": "policies",
    "Geometric": "policies",
    "Ledger": "ledger.ledger",
    "Limits": "limits",
    "Plan": "spending",
    "Policy": "policies",
    "Purchase": "spending",
    "Receipt": "ledger.charges",
    "Registration": "ledger.registrations",
    "Remaining": "ledger.remainder",
    "Spending": "spending",
    "Verification": "ledger.integrity",
    "default_place": "places",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

__getattr__, __dir__ = lazy_names(__name__, _HOME)
