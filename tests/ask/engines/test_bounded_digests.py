"""The compiled MD5 gives the numbers of the reference, whatever the texts are long."""

from __future__ import annotations

import pytest

pytest.importorskip("numba")

from sfumato.ask.engines.bounded_digests import digests
from sfumato.ask.plan.choice import numbers


@pytest.mark.parametrize("salt", [b"", b"0123456789abcdef", bytes(range(40))])
def test_numbers_are_those_of_the_reference(salt: bytes) -> None:
    texts = ["", "1", "-7", "Zoë", *("x" * size for size in range(200))]
    found = digests(salt, b"p", [text.encode() for text in texts])
    assert [tuple(row) for row in found.tolist()] == [numbers(salt, "p" + text) for text in texts]


def test_no_texts_have_no_numbers() -> None:
    assert digests(b"salt", b"g", []).shape == (0, 4)
