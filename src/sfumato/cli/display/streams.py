"""Output that reaches any terminal, and ends quietly when nobody reads on.

* On a code page that lacks a character (Windows in the West, `LC_ALL=C`) it is spelled out: ε
  becomes `epsilon`, anything unknown its number. An answer that was paid for must not be lost.
* When the reader of a pipe leaves (`sfumato verify … | head`) the command ends with the exit code
  of a broken pipe, which is neither "the promise holds" nor "it does not".
"""

from __future__ import annotations

import codecs
import os
import sys
from typing import Any

READER_GONE = 141
"""Exit code of a command whose reader left: 128 and the number of the signal, as elsewhere."""

SPELLED = {
    "α": "alpha", "β": "beta", "δ": "delta", "Δ": "Delta", "ε": "epsilon", "θ": "theta",
    "λ": "lambda", "μ": "mu", "ρ": "rho", "σ": "sigma", "Σ": "sum", "φ": "phi", "π": "pi",
    "′": "'", "’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "…": "...",
    "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "±": "+/-", "×": "x", "·": "*", "√": "sqrt",
    "∞": "infinity", "→": "->", "⇒": "=>", "½": "1/2", "²": "^2", "•": "*", "✓": "yes", "✗": "no",
    "₀": "0", "₁": "1", "₂": "2", "ᵢ": "i", "│": "|", "─": "-", "━": "-", "┃": "|",
    "\u00a0": " ", "\u202f": " ",
}  # fmt: skip

_HANDLER = "sfumato.spell"


def spell(error: UnicodeError) -> tuple[str, int]:
    """Spell out what a code page cannot show; codecs call this."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(SPELLED.get(c) or _number(c) for c in lacking), error.end


def _number(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode("ascii")


class ReaderGone(SystemExit):
    """Nobody reads on: not an error of ours, and no verdict."""

    def __init__(self) -> None:
        super().__init__(READER_GONE)


class OutputStream:
    """A text stream that ends the command when its reader is gone."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: Any) -> Any:
        """Write a text."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            raise self._give_up() from None

    def flush(self) -> None:
        """Write what is still held back."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise self._give_up() from None

    def _give_up(self) -> ReaderGone:
        """Let what is left go nowhere, so that the end of the process is quiet, too."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        return ReaderGone()


def prepare_streams() -> None:
    """Make standard output and standard error take every character, and mind their readers."""
    codecs.register_error(_HANDLER, spell)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or not hasattr(stream, "reconfigure"):
            continue  # somebody else's, as in tests
        stream.reconfigure(errors=_HANDLER)
        setattr(sys, name, OutputStream(stream))
