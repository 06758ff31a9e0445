"""A question as it reaches a session: parsed, and with a canonical text that names it.

Contract: two ways to write the same question have the same text, so that asking it again is
recognised; the text also carries the price that was named, because another price buys another
answer, and the blocks it reads.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfumato.ask.canonical import canonical
from sfumato.ask.language import Question
from sfumato.ask.parsing import parse
from sfumato.ask.well_formed import check_well_formed
from sfumato.dp.rounding import stated
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.opened import Opened


@dataclass(frozen=True)
class Posed:
    """A question and the blocks it reads."""

    question: Question
    blocks: tuple[str, ...]

    @property
    def _finds_keys(self) -> bool:
        """Whether groups have to be found, which is all that a stated δ is for."""
        return any(key.values is None for key in self.question.keys)

    def text(self, purpose: str | None = None, **price: Any) -> str:
        """Give the canonical text of the question at a price, for a purpose."""
        named = {
            name: str(stated(value))
            for name, value in price.items()
            if value is not None and (name != "delta" or self._finds_keys)
        }
        whole = {"question": canonical(self.question), "price": named, "blocks": self.blocks}
        if purpose is not None:
            whole["purpose"] = purpose
        return json.dumps(
            whole,
            sort_keys=True,
            ensure_ascii=False,
        )


def posed(
    session: Opened,
    question: Any,
    *,
    bounds: Mapping[str, tuple[Any, Any]],
    keys: Mapping[str, Sequence[Any]],
    blocks: Sequence[str] | None,
) -> Posed:
    """Read a question in whatever form it comes."""
    if isinstance(question, Posed):  # which anybody can make
        check_well_formed(question.question)
        return replace(question, blocks=session.check_blocks(question.blocks))
    chosen = session.check_blocks(blocks)
    if isinstance(question, str):
        parsed = parse(
            question, session.facts, bounds=session.own_bounds(bounds), keys=session.own_keys(keys)
        )
        return Posed(parsed, chosen)
    written = getattr(question, "question", question)
    if isinstance(written, Question):
        check_well_formed(written)
        return Posed(written, chosen)
    raise ParameterError(
        "A question is a text in SQL, or begins with session.table(…); a "
        f"{type(question).__name__} was given."
    )
