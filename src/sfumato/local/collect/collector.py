"""The collector: takes messages, keeps good reports for ever, estimates on demand.

Contract: ``receive(bytes)`` returns a :class:`Intake` for whatever arrived and raises only if the
store itself fails, so that an HTTP endpoint, a queue or a file reader is a thin layer around it.
Reports that are malformed, out of range, for another survey or version, or sent twice are counted
by reason and dropped. A true value never comes here; no address, time or identity is stored.
Whoever sent a message may take it back by its nonce: its reports are erased then.

When ``receive`` has returned, its reports are on disk (one transaction, synced). A process
that is killed loses at most the batch in flight, and because every message carries a nonce the
sender may simply send again: nothing is counted twice. Several processes may share one store, and
several threads one collector. Whoever restarts begins from what is stored; ``aggregate`` adds only
what came since it was last asked.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from sfumato.errors import DataError, ParameterError
from sfumato.local.collect.report_store import Batch, ReportStore
from sfumato.local.reports import Reports
from sfumato.local.wire.files import pieces
from sfumato.local.wire.messages import NONCE_BYTES, DroppedReports, Message, Reason
from sfumato.local.wire.reader import Reader
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from sfumato.local.collect.survey import Survey
    from sfumato.local.consistency import Consistency
    from sfumato.local.estimate import Estimate
    from sfumato.local.reports import Aggregate

LARGEST = 1 << 26
"""Bytes that are read as one piece of input."""

TRANSACTION, TOGETHER = 1 << 20, 1024
"""Bytes and messages of a file after which what was read is committed."""


@dataclass(frozen=True)
class Intake(Shown):
    """What became of the reports that arrived together."""

    accepted: int = 0
    dropped: Mapping[Reason, int] = field(default_factory=dict)

    @property
    def arrived(self) -> int:
        """How many reports there were, as far as that could be told."""
        return self.accepted + sum(self.dropped.values())

    def __add__(self, other: Intake) -> Intake:
        return Intake(
            self.accepted + other.accepted, dict(Counter(self.dropped) + Counter(other.dropped))
        )

    def record(self) -> dict[str, object]:
        """Give the intake as plain values, as a page expects its answer."""
        dropped = {str(reason): count for reason, count in self.dropped.items()}
        return {"accepted": self.accepted, "dropped": dropped}

    def __str__(self) -> str:
        reasons = "".join(f"; {count:,} {reason}" for reason, count in self.dropped.items())
        return f"{self.accepted:,} accepted{reasons}"


Receipt = Intake
"""The public name of old, which govern has for the receipt of a charge."""


class Collector(Shown):
    """Collects the reports to one survey in a file."""

    def __init__(
        self, survey: Survey, store: str | Path, *, most_per_message: int | None = None
    ) -> None:
        """Open a store; ``most_per_message`` is how many reports may arrive together.

        It holds for each piece of input (the body of a request), however many messages are in it.
        """
        self.survey = survey
        self.most_per_message = most_per_message
        self._reader = Reader(survey.address, survey.protocol)
        self._store = ReportStore(store, survey)
        self._lock = threading.Lock()
        self._sum: Aggregate | None = None
        self._seen = self._withdrawn = 0

    def receive(self, data: bytes) -> Intake:
        """Take whatever arrived: one message or several, binary or JSON."""
        return self.receive_many([data])

    def receive_many(self, several: Iterable[bytes]) -> Intake:
        """Take several pieces of input in one transaction."""
        dropped: Counter[Reason] = Counter()
        batches = list(self._read(several, dropped))
        repeated = self._store.append(batches, dropped)
        dropped.update({Reason.DUPLICATE: repeated} if repeated else {})
        taken = sum(batch.count for batch in batches) - repeated
        return Intake(taken, dict(dropped))

    def receive_each(self, several: Iterable[bytes]) -> list[Intake]:
        """Take what several senders sent in one transaction; give each an intake of its own."""
        pieces = [data if len(data) <= LARGEST else None for data in several]
        found = iter(self._reader.read_each([data for data in pieces if data is not None]))
        parts: list[tuple[list[Batch], Counter[Reason]]] = []
        for data in pieces:
            dropped: Counter[Reason] = Counter()
            if data is None:
                dropped[Reason.OVERSIZED] += 1
                parts.append(([], dropped))
            else:
                parts.append((list(self._batches(self._allowed(next(found)), dropped)), dropped))
        repeated = self._store.append_each(parts)
        intakes = []
        for (batches, dropped), known in zip(parts, repeated, strict=True):
            if known:
                dropped[Reason.DUPLICATE] += known
            taken = sum(batch.count for batch in batches) - known
            intakes.append(Intake(taken, dict(dropped)))
        return intakes

    def receive_file(self, path: str | Path) -> Intake:
        """Take a file of messages, in transactions of about a mebibyte each."""
        total, pending, size = Intake(), list[bytes](), 0
        for piece in pieces(path):
            pending.append(piece)
            size += len(piece)
            if size >= TRANSACTION or len(pending) >= TOGETHER:
                total += self.receive_many(pending)
                pending, size = [], 0
        return total + self.receive_many(pending) if pending else total

    def _read(self, several: Iterable[bytes], dropped: Counter[Reason]) -> Iterator[Batch]:
        """Give what is good, and count the rest."""
        pieces = list(several)
        small = [data for data in pieces if len(data) <= LARGEST]
        if len(small) < len(pieces):
            dropped[Reason.OVERSIZED] += len(pieces) - len(small)
        yield from self._batches(self._messages(small), dropped)

    def _batches(
        self, messages: Iterable[Message | DroppedReports], dropped: Counter[Reason]
    ) -> Iterator[Batch]:
        for found in messages:
            if isinstance(found, DroppedReports):
                dropped[found.reason] += found.reports
            else:
                for reason, count in (
                    (Reason.RANGE, found.out_of_range), (Reason.MALFORMED, found.malformed)
                ):  # fmt: skip
                    if count:
                        dropped[reason] += count
                if len(found.rows):
                    yield Batch(found.nonce, len(found.rows), found.rows.tobytes())

    def _messages(self, small: list[bytes]) -> Iterator[Message | DroppedReports]:
        """Read pieces of input; one with more reports than allowed is dropped as a whole."""
        if self.most_per_message is None:
            yield from self._reader.read(small)
            return
        for found in self._reader.read_each(small):
            yield from self._allowed(found)

    def _allowed(self, found: list[Message | DroppedReports]) -> Iterator[Message | DroppedReports]:
        """Drop what arrived together as a whole where it has more reports than allowed."""
        reports = sum(len(message.rows) for message in found if isinstance(message, Message))
        few = self.most_per_message is None or reports <= self.most_per_message
        for message in found:
            if isinstance(message, DroppedReports) or few:
                yield message
            else:
                yield DroppedReports(Reason.OVERSIZED, max(1, len(message.rows)))

    def withdraw(self, code: str) -> int:
        """Erase the reports of a message by its withdrawal code; give how many there were.

        The code is the message's nonce in hexadecimal, which only its sender knows. Estimates that
        were made before are not undone.
        """
        try:
            nonce = bytes.fromhex(code.strip())
        except ValueError:
            nonce = b""
        if len(nonce) != NONCE_BYTES:
            raise ParameterError(
                f"A withdrawal code is {2 * NONCE_BYTES} digits and letters from a to f."
            )
        return self._store.withdraw(nonce)

    def __len__(self) -> int:
        """Give the number of reports in the store."""
        return self._store.count()

    @property
    def dropped(self) -> dict[Reason, int]:
        """What was ever dropped, by reason."""
        return self._store.dropped()

    def reports(self) -> Reports:
        """Give all stored reports."""
        parts = [self._reader.reports(rows) for _, rows in self._store.read(0)]
        return Reports.concatenate([Reports.empty(self.survey.protocol), *parts])

    def aggregate(self) -> Aggregate:
        """Give the sums of all stored reports, adding what is new since the last call."""
        protocol = self.survey.protocol
        with self._lock:
            gone = self._store.withdrawals()
            if gone != self._withdrawn:  # what was added up holds reports that are erased now
                self._sum, self._seen, self._withdrawn = None, 0, gone
            for number, rows in self._store.read(self._seen):
                added = protocol.aggregate(self._reader.reports(rows))
                self._sum = added if self._sum is None else self._sum + added
                self._seen = number
            if self._sum is None:
                raise DataError("The store holds no reports yet; collect some first.")
            return self._sum

    def estimate(self, *, consistency: Consistency = "none") -> Estimate:
        """Estimate from all reports stored up to now."""
        return self.survey.protocol.estimate(self.aggregate(), consistency=consistency)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
