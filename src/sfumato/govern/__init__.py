"""The ledger and the owner's rules: who asked what, for which purpose, and what is left.

The public names are listed here and loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.govern.ledger.chain import Entry as Entry
    from sfumato.govern.ledger.charges import Charge as Charge
    from sfumato.govern.ledger.charges import Receipt as Receipt
    from sfumato.govern.ledger.integrity import LedgerVerification as LedgerVerification
    from sfumato.govern.ledger.integrity import Verification as Verification
    from sfumato.govern.ledger.ledger import Ledger as Ledger
    from sfumato.govern.ledger.registrations import Registration as Registration
    from sfumato.govern.ledger.remainder import Remaining as Remaining
    from sfumato.govern.limits import Limits as Limits
    from sfumato.govern.participation import SubjectAnswer as SubjectAnswer
    from sfumato.govern.participation import correct_subject as correct_subject
    from sfumato.govern.participation import find_subject as find_subject
    from sfumato.govern.participation import forget_subject as forget_subject
    from sfumato.govern.places import default_place as default_place
    from sfumato.govern.policies import EqualShares as EqualShares
    from sfumato.govern.policies import Fixed as Fixed
    from sfumato.govern.policies import Free as Free
    from sfumato.govern.policies import Geometric as Geometric
    from sfumato.govern.policies import Policy as Policy
    from sfumato.govern.policies import SpendingPolicy as SpendingPolicy
    from sfumato.govern.spending import Plan as Plan
    from sfumato.govern.spending import Purchase as Purchase
    from sfumato.govern.spending import Spending as Spending

_HOME = {
    "Charge": "ledger.charges",
    "Entry": "ledger.chain",
    "EqualShares": "policies",
    "Fixed": "policies",
    "Free": "policies",
    "Geometric": "policies",
    "Ledger": "ledger.ledger",
    "LedgerVerification": "ledger.integrity",
    "Limits": "limits",
    "Plan": "spending",
    "Policy": "policies",
    "Purchase": "spending",
    "Receipt": "ledger.charges",
    "Registration": "ledger.registrations",
    "Remaining": "ledger.remainder",
    "Spending": "spending",
    "SpendingPolicy": "policies",
    "SubjectAnswer": "participation",
    "Verification": "ledger.integrity",
    "correct_subject": "participation",
    "default_place": "places",
    "find_subject": "participation",
    "forget_subject": "participation",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)
