"""One job, in a process of its own: ``python -m sfumato.service.job ID``.

Contract: the job was claimed by a runner. What went wrong is kept as one of our sentences or as a
code; the text of a stranger's error may hold a cell and is kept nowhere.
"""

from __future__ import annotations

import os
import resource
import sys
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.office.jobs import end_job, find_job, tell_progress
from sfumato.govern.office.office import Office
from sfumato.requests.releases import KINDS
from sfumato.service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

_FOUND = {
    **dict.fromkeys(KINDS, "sfumato.service.work.releasing:release"),
    "lookup": "sfumato.service.work.subjects:answer_request",
    "change": "sfumato.service.work.subjects:answer_request",
}


class Work:
    """What a job needs: settings, office, ledger, its row, and a way to tell how far it is."""

    def __init__(self, settings: Settings, id_: str) -> None:
        self.settings = settings
        self.office = Office(settings.place)
        self.ledger = Ledger(settings.place)
        found = find_job(self.office, id_)
        if found is None:
            raise SystemExit(2)
        self.job: dict[str, Any] = found
        self.id = id_

    def tell(self, progress: str) -> None:
        """Tell how far it is; end here if it was cancelled."""
        if not tell_progress(self.office, self.id, progress[:500]):
            end_job(self.office, self.id, "cancelled")
            raise SystemExit(0)


def _handler(kind: str) -> Callable[[Work], Any]:
    from importlib import import_module  # noqa: PLC0415 - one of several

    module, _, name = _FOUND[kind].partition(":")
    found: Callable[[Work], Any] = getattr(import_module(module), name)
    return found


def main(id_: str) -> None:
    """Do a job, and write down what became of it."""
    settings = Settings.from_environment()
    most = settings.job_memory
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    work = Work(settings, id_)
    try:
        result = _handler(work.job["kind"])(work)
    except SfumatoError as error:
        told = {"detail": settings.told(str(error))}
        end_job(work.office, id_, "failed", result=told, code="refused")
    except MemoryError:
        end_job(work.office, id_, "failed", code="out-of-memory")
    except Exception:  # its text may hold a cell
        if os.environ.get("SFUMATO_DEBUG"):
            raise
        end_job(work.office, id_, "failed", code="unforeseen")
    else:
        end_job(work.office, id_, "done", result=result)


if __name__ == "__main__":
    main(sys.argv[1])
