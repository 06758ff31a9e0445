"""Definitions of anonymity, the algorithms that meet them, and what that costs.

The room and its main verb share a name: `sf.anonymize(table, promise)` calls
`sfumato.anonymize.run.anonymize`, and `sfumato.anonymize.definitions.definition` is still a module.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """A module that can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from sfumato.anonymize.run import anonymize  # noqa: PLC0415 - loaded when used

        return anonymize(*args, **kwargs)


sys.modules[__name__].__class__ = _Room
