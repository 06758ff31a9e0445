"""The first question about a dataset, which registers it: what cannot be asked registers nothing.

Contract: a question that cannot be read, answered, priced or afforded is refused while the ledger
still keeps everything in memory; after that unit, budget and rules are registered, for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.terminal import note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.ask.session.session import Session


def register_for(
    session: Session, question: Any, price: Mapping[str, Any], facts: Mapping[str, Any]
) -> None:
    """Refuse a question that would be refused, and register the dataset if it is new."""
    from sfumato.ask.session.pilot import NeedsPilot  # noqa: PLC0415 - heavy
    from sfumato.govern.ledger.tentative import TentativeLedger  # noqa: PLC0415 - the same

    ledger = session.ledger
    if not isinstance(ledger, TentativeLedger) or not ledger.pending:
        return
    try:
        found = session.estimate(question, **price, **facts)
    except NeedsPilot:
        pass  # its price is found by a question that is paid for
    else:
        desk = session.desk
        desk.charged(  # to memory, to be refused if it does not fit
            desk.now(),
            lambda _: (None, {"cost": found.cost, "guarantee": str(found.guarantee)}),
            blocks=desk.opened.check_blocks(facts.get("blocks")),
            question="the first",
        )
    is_new = ledger.is_new
    ledger.keep()
    if is_new:
        note(f"the budget of {session.dataset} is kept in {ledger.place}, for all who ask")
