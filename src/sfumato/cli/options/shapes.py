"""Commands about data of some shape: `--shape NAME` chooses what options there are.

A shape of the user's own is named as module:name; the module may register it itself, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.options.bridge import give_parameters
from sfumato.cli.options.objects import import_object
from sfumato.requests.shapes import ShapedCommand, with_options
from sfumato.shape import Shape, find_shape, register_shape, shape_names

if TYPE_CHECKING:
    from collections.abc import Callable


def command_for(
    command: Callable[[Any], None], name: str, model: type[ShapedCommand], shape: str
) -> Callable[..., None]:
    """Return a command with the options of a shape."""
    return give_parameters(command, with_options(model, shape_named(shape), name))


def shape_named(name: str) -> Shape:
    """Find a shape by its name, or import one of the user's own."""
    if ":" not in name:
        return find_shape(name)
    found: Shape = import_object("--shape", name)
    if found.name not in shape_names():
        register_shape(found)
    return found
