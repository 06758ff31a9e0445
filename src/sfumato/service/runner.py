"""The runner: takes jobs one after the other, each in a process of its own.

Contract: a job that is cancelled, or takes longer than it may, is ended with its process; a job
whose process ends without a word has failed. So nothing that a job does can stop the server, and
its memory is limited by the operating system. Signs of life are given as long as the process lives.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any

from sfumato.govern.office.jobs import claim_job, end_job, find_job, tell_progress

if TYPE_CHECKING:
    from sfumato.service.house import House

_PAUSE = 0.3
_LOOK = 0.5


async def run_jobs(house: House) -> None:
    """Take jobs for as long as the worker lives."""
    while True:
        try:
            job = await house.pulse(claim_job, house.office, house.worker)
        except Exception:  # noqa: BLE001 - a busy database is tried again
            job = None
        if job is None:
            await asyncio.sleep(_PAUSE)
            continue
        await _run(house, job)


async def _run(house: House, job: dict[str, Any]) -> None:
    house.settings.to_environment()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sfumato.service.job", job["id"],
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    end = time.monotonic() + house.settings.job_seconds
    try:
        while process.returncode is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _LOOK)
                break
            if time.monotonic() > end:
                await _stop(process)
                await house.pulse(end_job, house.office, job["id"], "failed", code="too-long")
                return
            if not await _goes_on(house, job["id"]):
                await _stop(process)
                await house.pulse(end_job, house.office, job["id"], "cancelled")
                return
    except asyncio.CancelledError:
        await _stop(process)
        raise
    await house.pulse(end_job, house.office, job["id"], "failed", code="crashed")  # unless ended


async def _goes_on(house: House, id_: str) -> bool:
    """Give a sign of life with the progress as it is; tell whether the job is to go on."""
    found = await house.pulse(find_job, house.office, id_)
    if found is None or found["state"] == "cancelling":
        return False
    if found["state"] == "running":
        await house.pulse(tell_progress, house.office, id_, found["progress"] or "")
    return True


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()
