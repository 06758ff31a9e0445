"""Records of people who were left out: no more than allowed stay so."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.anonymize.tables.people.holdings import Holdings
from sfumato.anonymize.tables.people.placement import UNPLACED, _take_back
from sfumato.anonymize.tables.recoding import SUPPRESSED


@pytest.mark.parametrize(
    ("limit", "left"), [(0, []), (1, [2]), (2, [1, 2]), (6, [1, 2]), (7, [0, 1, 2]), (9, [0, 1, 2])]
)
def test_the_largest_holdings_are_taken_back(limit, left):
    numbers = np.arange(4)
    holdings = Holdings(numbers, numbers, np.array([5, 1, 1, 3]), 4)
    class_ = np.array([SUPPRESSED, SUPPRESSED, SUPPRESSED, 0])
    _take_back(holdings, class_, limit)
    assert np.flatnonzero(class_ == SUPPRESSED).tolist() == left
    assert class_[3] == 0
    assert np.count_nonzero(class_ == UNPLACED) == 3 - len(left)
