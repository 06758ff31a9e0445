"""Errors of engines stay where they are: they may quote a cell.

Contract: within ``with nothing_quoted(explained)`` an error for which ``explained`` has a sentence
becomes a :class:`~sfumato.errors.DataError` with that sentence. Neither its cause nor its context
nor a local variable of the frame that raises it leads back to the error, so that nothing which
walks the chain (a log, a page of a service, a debugger's report) can show what the engine said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable


class nothing_quoted:  # noqa: N801 - reads as a statement
    """Turn the errors of an engine into sentences of ours; None leaves an error as it is.

    A sentence becomes a `DataError`; an error of another kind is given as it is to be raised.
    """

    def __init__(self, explained: Callable[[BaseException], str | DataError | None]) -> None:
        self._explained = explained

    def __enter__(self) -> None:
        """Begin."""

    def end(self) -> None:
        """Put back what was changed at the beginning."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise our error in place of the engine's, if that is what it is."""
        self.end()
        message = None if error is None else self._explained(error)
        del kind, error, trace
        if message is None:
            return
        try:
            raise message if isinstance(message, DataError) else DataError(message)
        except DataError as ours:
            ours.__context__ = None  # Python puts there the error that is being handled
            raise


class unheard(nothing_quoted):  # noqa: N801 - reads as a statement
    """Also keeps Spark's library from writing its errors, which quote cells, to the terminal."""

    def __enter__(self) -> None:
        """Begin."""
        self._before = [(logger, logger.disabled) for logger in _spark_loggers()]
        for logger, _ in self._before:
            logger.disabled = True

    def end(self) -> None:
        """Let the library write again; a frame of its own here would lead back to the error."""
        for logger, disabled in self._before:
            logger.disabled = disabled


def _spark_loggers() -> list[Any]:
    """Give the loggers of Spark's errors, made by its own class: it cannot use plain ones."""
    try:
        from pyspark.logger import PySparkLogger  # noqa: PLC0415 - an optional library
    except ImportError:  # older releases write nothing
        return []
    names = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
    return [PySparkLogger.getLogger(name) for name in names]
