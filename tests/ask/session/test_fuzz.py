"""Random SQL at a session: every outcome is an answer or a clear refusal.

A refusal never quotes a cell; an engine never fails on a question that was let through, whatever
the cells are; and the ledger holds at the end. SFUMATO_FUZZ_SECONDS makes it longer. Other engines:
``engines/test_session_fuzz.py``.
"""

from __future__ import annotations

import os
import random
import time

import fuzzing
import pytest

from sfumato.ask.answers.answer import Answer
from sfumato.errors import SfumatoError

SECONDS = float(os.environ.get("SFUMATO_FUZZ_SECONDS", "0.5"))
SEED = int(os.environ.get("SFUMATO_FUZZ_SEED", "4"))


@pytest.mark.parametrize("seconds", [SECONDS, pytest.param(40 * SECONDS, marks=pytest.mark.soak)])
@pytest.mark.parametrize("unit", fuzzing.UNITS, ids=str)
def test_every_question_is_answered_or_refused(unit, seconds):
    rng = random.Random(f"{SEED} {unit}")
    ends = time.process_time() + seconds
    answers = refusals = 0
    with fuzzing.session(rng, unit, fuzzing.frames(rng)) as one:
        for text in fuzzing.questions(rng, unit):
            found = fuzzing.checked(rng, one, text)
            answers += isinstance(found, Answer)
            refusals += isinstance(found, SfumatoError)
            if time.process_time() > ends and answers and refusals:
                break
        fuzzing.checked_afterwards(one)
