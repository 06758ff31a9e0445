"""What went wrong, as the one error shape of the API (RFC 9457) and as a page.

Contract: every error has `type`, `title`, `status`, `detail`, `code` and `charged`; a refused
question has `nearest`, an exceeded budget `requested`, `remaining` and `difference`. The detail
is one of our own sentences, which quote no cell; of an error we did not foresee nothing is told.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from sfumato import errors
from sfumato.govern.office.questions import QuestionUnderWay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.dp.guarantees import Guarantee

TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """An error with its place in HTTP."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **further: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.headers = dict(headers or {})
        self.further = further

    @property
    def title(self) -> str:
        """What HTTP calls it."""
        return HTTPStatus(self.status).phrase

    def body(self) -> bytes:
        """Write it as JSON."""
        told = {
            "type": f"urn:sfumato:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "charged": False,
            **self.further,
        }
        return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")


def not_found() -> Problem:
    """Say that there is nothing here, or nothing for you: both read the same."""
    return Problem(404, "not-found", "There is nothing at this address, or nothing for you.")


def not_known() -> Problem:
    """Say that somebody has to log in."""
    return Problem(
        401, "not-known", "Log in, or send a token that is valid: Authorization: Bearer sfm_….",
        headers={"WWW-Authenticate": 'Bearer realm="sfumato"'},
    )  # fmt: skip


def not_allowed(why: str = "This is for others than you.") -> Problem:
    """Say that this is not for whoever asks."""
    return Problem(403, "not-allowed", why)


_PLACES: tuple[tuple[type[BaseException], int, str], ...] = (
    (errors.PurposeRefused, 403, "wrong-purpose"),
    (errors.AlreadyUnderWay, 409, "under-way"),
    (QuestionUnderWay, 409, "under-way"),
    (errors.GovernanceError, 409, "rules"),
    (errors.BudgetExceeded, 409, "budget-exceeded"),
    (errors.Unsatisfiable, 422, "unsatisfiable"),
    (errors.PromiseBroken, 422, "promise-broken"),
    (errors.MissingExtra, 501, "missing-extra"),
    (errors.InputError, 422, "invalid"),
    (errors.SfumatoError, 422, "refused"),
)


def problem_of(error: BaseException) -> Problem:
    """Give an error its place in HTTP."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, errors.Refused):
        return Problem(422, error.code, str(error), nearest=error.nearest)
    if isinstance(error, errors.WorkFailed):
        return Problem(500, error.code, str(error), charged=True, charge=error.charge)
    for kind, status, code in _PLACES:
        if isinstance(error, kind):
            further = _amounts(error) if isinstance(error, errors.BudgetExceeded) else {}
            headers = {"Retry-After": "1"} if code == "under-way" else {}
            return Problem(status, code, str(error), headers=headers, **further)
    return Problem(
        500, "unforeseen",
        "An error we did not foresee. If a question was being answered, its charge stays; look "
        "into its history before you ask again.",
    )  # fmt: skip


def numbers(guarantee: Guarantee | None) -> dict[str, Any] | None:
    """Give the parameters of a guarantee as JSON."""
    if guarantee is None:
        return None
    told = {name: getattr(guarantee, name, None) for name in ("epsilon", "delta", "rho")}
    return {name: value for name, value in told.items() if value is not None}


def _amounts(error: errors.BudgetExceeded) -> dict[str, Any]:
    return {
        "limit": error.limit,
        "requested": numbers(error.requested),
        "remaining": numbers(error.remaining),
        "difference": numbers(error.difference),
    }
