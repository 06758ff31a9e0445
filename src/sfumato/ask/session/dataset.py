"""A dataset that is open for questions: its engine, its public facts, and what its owner fixed.

Contract: unit, bounds and public keys are those of the registration and never change while it is
open. Limits, purposes and policy may; they are read from the ledger when a question is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.ask.engines.base import state_of
from sfumato.ask.session.blocks import Blocks, SomeBlocks
from sfumato.ask.session.keys import key_fingerprint
from sfumato.ask.session.owner_rules import clashing, listed_values
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.ledger.registrations import MAIN
from sfumato.govern.purposes import purpose_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.engines.base import Engine
    from sfumato.ask.language.language import TableFacts
    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.govern.ledger.ledger import Ledger
    from sfumato.govern.ledger.registrations import Registration


@dataclass(eq=False)
class OpenDataset:
    """A dataset that is open for questions."""

    dataset: str
    table: str
    kind: str
    unit: PrivacyUnit
    engine: Engine
    ledger: Ledger
    registration: Registration
    salt: bytes
    facts: dict[str, TableFacts]
    owns_ledger: bool

    @property
    def blocks(self) -> tuple[str, ...]:
        """The labels of the dataset's blocks."""
        return tuple(self.engine.engines) if isinstance(self.engine, Blocks) else (MAIN,)

    def check_blocks(self, wanted: Sequence[str] | None) -> tuple[str, ...]:
        """Check the blocks that a question names; all when it names none."""
        if wanted is None:
            return self.blocks
        unknown = [label for label in wanted if label not in self.blocks]
        if unknown or not wanted:
            raise ParameterError(
                f"The dataset {self.dataset} has the blocks {', '.join(self.blocks)}, and "
                f"{', '.join(map(repr, unknown)) or 'none'} was named."
            )
        return tuple(label for label in self.blocks if label in wanted)

    def engine_of(self, blocks: Sequence[str]) -> Engine:
        """Give an engine that reads these blocks."""
        if isinstance(self.engine, Blocks):
            return SomeBlocks(self.engine, blocks)
        return self.engine

    def fingerprint(self, blocks: Sequence[str]) -> str:
        """Give a text that changes when a row of these blocks may have, and that tells no rows.

        No row is read for it where the engine can do without. Blocks are in the order of their
        names, as in the entry of a charge, joined by plus signs.
        """
        engines = self.engine.engines if isinstance(self.engine, Blocks) else {MAIN: self.engine}
        parts = [
            key_fingerprint(self.salt, state_of(engines[label])) for label in sorted(set(blocks))
        ]
        return "+".join(parts)

    def own_bounds(self, extra: Mapping[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
        """Add the bounds of a question to the owner's, which stay as they are."""
        clash = clashing(map(self._plain, extra), self.registration.rules["bounds"])
        if clash:
            raise GovernanceError(
                f"The owner has fixed the bounds of {', '.join(clash)}; a question cannot change "
                "them. Clamp further in the question, as in CLAMP(x, 0, 10)."
            )
        return dict(extra)

    def _plain(self, name: str) -> str:
        """Give the name of a private column without that of its table, as the owner states it."""
        table, _, column = name.rpartition(".")
        private = {facts.name.casefold() for facts in self.facts.values() if facts.private}
        return column if table.casefold() in private else name

    def own_keys(self, extra: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
        """Add the public key values of a question to the owner's, which stay as they are."""
        clash = clashing(extra, self.registration.rules["keys"])
        if clash:
            raise GovernanceError(
                f"The owner has fixed the values of {', '.join(clash)}; a question cannot change "
                "them. Choose among them with WHERE or HAVING."
            )
        return {name: tuple(listed_values(name, values)) for name, values in extra.items()}

    def purpose_of(self, wanted: str | None) -> str | None:
        """Choose the purpose of a session; the dataset's only one when none is stated."""
        return purpose_for(self.dataset, self.registration.purposes, wanted)

    def interrupt(self) -> None:
        """End what other threads are asking the engine, where it can be ended."""
        engines = self.engine.engines.values() if isinstance(self.engine, Blocks) else [self.engine]
        for engine in engines:
            interrupt = getattr(engine, "interrupt", None)
            if interrupt is not None:
                interrupt()

    def close(self) -> None:
        """Give back the engine and a ledger that was opened here."""
        close = getattr(self.engine, "close", None)
        if close is not None and self.kind != "engine":  # which its owner closes
            close()
        if self.owns_ledger:
            self.ledger.close()
