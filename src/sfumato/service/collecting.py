"""Reports of devices: taken in groups, one transaction for all that came at the same moment.

Contract: a receipt is given when the reports are on disk. No address, time or identity goes with
them, and the request is not logged. One collector per survey and worker; several workers share
a store. Whether a survey is open is looked up for each group, because another worker may have
closed it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from sfumato.govern.office.surveys import find_rules, find_survey, is_open
from sfumato.local.collect.collector import Collector, Intake
from sfumato.local.collect.survey_files import read_survey
from sfumato.service.problems import Problem, not_found

if TYPE_CHECKING:
    from sfumato.service.house import House

MOST_TOGETHER = 512
MOST_REPORTS = 10_000
"""Reports that the owner of a survey may send at once; devices send as many as was stated."""


class Gate:
    """Where the reports of one survey arrive in this worker."""

    def __init__(self, house: House, id_: str) -> None:
        row = find_survey(house.office, id_)
        if row is None:
            raise not_found()
        self.house, self.id = house, id_
        self.owner: str = row["owner"]
        self.survey = read_survey(house.settings.path / row["file"])
        store = (house.settings.path / row["file"]).with_suffix(".db")
        self.rules = find_rules(house.office, id_)
        self.collector = Collector(self.survey, store, most_per_message=self.rules.together)
        self._gathered = Collector(self.survey, store, most_per_message=MOST_REPORTS)
        self._waiting: list[tuple[bytes, asyncio.Future[Intake]]] = []
        self._busy = False

    async def receive(self, data: bytes) -> Intake:
        """Take one body; wait until it is on disk."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Intake] = loop.create_future()
        self._waiting.append((data, future))
        if not self._busy:
            self._busy = True
            loop.create_task(self._drain())  # noqa: RUF006 - it keeps itself by `_waiting`
        return await future

    async def receive_gathered(self, data: bytes) -> Intake:
        """Take what the owner of the survey has gathered from people, many reports at once."""

        def write() -> Intake:
            self._check_open()
            return self._gathered.receive(data)

        return await self.house.thread(write)

    async def _drain(self) -> None:
        """Write all that waits, group by group, until nobody does."""
        try:
            while self._waiting:
                group, self._waiting = (
                    self._waiting[:MOST_TOGETHER],
                    self._waiting[MOST_TOGETHER:],
                )
                try:
                    receipts = await self.house.thread(self._write, [data for data, _ in group])
                except Exception as error:  # noqa: BLE001 - told to each
                    for _, future in group:
                        if not future.done():
                            future.set_exception(error)
                    continue
                for (_, future), receipt in zip(group, receipts, strict=True):
                    if not future.done():
                        future.set_result(receipt)
        finally:
            self._busy = False

    def _check_open(self) -> None:
        if not is_open(self.house.office, self.id):
            raise Problem(409, "closed", "This survey is closed and takes no more reports.")

    def _write(self, several: list[bytes]) -> list[Intake]:
        self._check_open()
        if len(several) == 1:
            return [self.collector.receive(several[0])]
        return self.collector.receive_each(several)


def gate_of(house: House, id_: str) -> Gate:
    """Give the gate of a survey."""
    gates: dict[str, Any] = house.pages.setdefault("gates", {})
    if id_ not in gates:
        gates[id_] = Gate(house, id_)
    found: Gate = gates[id_]
    return found
