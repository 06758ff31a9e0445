"""JSON and JSON lines, in and out; numbers keep the digits with which they are written."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any

from sfumato.data.trees.nested import NumberText
from sfumato.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


def read_text(path: Path) -> str:
    """Return the text of a file, unpacked where it is packed."""
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text.") from None
    except (OSError, EOFError, zlib.error):
        raise DataError(f"{path} cannot be read.") from None


def read_json(path: Path) -> list[Any]:
    """Read a list of records, one record, or an object whose only list is that of the records."""
    found = _parse(read_text(path), f"{path}")
    if isinstance(found, list):
        return found
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        if len(found) == 1 and len(lists) == 1:
            return lists[0]
        return [found]
    raise DataError(f"{path} holds neither a list of records nor a record.")


def read_json_lines(path: Path) -> list[Any]:
    """Read one record per line."""
    lines = read_text(path).split("\n")
    return [
        _parse(line, f"{path}, line {number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(
            text,
            object_pairs_hook=_once,
            parse_int=NumberText,
            parse_float=NumberText,
            parse_constant=_no_constant,
        )
    except _Twice:
        raise DataError(f"{place}: an object has a key twice; each key stands once.") from None
    except RecursionError:
        raise DataError(f"{place} is nested too deeply to be records of people.") from None
    except ValueError:
        raise DataError(f"{place} is not valid JSON.") from None


class _Twice(Exception):  # noqa: N818 - never leaves this module
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Twice
    return found


def _no_constant(_name: str) -> None:
    """Take NaN and Infinity, which are not JSON, for missing."""


def write_json(path: Path, records: list[Any]) -> None:
    """Write a list of records, one per line."""
    body = ",\n".join(record_text(record) for record in records)
    path.write_text(f"[\n{body}\n]\n" if records else "[]\n", encoding="utf-8")


def write_json_lines(path: Path, records: list[Any]) -> None:
    """Write one record per line."""
    path.write_text("".join(f"{record_text(record)}\n" for record in records), encoding="utf-8")


def record_text(value: Any) -> str:
    """Return a value as JSON; numbers as they came."""
    if isinstance(value, dict):
        inner = [f"{json.dumps(k, ensure_ascii=False)}: {record_text(v)}" for k, v in value.items()]
        return f"{{{', '.join(inner)}}}"
    if isinstance(value, list):
        return f"[{', '.join(record_text(each) for each in value)}]"
    if isinstance(value, NumberText):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
