"""How everything a user is handed shows itself: in a notebook, at a prompt, in a log.

Contract: a noun that inherits from `Shown` has a plain text and HTML, made in one way of its own
words (`__str__`), its fields, and its `picture` where it can draw one; never of an address, and
never of cells: arrays, frames and long collections are told by their size, since a representation
ends up in logs. `Written` is for what a user writes down, such as a promise: its representation is
the call that makes it, defaults left out. A class may define its own `__str__`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields, is_dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_LISTED = 6
"""Members of a collection that are told one by one; of more, the number is told."""


def _has_own(cls: type, name: str) -> bool:
    """Tell whether a class, or one that it inherits from, says itself how it is shown."""
    home = next(base for base in cls.__mro__ if name in vars(base))
    ours = home.__module__ == __name__ or vars(home)[name].__name__ == "_represent_"
    return home is not object and not ours


class Shown:
    """Shows itself as text and as HTML."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Keep `dataclass` from writing a representation of its own over ours."""
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls) and not _has_own(cls, "__repr__"):
            setattr(cls, "__repr__", cls._represent_)  # noqa: B010 - a type checker knows better

    def _represent_(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if _has_own(type(self), "__repr__"):
            return repr(self)
        lines = [f"  {name}: {value}" for name, value in _rows(self)]
        return "\n".join([type(self).__name__, *lines])

    def _repr_html_(self) -> str:
        return show_html(self)


class Written(Shown):
    """Shows itself as the call that makes it, and in words as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        return repr(self)

    def _represent_(self) -> str:
        held: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        stated = (
            f"{field.name}={in_call(getattr(self, field.name))}"
            for field in held
            if field.repr and field.init and not _is_default(self, field)
        )
        return f"{type(self).__qualname__}({', '.join(stated)})"


def _is_default(noun: Any, field: Field[Any]) -> bool:
    value = getattr(noun, field.name)
    if field.default is not MISSING:
        default = field.default
    elif field.default_factory is not MISSING:
        default = field.default_factory()
    else:
        return False
    try:
        return bool(value == default) and type(value) is type(default)
    except (ValueError, TypeError):  # arrays have no one truth
        return False


def in_call(value: Any) -> str:
    """Write a value as in a call; a fraction as the number it is, a long collection by its size."""
    if isinstance(value, Fraction):
        exact = value.denominator == 1 or Fraction(repr(float(value))) == value
        return f"{float(value):g}" if exact and abs(value) < 10**6 else f"Fraction('{value}')"
    if isinstance(value, (str, bytes, bool, Integral, float, type(None))):
        return repr(value)
    if isinstance(value, (list, tuple)) and len(value) <= MOST_LISTED:
        inner = ", ".join(map(in_call, value))
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, AbstractSet) and len(value) <= MOST_LISTED:
        return f"{{{', '.join(sorted(map(in_call, value)))}}}"
    if isinstance(value, Shown):
        return repr(value)
    return tell(value)


def tell(value: Any) -> str:
    """Tell a value in a few words, without cells of data."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, Integral):
        return f"{int(value):,}"
    if isinstance(value, Real):
        return f"{float(value):.6g}"
    if isinstance(value, Shown):
        return str(value).partition("\n")[0]
    if isinstance(value, type):
        return value.__name__
    return _tell_many(value) if isinstance(value, Collection) else _tell_other(value)


def _tell_many(values: Collection[Any]) -> str:
    size = getattr(values, "shape", None)
    if isinstance(size, tuple) and all(isinstance(length, int) for length in size):
        return f"{' × '.join(f'{length:,}' for length in size) or 'one'} values"
    if not values:
        return "none"
    few = len(values) <= MOST_LISTED
    if few and isinstance(values, Mapping):
        return ", ".join(f"{tell(name)}: {tell(value)}" for name, value in values.items())
    if few and isinstance(values, (list, tuple, AbstractSet)):
        told = [tell(value) for value in values]
        return ", ".join(sorted(told) if isinstance(values, AbstractSet) else told)
    return f"{len(values):,} {'entries' if isinstance(values, Mapping) else 'values'}"


def _tell_other(value: Any) -> str:
    if callable(value):
        return str(getattr(value, "__name__", None) or type(value).__name__)
    home = next(base for base in type(value).__mro__ if "__repr__" in vars(base))
    plain = home is object or is_dataclass(value)
    return f"a {type(value).__name__}" if plain else repr(value).partition("\n")[0]


def _rows(noun: Any) -> list[tuple[str, str]]:
    """Return the fields of a noun and what they hold, in words."""
    if is_dataclass(noun):
        names = [field.name for field in fields(noun) if field.repr]
    else:
        names = [name for name in vars(noun) if not name.startswith("_")] if _open(noun) else []
    held = ((name, getattr(noun, name, None)) for name in names if not name.startswith("_"))
    return [(name.replace("_", " "), tell(value)) for name, value in held if value is not None]


def _open(noun: Any) -> bool:
    return hasattr(noun, "__dict__")


# -- HTML ------------------------------------------------------------------------------------


def show_html(noun: Any) -> str:
    """Show a noun as HTML: its name, what it says of itself, its picture."""
    from markupsafe import Markup  # noqa: PLC0415 - loaded when shown

    drawn = _draw(getattr(noun, "picture", None))
    text = str(noun)
    if isinstance(noun, Written):
        inner = Markup("<p>{}</p><p><code>{}</code></p>").format(text, repr(noun))
        inner = inner if text != repr(noun) else Markup("<p><code>{}</code></p>").format(text)
    elif not (_has_own(type(noun), "__str__") or _has_own(type(noun), "__repr__")):
        line = Markup('<tr><th style="text-align:left">{}</th><td>{}</td></tr>')
        inner = Markup("<p><strong>{}</strong></p><table>{}</table>").format(
            type(noun).__name__, Markup().join(line.format(*row) for row in _rows(noun))
        )
    else:
        inner = Markup('<pre style="white-space:pre-wrap">{}</pre>').format(text)
    picture = Markup(drawn)  # noqa: S704 - our own SVG, its texts escaped where they are drawn
    return str(Markup('<div class="sfumato">{}{}</div>').format(inner, picture))


class Picture(str):
    """A drawing as SVG text; a notebook draws it, and a prompt does not print its marks."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<Picture: SVG of {len(self):,} characters; write it to a file that ends in .svg>"


def _draw(picture: Callable[[], str] | None) -> str:
    """Return the picture of a noun; nothing where it has none, or none yet."""
    from sfumato.errors import SfumatoError  # noqa: PLC0415 - loaded when shown

    if not callable(picture):
        return ""
    try:
        drawn = picture()
    except (SfumatoError, AttributeError, TypeError):  # not fitted, or it asks what to draw
        return ""
    return drawn if isinstance(drawn, str) and drawn.lstrip().startswith("<svg") else ""
