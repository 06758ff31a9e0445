"""The command line: one module per command, no privacy logic.

Exit codes: 0 all is well; 1 a promise does not hold or cannot be met; 2 the input is at
fault; 3 refused by a budget, a purpose or a right; 70 an internal error; 74 output could not be
written; 75 something is not available just now, try again; 130 stopped by Ctrl-C; 141 the reader of
a pipe left. A failure is one message on standard error, never a traceback.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.errors import SfumatoError

UNWRITABLE = frozenset({
    errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR,
    errno.EISDIR, errno.ENAMETOOLONG,
})  # fmt: skip
"""What an output fails with; files that are read say themselves why they cannot be."""

STOPPED = 130
UNFORESEEN = 70
UNWRITTEN = 74
TRY_AGAIN = 75

SPENDING = frozenset({"ask", "histogram", "kmeans", "topk", "synthesize", "train"})
"""Commands that charge a budget before they print anything."""

DELIVERED = frozenset({"ask", "histogram"})
"""Commands whose answers have a form of their own for programs."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    gc.set_threshold(500_000, 20, 100)  # imports make many objects, and nearly all of them stay
    # pydantic would look through every installed package for plugins, which then see each request
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from sfumato.cli.display.streams import prepare_streams  # noqa: PLC0415 - not needed by others

    prepare_streams()
    warnings.showwarning = _show_warning
    code = run(sys.argv[1:], alone=True)
    try:
        sys.stdout.flush()
    except SystemExit as gone:
        code = gone.code if isinstance(gone.code, int) else code
    except OSError:
        code = code or UNWRITTEN
    sys.exit(code)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show a warning of ours as the sentence it is; others are for those who write programs."""
    if category is UserWarning:
        from sfumato.cli.display.terminal import note  # noqa: PLC0415 - not needed by others

        note(str(message))


def run(arguments: list[str], *, alone: bool = False) -> int:
    """Run the command line, which may be `alone` in its process; return the exit code.

    `--json` makes one object of what a command says, `-q` before a command keeps all but its errors
    back; both work for every command.
    """
    from sfumato.cli.display import machine  # noqa: PLC0415 - not needed by `import sfumato`

    as_json, silent, words = machine.split_flags(arguments)
    if not as_json and not silent:
        return _run(words, alone=alone)
    if as_json and words and words[0] in DELIVERED and "--format" not in words:
        words += ["--format", "json"]
    from sfumato.cli.display.terminal import out  # noqa: PLC0415 - the same

    with machine.captured(out) as (said, text):
        code = _run(words, alone=alone)
    if as_json:
        machine.write(said.whole(words[0] if words else "", code, text.getvalue()))
    return code


def _run(arguments: list[str], *, alone: bool) -> int:
    """Run a command line without flags that all commands share."""
    from sfumato.cli.commands import application  # noqa: PLC0415 - not needed by `import sfumato`
    from sfumato.cli.display.streams import READER_GONE  # noqa: PLC0415 - the same
    from sfumato.cli.display.terminal import complain  # noqa: PLC0415 - the same
    from sfumato.errors import SfumatoError  # noqa: PLC0415 - the same

    try:
        app = application(arguments or ["--help"])  # which is what an empty line shows
        _prepare(arguments, alone)
        code = app(args=arguments, prog_name="sfumato", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as end:
        if end.code == STOPPED:
            complain(f"Stopped; {_left_behind(arguments)}")
        return end.code if isinstance(end.code, int) else 0
    except SfumatoError as error:
        complain(_told(error, arguments))
        return error.exit_code
    except KeyboardInterrupt:
        complain(f"Stopped; {_left_behind(arguments)}")
        return STOPPED
    except BrokenPipeError:
        return READER_GONE
    except MemoryError:
        complain("There is not enough memory; close other programs or use a larger machine.")
        return TRY_AGAIN
    except OSError as error:
        if error.errno not in UNWRITABLE:
            return _unforeseen(error, arguments)
        complain(f"Output could not be written ({error.strerror}); {_left_behind(arguments)}")
        return UNWRITTEN
    except Exception as error:  # noqa: BLE001 - the text of a stranger's error may hold a cell
        return _misused(error, arguments)


def _prepare(arguments: list[str], alone: bool) -> None:
    """Have Spark run where its tables are named; search what is loaded by now no more for cycles.

    It stays to the end of the process. DuckDB must not be loaded yet: it complains at the end of
    what it finds kept.
    """
    if alone:
        gc.freeze()
    if any(word.rpartition("=")[2].startswith("spark:") for word in arguments):
        from sfumato.data.engines.spark import start_session  # noqa: PLC0415 - an extra

        start_session()


def _misused(error: Exception, arguments: list[str]) -> int:
    """Say what is wrong with a line that Typer could not read, in the style of all our errors.

    Typer's errors are known by what they offer, since their home changes from version to version.
    """
    from sfumato.cli.display.terminal import complain  # noqa: PLC0415 - as above

    if type(error).__name__ == "Abort":
        complain(f"Stopped; {_left_behind(arguments)}")
        return STOPPED
    if not hasattr(error, "format_message") or not hasattr(error, "exit_code"):
        return _unforeseen(error, arguments)
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        return int(error.exit_code)
    known = getattr(getattr(error, "ctx", None), "command_path", "sfumato")
    complain(f"{error.format_message().rstrip()} See: {known} --help")
    return int(error.exit_code)


def _unforeseen(error: Exception, arguments: list[str]) -> int:
    """Say that something went wrong without saying what is in it."""
    from sfumato.cli.display.terminal import complain  # noqa: PLC0415 - as above

    if os.environ.get("SFUMATO_DEBUG"):
        raise error
    complain(
        f"An error we did not foresee ({type(error).__name__}); {_left_behind(arguments)} Set "
        "SFUMATO_DEBUG=1 to see where, and mind that the details may show cells of the data."
    )
    return UNFORESEEN


def _left_behind(arguments: list[str]) -> str:
    """Say what remains of a command that did not end well."""
    if arguments and arguments[0] in SPENDING:
        return (
            "what was charged by then stays charged, as `sfumato ledger show` tells, and the same "
            "asked again costs nothing once it is answered."
        )
    return "nothing was written."


def _told(error: SfumatoError, arguments: list[str]) -> str:
    """Say what went wrong, in options where it is about arguments of Python."""
    from sfumato.cli.display.wording import in_options  # noqa: PLC0415 - only where something went wrong

    asks = arguments[0] in DELIVERED
    return in_options(error.message) if asks else str(error)
