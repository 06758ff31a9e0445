"""What happens to an error once a question was charged: the charge stays, and nothing is quoted.

Contract: whatever goes wrong in the work that was paid for, the ledger gets one of three codes and
the analyst one sentence. The sentence is raised outside the handler, so that no error of an
engine, which may quote a cell, hangs on to it as its context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.govern.ledger.charges import Receipt
    from sfumato.govern.ledger.ledger import Ledger

T = TypeVar("T")


def paid(ledger: Ledger, receipt: Receipt, work: Callable[[], T]) -> T:
    """Do what was paid for; an error does not give the payment back."""
    try:
        return work()
    except (KeyboardInterrupt, SystemExit):
        ledger.fail(receipt, "interrupted")
        raise
    except AssertionError:
        failed = "internal"
    except Exception:  # noqa: BLE001 - whatever it is, its message may quote a cell
        failed = "engine-failed"
    ledger.fail(receipt, failed)
    raise DataError(
        "The engine could not answer the question; its cost stays charged, because an error must "
        "not be a free question."
    )
