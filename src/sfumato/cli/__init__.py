"""The command line: one module per command, no privacy logic.

Exit codes: 0 all is well; 1 a promise does not hold or cannot be met; 2 the input is at
fault; 70 an error we did not foresee; 130 stopped by Ctrl-C. A failure is one message on
standard error, never a traceback.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.errors import SfumatoError

STOPPED = 130
UNFORESEEN = 70


def main() -> None:
    """Run the command line and end the process with its exit code."""
    gc.set_threshold(100_000, 20, 100)  # imports make many objects, and nearly all of them stay
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    from sfumato.cli.commands import application  # noqa: PLC0415 - not needed by `import sfumato`
    from sfumato.cli.display.terminal import complain  # noqa: PLC0415 - the same
    from sfumato.errors import SfumatoError  # noqa: PLC0415 - the same

    try:
        application(arguments)(args=arguments, prog_name="sfumato")
    except SystemExit as end:
        if end.code == STOPPED:
            complain("Stopped; nothing was written.")
        return end.code if isinstance(end.code, int) else 0
    except SfumatoError as error:
        complain(_told(error, arguments))
        return error.exit_code
    except KeyboardInterrupt:
        complain("Stopped; nothing was written.")
        return STOPPED
    except BrokenPipeError:
        return 0
    except MemoryError:
        complain("There is not enough memory; close other programs or use a larger machine.")
        return 2
    except Exception as error:  # the text of a stranger's error may hold a cell
        if os.environ.get("SFUMATO_DEBUG"):
            raise
        complain(
            f"An error we did not foresee ({type(error).__name__}); nothing was written. Set "
            "SFUMATO_DEBUG=1 to see where, and mind that the details may show cells of the data."
        )
        return UNFORESEEN
    return 0


def _told(error: SfumatoError, arguments: list[str]) -> str:
    """Say what went wrong, in options where it is about arguments of Python."""
    from sfumato.cli.display.wording import in_options  # noqa: PLC0415 - only where something went wrong

    asks = arguments[0] in {"ask", "histogram"}
    return in_options(error.message) if asks else str(error)
