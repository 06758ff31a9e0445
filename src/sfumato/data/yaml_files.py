"""YAML as people write it: every scalar is text, and a key that stands twice is an error.

Contract: `load_yaml` returns dictionaries, lists and strings only. Nothing is guessed, so
the country code `NO` stays a text, `007` keeps its zeros, and an empty value is "". This is the one
reader of such texts: who checks one and who uses it see the same, tags are refused, and neither
depth nor aliases make a short text long work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from sfumato.errors import InputError

_Base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


_NOTHING = ("~", "null", "Null", "NULL")
"""How YAML spells an empty value; in quotes they are texts."""


MOST_DEEP = 100
"""Levels of lists and mappings within one another."""

MOST_REPEATED = 200_000
"""Characters that a short text may come to by its aliases (`*name`); a longer one, twice itself."""


class _RefusedError(yaml.YAMLError):
    """Well-formed YAML that is not taken, with its line."""


@dataclass
class _Begun:
    """A list or mapping that is not at its end."""

    value: Any
    anchor: str | None
    before: int
    key: str | None = None
    lines: dict[str, int] = field(default_factory=dict)


class _Builder:
    """Builds texts, lists and mappings from the events of a parser, one after the other.

    Nothing here calls itself, so a deep text needs no deep stack. What an alias names is built once
    and shared; the room that it would take written out is bounded, because readers walk all of it.
    """

    def __init__(self, room: int) -> None:
        self.documents: list[Any] = []
        self._room, self._size = room, 0
        self._begun: list[_Begun] = []
        self._known: dict[str, tuple[Any, int]] = {}

    def take(self, event: Any) -> None:
        """Take the next event."""
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            self._repeat(str(event.anchor), line)
        elif isinstance(event, yaml.ScalarEvent):
            self._refuse_tag(event, line)
            empty = event.value in _NOTHING and not event.style
            text = "" if empty else event.value
            self._size += 1 + len(text)
            self._name(event.anchor, text, 1 + len(text))
            self._put(text, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._refuse_tag(event, line)
            self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], event, line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            done = self._begun.pop()
            self._name(done.anchor, done.value, self._size - done.before)
        elif isinstance(event, yaml.DocumentStartEvent) and self.documents:
            raise _RefusedError(f"line {line}: a second document begins; one is allowed")

    def _begin(self, value: Any, event: Any, line: int) -> None:
        if len(self._begun) >= MOST_DEEP:
            raise _RefusedError(f"line {line}: more than {MOST_DEEP} levels within one another")
        self._put(value, line)
        self._known.pop(event.anchor, None)  # within itself, a name is not known yet
        self._begun.append(_Begun(value, event.anchor, self._size))
        self._size += 1

    def _put(self, value: Any, line: int) -> None:
        """Put a value where it belongs: into the innermost list or mapping."""
        if not self._begun:
            self.documents.append(value)
            return
        into = self._begun[-1]
        if isinstance(into.value, list):
            into.value.append(value)
        elif into.key is not None:
            into.value[into.key], into.key = value, None
        elif not isinstance(value, str):
            raise _RefusedError(f"line {line}: a key must be a plain text")
        elif value in into.lines:
            raise _RefusedError(
                f"line {line}: '{value}' stands in line {into.lines[value]} too; each may be named "
                "once"
            )
        else:
            into.key, into.lines[value] = value, line

    def _repeat(self, name: str, line: int) -> None:
        if name not in self._known:
            raise _RefusedError(f"line {line}: '*{name}' stands before the end of what it names")
        value, size = self._known[name]
        self._size += size
        if self._size > self._room:
            raise _RefusedError(f"line {line}: '*{name}' makes it too large; write out less of it")
        self._put(value, line)

    def _name(self, anchor: str | None, value: Any, size: int) -> None:
        if anchor is not None:
            self._known[anchor] = value, size

    @staticmethod
    def _refuse_tag(event: Any, line: int) -> None:
        """Refuse what a reader could pass over, so that two readers understand two things."""
        if event.tag is not None:
            raise _RefusedError(f"line {line}: a tag ('{event.tag}') is not allowed; leave it out")


def load_yaml(path: str | Path, error: type[InputError], what: str) -> Any:
    """Read a YAML file; raise `error`, naming the file and line, if it cannot be read."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise error(f"{what} {path} cannot be read ({problem.strerror}).") from None
    except UnicodeDecodeError:
        raise error(f"{what} {path} is not UTF-8 text; save it in that encoding.") from None
    return parse_yaml(text, error, f"{what} {path}")


def parse_yaml(text: str, error: type[InputError], where: str) -> Any:
    """Parse YAML text; raise `error`, naming the place, if it is not well formed."""
    builder = _Builder(max(MOST_REPEATED, 2 * len(text)))
    try:
        for event in yaml.parse(text, Loader=_Base):
            builder.take(event)
    except _RefusedError as problem:
        raise error(f"{where}, {problem}.") from None
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 0
        raise error(f"{where}, line {line}: not valid YAML ({problem.problem}).") from None
    except (yaml.YAMLError, UnicodeEncodeError) as problem:
        raise error(f"{where} is not valid YAML ({problem}).") from None
    return builder.documents[0] if builder.documents else None


class _Dumper(yaml.SafeDumper):
    """Short lists on one line, as a person would write them."""


def _represent_list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    flat = all(isinstance(item, str | int | float) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=flat)


def _represent_none(dumper: yaml.SafeDumper, _: None) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:null", "")


_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(type(None), _represent_none)


def dump_entry(key: str, value: Any) -> str:
    """Return `key: value` on one line where that is short enough, else in blocks."""
    short = yaml.dump(
        {key: value},
        Dumper=_Dumper,
        default_flow_style=True,
        sort_keys=False,
        allow_unicode=True,
        width=10_000,
    ).strip()[1:-1]
    return short if len(short) <= 96 and "\n" not in short else dump_yaml({key: value})


def dump_yaml(value: Any) -> str:
    """Return YAML text that `parse_yaml` reads back."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
