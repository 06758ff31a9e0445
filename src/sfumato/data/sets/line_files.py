"""Files of one set per line: items parted by blanks (.dat), or by commas with quotes (.csv)."""

from __future__ import annotations

import csv
import gzip
import io
from typing import TYPE_CHECKING

from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LINE_ENDINGS = (".dat", ".txt", ".basket")


def is_line_file(path: Path) -> bool:
    """Tell whether a file's name says that it holds one set per line, packed or not."""
    stem = path.with_suffix("") if path.suffix == ".gz" else path
    return stem.suffix.lower() in LINE_ENDINGS


def read_lines(path: Path, *, commas: bool = False, encoding: str = "utf-8") -> Iterator[list[str]]:
    """Give the items of every line, one line at a time; a line of nothing is an empty set."""
    known = "utf-8-sig" if encoding == "utf-8" else encoding
    try:
        with (
            path.open("rb") as raw,
            gzip.open(raw) if path.suffix == ".gz" else raw as content,
            io.TextIOWrapper(content, encoding=known, newline="" if commas else None) as text,
        ):
            if commas:
                for row in csv.reader(_without_nul(text)):
                    yield [cell for cell in row if cell]
            else:
                for line in _without_nul(text):
                    yield line.split()
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or "it is not a whole file"
        raise DataError(f"{path} cannot be read ({why}).") from None
    except (UnicodeDecodeError, LookupError):
        raise DataError(f"{path} is not text in {encoding}; name its encoding.") from None
    except _HoldsNul as found:
        raise DataError(
            f"{path}, line {found.args[0]}, holds a NUL byte, as binary files do; give a text file."
        ) from None
    except csv.Error:
        raise DataError(f"{path} cannot be read as CSV with one set per line.") from None


class _HoldsNul(Exception):  # noqa: N818 - nobody sees it
    """A line holds what no text does; its number."""


def _without_nul(lines: Iterable[str]) -> Iterator[str]:
    """Give lines as they are, unless one holds a NUL byte."""
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise _HoldsNul(number)
        yield line


def lines_fit(labels: Iterable[str]) -> bool:
    """Tell whether labels can be parted by blanks."""
    return all(label and not any(mark.isspace() for mark in label) for label in labels)


def write_lines(path: Path, sets: Iterable[list[str]], *, commas: bool = False) -> None:
    """Write one set per line."""
    with path.open("w", encoding="utf-8", newline="") as file:
        if commas:
            csv.writer(file, lineterminator="\n").writerows(sets)
        else:
            file.writelines(" ".join(items) + "\n" for items in sets)
