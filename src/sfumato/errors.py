"""Everything Sfumato raises on purpose.

Contract: a message is one sentence or two that say what is wrong, where, what is
allowed and what to do. It never quotes a value taken from the cells of sensitive data;
it may name files, attributes, line numbers and values the user typed as parameters.

    SfumatoError
    ├── InputError            the user's files or parameters are at fault (exit code 2)
    │   ├── DataError         a data file or frame cannot be used as it is
    │   │   ├── WorkFailed    what was paid for could not be done; the charge stays (70)
    │   │   ├── OutputError   a file, folder or table cannot be written (74)
    │   │   └── Unavailable   a database, memory or disk is not there just now; try again (75)
    │   ├── SchemaError       a schema names what does not exist or contradicts itself
    │   ├── HierarchyError    a hierarchy is not a tree over the values it must cover
    │   ├── ParameterError    a parameter is outside what is allowed
    │   └── Refused           a question that cannot be answered privately, with the reason
    ├── Unsatisfiable         no release can meet the promise under the given limits (exit code 1)
    ├── PromiseBroken         a check found that a promise does not hold (exit code 1)
    ├── BudgetExceeded        a privacy budget does not cover the request (exit code 3)
    ├── GovernanceError       the owner's rules, or the ledger that keeps them, refuse (exit code 3)
    │   ├── PurposeRefused    the dataset does not name this purpose
    │   ├── PositionMoved     another question came first; plan this one again (75)
    │   └── AlreadyUnderWay   the same question is being answered elsewhere (75)
    └── MissingExtra          an optional library is needed (exit code 2)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.dp.guarantees import Guarantee


class SfumatoError(Exception):
    """Base of all errors raised on purpose."""

    exit_code = 1

    @property
    def message(self) -> str:
        """The sentence with what it is made of, where it was raised with a `Message`."""
        return self.args[0] if self.args and isinstance(self.args[0], str) else str(self)


class InputError(SfumatoError, ValueError):
    """The user's input is at fault; nothing was computed or written."""

    exit_code = 2


class DataError(InputError):
    """A data file or frame cannot be used as it is."""


class WorkFailed(DataError):  # noqa: N818 - says what became of the work
    """What was paid for could not be done; its charge stays.

    ``charge`` is the number of the ledger's entry and ``code`` what the ledger says of it
    ("engine-failed", "internal"); nothing of the cause is told, because it may quote a cell.
    """

    exit_code = 70

    def __init__(self, message: str, *, charge: int, code: str) -> None:
        super().__init__(message)
        self.charge = charge
        self.code = code


class OutputError(DataError):
    """A file, folder or table cannot be written; what was there before is as it was."""

    exit_code = 74


class Unavailable(DataError):  # noqa: N818 - says what is missing just now
    """A database, memory or disk is not there just now: the same request may succeed later."""

    exit_code = 75


class SchemaError(InputError):
    """A schema names what does not exist or contradicts itself."""


class HierarchyError(InputError):
    """A hierarchy is not a tree over the values it must cover."""


class ParameterError(InputError):
    """A parameter is outside what is allowed."""


class Refused(InputError):  # noqa: N818 - a verdict on the question, not a fault of the program
    """A question cannot be answered privately; nothing was charged.

    ``code`` is one of :data:`sfumato.ask.language.refusals.REASONS` and ``slots`` are what its
    sentence is about, by name; ``nearest`` is the SQL text of the nearest question that can be
    answered, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        nearest: str | None = None,
        slots: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.nearest = nearest
        self.slots = dict(slots or {})

    def __reduce__(self) -> tuple[object, ...]:
        return _refused, (self.message, self.code, self.nearest, self.slots)


def _refused(
    message: str, code: str, nearest: str | None, slots: Mapping[str, str] | None = None
) -> Refused:
    return Refused(message, code=code, nearest=nearest, slots=slots)


class Unsatisfiable(SfumatoError):  # noqa: N818 - a verdict on the request, not a fault of the program
    """No release can meet the promise under the given limits."""


class PromiseBroken(SfumatoError):  # noqa: N818 - names what happened to the promise
    """A check found that a promise does not hold."""


class BudgetExceeded(SfumatoError):  # noqa: N818 - part of the public contract
    """A privacy budget does not cover the request.

    Where a ledger refuses, ``requested``, ``remaining`` and ``difference`` are guarantees of the
    limit's own kind and ``limit`` names the limit; elsewhere they are None.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        limit: str | None = None,
        requested: Guarantee | None = None,
        remaining: Guarantee | None = None,
        difference: Guarantee | None = None,
    ) -> None:
        super().__init__(message)
        self.limit = limit
        self.requested = requested
        self.remaining = remaining
        self.difference = difference


class GovernanceError(SfumatoError):
    """The rules that an owner fixed, or the ledger that keeps them, refuse the request."""

    exit_code = 3


class PurposeRefused(GovernanceError):  # noqa: N818 - says what was refused
    """The dataset does not name this purpose."""


class PositionMoved(GovernanceError):  # noqa: N818 - says what happened meanwhile
    """Another question was charged since this one was planned; plan it again."""

    exit_code = 75


class AlreadyUnderWay(GovernanceError):  # noqa: N818 - says what is happening
    """The same analyst is just being answered the same question elsewhere; nothing was charged."""

    exit_code = 75


class MissingExtra(SfumatoError, ImportError):  # noqa: N818 - says what is missing
    """An optional library is needed; the message carries the exact install line."""

    exit_code = 2

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {library}, which is not installed. "
            f"Install it with: pip install 'sfumato[{extra}]'"
        )
