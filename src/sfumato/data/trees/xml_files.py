"""XML, in and out: the elements within the outermost one are the records.

Attributes of an element are its labels; elements within it are its children, those with nothing but
text as plain values. So whether an element is there is part of a tree's structure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree  # noqa: ICN001 - its full name, as in GraphML
from xml.sax.saxutils import escape, quoteattr

from sfumato.data.trees.json_files import read_text
from sfumato.data.trees.nested import DEEPEST, plain_text
from sfumato.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "text"
"""The name of the label that holds the text of an element with attributes or children."""


def read_xml(path: Path) -> tuple[list[Any], tuple[str, str]]:
    """Return the records, and what the outermost element and the records are called."""
    text = read_text(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise DataError(f"{path} declares a document type or entities, which records do not need.")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - without entities nothing to expand
    except (ElementTree.ParseError, ValueError):
        raise DataError(f"{path} is not well-formed XML.") from None
    names = {_tag(child) for child in root}
    if len(names) > 1:
        raise DataError(
            f"{path} has elements of {len(names)} names where the records should be; all records "
            "must have one name."
        )
    objects: set[str] = set()
    for record in root:
        _find_objects(record, "", objects, 0, path)
    return [_nest(record, "", objects) for record in root], (
        _tag(root),
        next(iter(names), "record"),
    )


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _find_objects(
    element: ElementTree.Element, path: str, objects: set[str], depth: int, file: Path
) -> None:
    """Gather the paths of elements that somewhere have attributes or elements within."""
    if depth > DEEPEST:
        raise DataError(f"{file} has records of more than {DEEPEST} levels.")
    for child in element:
        place = f"{path}.{_tag(child)}" if path else _tag(child)
        if child.attrib or len(child):
            objects.add(place)
        _find_objects(child, place, objects, depth + 1, file)


def _nest(element: ElementTree.Element, path: str, objects: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        str(name).rpartition("}")[2]: value for name, value in element.attrib.items()
    }
    for child in element:
        name = _tag(child)
        place = f"{path}.{name}" if path else name
        if isinstance(found.setdefault(name, []), str):
            raise DataError(f"'{place}' is an attribute and an element; give them two names.")
        if place in objects:
            found[name].append(_nest(child, place, objects))
        else:
            found[name].append((child.text or "").strip())
    text = (element.text or "").strip()
    if text and path:
        found[TEXT] = text
    return found


def write_xml(path: Path, records: list[Any], tags: tuple[str, str]) -> None:
    """Write records as elements: labels as attributes, children as elements."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<{tags[0]}>"]
    for record in records:
        _element(record, tags[1], 1, lines)
    path.write_text("\n".join([*lines, f"</{tags[0]}>", ""]), encoding="utf-8")


def _element(value: Any, tag: str, depth: int, lines: list[str]) -> None:
    space = "  " * depth
    if not isinstance(value, dict):
        lines.append(f"{space}<{tag}>{escape(plain_text(value))}</{tag}>")
        return
    inner: list[str] = []
    shown = ""
    for key, below in value.items():
        if isinstance(below, list | dict):
            for each in below if isinstance(below, list) else [below]:
                _element(each, key, depth + 1, inner)
        elif below is not None:
            shown += f" {key}={quoteattr(plain_text(below))}"
    if inner:
        lines += [f"{space}<{tag}{shown}>", *inner, f"{space}</{tag}>"]
    else:
        lines.append(f"{space}<{tag}{shown}/>")
