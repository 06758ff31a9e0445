"""Every question that SQL gives is well typed; so checking it again refuses none of them."""

from __future__ import annotations

import random

from clinic import FACTS
from golden_blocks import blocks
from random_sql import likely, select

from sfumato.ask.language.well_formed import check_well_formed
from sfumato.ask.sql.parse import parse
from sfumato.errors import Refused


def test_what_is_parsed_is_well_formed():
    rng = random.Random(7)
    texts = [block.values[0] for block in blocks()]
    texts += [likely(rng) for _ in range(80)] + [select(rng, 3) for _ in range(20)]
    checked = 0
    for text in texts:
        try:
            question = parse(text, FACTS)
        except Refused:
            continue
        check_well_formed(question)
        checked += 1
    assert checked > 150
