"""Definitions of anonymity, the algorithms that meet them, and what that costs.

The room and its main verb share a name: `sf.anonymize(table, promise)` calls
`sfumato.anonymize.run.anonymize`, and `sfumato.anonymize.definitions.definition` is still a module.
"""

from __future__ import annotations

import sys
from inspect import Signature, signature
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class _Room(ModuleType):
    """A module that can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _verb()(*args, **kwargs)

    @property
    def __signature__(self) -> Signature:
        """The signature of the verb: what `sf.anonymize?` and an editor show."""
        return signature(_verb())


def _verb() -> Callable[..., Any]:
    from sfumato.anonymize.run import anonymize  # noqa: PLC0415 - loaded when used

    return anonymize


# What help() and `sf.anonymize?` show is the verb's text too. As a property of the class it comes
# before the text of this module, and loads the verb only when somebody asks.
_Room.__doc__ = property(lambda _: _verb().__doc__)  # type: ignore[assignment]

sys.modules[__name__].__class__ = _Room
