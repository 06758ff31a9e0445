"""A question as it reaches a session: parsed, and with a canonical text that names it.

Contract: two ways to write the same question have the same text, so that asking it again is
recognised; the text also carries the price that was named, because another price buys another
answer, and the blocks it reads.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.canonical import write
from sfumato.ask.language.language import Question
from sfumato.ask.language.question_tree import tree_to_json
from sfumato.ask.language.well_formed import check_well_formed
from sfumato.ask.sql.parse import nearest_to, parse
from sfumato.dp.rounding import stated
from sfumato.errors import ParameterError, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sfumato.ask.language.question_tree import ReadQuestion
    from sfumato.ask.session.dataset import OpenDataset


@dataclass(frozen=True)
class Submission:
    """A question and the blocks it reads; ``nearest`` finds another for a code of refusal."""

    question: Question
    blocks: tuple[str, ...]
    nearest: Callable[[str], str | None] | None = field(default=None, compare=False, repr=False)

    @contextmanager
    def offering(self) -> Iterator[None]:
        """Tell the nearest question that can be answered when this one is refused."""
        try:
            yield
        except Refused as refused:
            if refused.nearest is None and self.nearest is not None:
                refused.nearest = self.nearest(refused.code)
            raise

    @property
    def _finds_keys(self) -> bool:
        """Whether groups have to be found, which is all that a stated δ is for."""
        return any(key.values is None for key in self.question.keys)

    @cached_property
    def _written(self) -> tuple[str, ReadQuestion]:
        """The canonical text of the question alone, and its tree."""
        return write(self.question)

    @cached_property
    def tree(self) -> dict[str, Any]:
        """The question as plain JSON, by which it is shown to people."""
        return tree_to_json(self._written[1])

    def text(self, purpose: str | None = None, **price: Any) -> str:
        """Give the canonical text of the question at a price, for a purpose."""
        named = {
            name: str(stated(value))
            for name, value in price.items()
            if value is not None and (name != "delta" or self._finds_keys)
        }
        whole = {"question": self._written[0], "price": named, "blocks": self.blocks}
        if purpose is not None:
            whole["purpose"] = purpose
        return json.dumps(
            whole,
            sort_keys=True,
            ensure_ascii=False,
        )


def read_submission(
    session: OpenDataset,
    question: Any,
    *,
    bounds: Mapping[str, tuple[Any, Any]],
    keys: Mapping[str, Sequence[Any]],
    blocks: Sequence[str] | None,
    answerable: Callable[[Question], bool],
) -> Submission:
    """Read a question in whatever form it comes.

    ``answerable`` tells whether one could be answered, so that no other is offered for one that
    is refused.
    """
    if isinstance(question, Submission):  # which anybody can make
        check_well_formed(question.question)
        return replace(question, blocks=session.check_blocks(blocks or question.blocks))
    chosen = session.check_blocks(blocks)
    if isinstance(question, str):
        given: dict[str, Any] = {
            "bounds": session.own_bounds(bounds),
            "keys": session.own_keys(keys),
            "answerable": answerable,
        }
        parsed = parse(question, session.facts, **given)
        return Submission(parsed, chosen, partial(nearest_to, question, session.facts, **given))
    written = getattr(question, "question", question)
    if isinstance(written, Question):
        check_well_formed(written)
        return Submission(written, chosen)
    raise ParameterError(
        "A question is a text in SQL, or begins with session.table(…); a "
        f"{type(question).__name__} was given."
    )
