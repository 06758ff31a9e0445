"""A pytest fixture that checks claims of privacy in your own tests.

    def test_count_is_private(check_privacy):
        check_privacy(noisy_count, sf.PureDP(1.0), records=[0, 1])

Contract: ``check_privacy`` takes what :func:`sfumato.audit.check` takes, fails the test with the
witness if the claim is refuted, warns where only rounding errors give the data away, and returns
the verdict. A right function fails at most
once in 1/(1 − confidence) runs; raise the confidence for tests that run often. The plugin is found
by pytest when Sfumato is installed, and imports nothing until it is used.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.audit.claims.verdict import Verdict

CONFIDENCE = 0.9999
"""One false alarm in ten thousand runs at most, unless the test says otherwise."""


@pytest.fixture
def check_privacy() -> Callable[..., Verdict]:
    """Check a claim, and fail with the witness if it is refuted."""
    return _check


def _check(func: Any, claim: Any = None, **options: Any) -> Verdict:
    __tracebackhide__ = True
    from sfumato.audit.claims.check import check  # noqa: PLC0415 - not needed to collect tests

    verdict = check(func, claim, **{"confidence": CONFIDENCE, **options})
    if verdict.refuted:
        pytest.fail(str(verdict), pytrace=False)
    if verdict.floating_point_leak is not None:
        warnings.warn(verdict.headline, stacklevel=2)
    return verdict
