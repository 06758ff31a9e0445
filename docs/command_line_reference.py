"""Write docs/reference/command-line.md from the help texts: python docs/command_line_reference.py"""

import os
import subprocess
import sys
from pathlib import Path

import typer

from sfumato.cli.commands import application

HEAD = """# The command line

Every command and option, as `--help` prints them. Results go to standard output, messages to standard error; what a code page
lacks is spelled out. A failure is one line on standard error that begins with `error:`, never a traceback, never a cell of the data.

| exit code | means |
|---|---|
| 0 | all is well |
| 1 | a promise does not hold or cannot be met |
| 2 | the input is at fault: a file, a schema, an option, a question that cannot be answered privately; nothing was computed |
| 3 | refused: a budget does not cover it, a purpose is not named, a right is missing |
| 70 | an internal error; where a budget was charged, the message says so |
| 74 | output could not be written: a file, a folder or a table |
| 75 | not available just now: a database is down, memory or disk is short, the same question is being answered elsewhere. Try again later |
| 130 | stopped by Ctrl-C |
| 141 | the reader of a pipe left |

For every command, before its name or after it:

- `--json` prints one object: `command`, `exit_code`, `ok`, `result` (plain values, null where a command has none), `tables` (a `title`
  and `rows`), `lines`, `notes`, `error` (null when all is well). `sfumato local perturb --json` means the form of its
  reports; there, write `sfumato --json local perturb`.
- `-q` prints errors only.

Tab completion of commands and options: `sfumato --install-completion` in bash, zsh, fish or PowerShell, then open a new shell;
`sfumato --show-completion` prints the script, to be put where you want it.
"""


def help_of(*words):
    code = "from sfumato.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"},
    )
    return done.stdout.rstrip()


def sections(commands, before=(), depth=2):
    for name, command in commands.items():
        words = (*before, name)
        yield f"\n{'#' * depth} `sfumato {' '.join(words)}`\n\n```text\n{help_of(*words)}\n```\n"
        yield from sections(getattr(command, "commands", {}), words, depth + 1)


if __name__ == "__main__":
    target = Path(__file__).parent / "reference" / "command-line.md"
    target.write_text(
        HEAD + "".join(sections(typer.main.get_command(application()).commands)), "utf-8"
    )
