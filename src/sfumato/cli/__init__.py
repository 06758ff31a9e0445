"""The command line: one module per command, no privacy logic.

Exit codes: 0 all is well; 1 a promise does not hold or cannot be met; 2 the input is at
fault. A failure is one message on standard error, never a traceback.
"""

from __future__ import annotations

import sys

EXAMPLES = """
A first session:

  sfumato example patients.csv        make data to play with
  sfumato inspect patients.csv        suggest roles and hierarchies, write patients.yaml
  sfumato anonymize patients.csv -s patients.yaml -k 5 -o out/
  sfumato verify out/release.csv -s patients.yaml -k 5
"""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    from sfumato.cli.commands import app  # noqa: PLC0415 - not needed by `import sfumato`
    from sfumato.cli.terminal import complain  # noqa: PLC0415 - the same
    from sfumato.errors import SfumatoError  # noqa: PLC0415 - the same

    try:
        app(args=arguments, prog_name="sfumato")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except SfumatoError as error:
        complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        complain("Stopped; nothing was written.")
        return 130
    except BrokenPipeError:
        return 0
    except MemoryError:
        complain("There is not enough memory; close other programs or use a larger machine.")
        return 2
    return 0
