"""Who runs a command, as the ledger records it."""

from __future__ import annotations

import getpass


def login() -> str:
    """Give the name under which whoever runs the command is logged in."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return "analyst"
