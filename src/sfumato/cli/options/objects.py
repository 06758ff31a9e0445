"""Objects of a user's own modules, named on the command line as module:name."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError


def import_object(option: str, text: str) -> Any:
    """Import `module:name`, looking in the current folder first."""
    module, mark, name = text.partition(":")
    if not mark or not module or not name:
        raise ParameterError(f"{option} wants module:name, not '{text}'.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"{option} {text}: there is no module '{error.name}' in the current folder or "
            "installed."
        ) from None
    except AttributeError:
        raise ParameterError(f"{option} {text}: module '{module}' has no '{name}'.") from None
