"""YAML as people write it: every scalar is text, and a key that stands twice is an error.

Contract: `load_yaml` returns dictionaries, lists and strings only. Nothing is guessed, so
the country code `NO` stays a text, `007` keeps its zeros, and an empty value is "".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from sfumato.errors import InputError

_Base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


_NOTHING = ("~", "null", "Null", "NULL")
"""How YAML spells an empty value; in quotes they are texts."""


class _DuplicateKeyError(yaml.YAMLError):
    """A mapping names one key twice."""


class _TextLoader(_Base):  # type: ignore[misc]  # the compiled loader has no types
    """Build plain texts, and refuse what a dictionary would silently drop."""

    def construct_scalar(self, node: Any) -> str:
        text: str = super().construct_scalar(node)
        return "" if text in _NOTHING and not node.style else text

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: dict[Any, int] = {}
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                raise _DuplicateKeyError(f"line {line}: a key must be a plain text")
            if key in seen:
                raise _DuplicateKeyError(
                    f"line {line}: '{key}' stands in line {seen[key]} too; each may be named once"
                )
            seen[key] = line
        built: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return built


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
    try:
        return yaml.load(text, Loader=_TextLoader)  # noqa: S506 - builds texts only, no objects
    except _DuplicateKeyError as problem:
        raise error(f"{where}, {problem}.") from None
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 0
        raise error(f"{where}, line {line}: not valid YAML ({problem.problem}).") from None
    except (yaml.YAMLError, RecursionError) as problem:
        raise error(f"{where} is not valid YAML ({problem}).") from None


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
