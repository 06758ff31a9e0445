"""What it means to be anonymous: promises about equivalence classes.

A `Definition` judges classes: sizes and sensitive histograms in, one verdict per class
out. Definitions are combined with `&`. A user's own subclass needs one method, `judge`,
and then works with every algorithm, with verification and in reports; the rest of the class
says it better than the defaults do: its name (`__str__`), a sentence about it (`in_words`), the
shapes of data it makes sense for, what it asks of a schema, and its option on the command line.

Two properties let algorithms prune; both default to the safe answer, no:

* `monotone`: a class that holds still holds when any records join it;
* `union_closed`: the union of classes that all hold, holds. Every monotone definition is
  union-closed. Convex conditions (entropy, recursive diversity, closeness, likeness) are
  union-closed without being monotone, as long as the reference distribution of the whole
  table stays the same, that is, while nothing is suppressed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import ParameterError, SchemaError
from sfumato.lazy import later
from sfumato.promise import Entry, fitting, home_of, is_built_in
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
    from sfumato.anonymize.definitions.option import Option
    from sfumato.data.schema import Schema
else:
    np = later("numpy")  # a definition is also read for its option alone

LARGEST = 2**53

TOLERANCE = 1e-9
"""Slack for comparisons of floating-point frequencies: a promise of t = 0.2 is not
broken by the last bit of a sum of fractions."""


class Definition(Written, ABC):
    """A promise about every equivalence class of a release."""

    shapes: ClassVar[frozenset[str] | None] = frozenset({"table", "hybrid"})
    """The shapes of data it makes sense for; None for every shape."""
    monotone: ClassVar[bool] = False
    union_closed: ClassVar[bool] = False
    needs_population: ClassVar[bool] = False
    of_whole: ClassVar[bool] = False
    """Whether the promise is about all classes of a release together (`keep_together`). `judge`
    then asks of each class what suffices; the two properties above are about both."""
    option: ClassVar[Option | None] = None

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive attributes whose histograms `judge` wants to see."""
        return ()

    @property
    def minimum_size(self) -> int:
        """No class smaller than this can hold; algorithms use it as a cheap first test."""
        return 1

    @property
    def combination(self) -> tuple[str, ...]:
        """Quasi-identifiers by which its groups are formed; empty where it is all of them.

        Groups by some of them span equivalence classes, and `judge` sees their sizes alone.
        """
        return ()

    @property
    def per_class(self) -> bool:
        """Whether an equivalence class can be judged by its own records alone."""
        return not self.combination and not self.needs_population and not self.of_whole

    @property
    def allows_suppression(self) -> bool:
        """Whether records may be left out without breaking it."""
        return True

    @abstractmethod
    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Return for each class whether it holds."""

    def keep_together(self, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which classes, of these sizes, to keep so that a promise about all of them holds.

        Called where `of_whole` is true. Whatever it returns for what it kept must be all of it.
        """
        return np.ones(len(sizes), dtype=np.bool_)

    def most_together(self, sizes: NDArray[np.int64]) -> int:
        """Return how many records of classes of these sizes, or of finer ones, can be released.

        A bound for search, as is `most_classes`: all of them, unless you know better.
        """
        return int(sizes.sum())

    def most_classes(self, records: int) -> int:
        """Return into how many classes so many released records can fall."""
        return records

    def most_released(self, classes: Classes) -> NDArray[np.int64]:
        """Return how many records of each class can be released once it is cut into finer ones.

        A bound for search: unless you know better it is none of them where the definition is
        monotone and the class fails, and all otherwise.
        """
        if not self.monotone:
            return classes.sizes
        return np.where(self.judge(classes), classes.sizes, 0)

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Return how far each class is from holding: 0 where it holds, larger is worse.

        Only a guide for search; `judge` decides.
        """
        return np.where(self.judge(classes), 0.0, 1.0)

    @property
    def parts(self) -> tuple[Definition, ...]:
        """The definitions that must all hold; a single one is its own only part."""
        return (self,)

    def check_shape(self, shape: str) -> None:
        """Refuse data of a shape for which the definition says nothing."""
        for part in self.parts:
            if part.shapes is not None and shape not in part.shapes:
                raise ParameterError(
                    f"{part} says nothing about data of the shape '{shape}'; it is about "
                    f"{listed(sorted(part.shapes))}. For '{shape}' there are "
                    f"{listed(fitting(shape))}."
                )

    def check_schema(self, schema: Schema) -> None:
        """Refuse a schema under which the promise could not be kept, or would not mean much."""
        for name in self.sensitive:
            role = schema.attribute(name).role
            if role in {"quasi", "identifier"}:
                raise SchemaError(
                    f"{self} protects '{name}', but {schema.source} says it is "
                    f"{'a quasi-identifier' if role == 'quasi' else 'an identifier'}; give it the "
                    "role 'sensitive'."
                )
        for name in self.combination:
            if name not in schema.quasi_names:
                raise SchemaError(
                    f"{self} is about '{name}', which is not a quasi-identifier; those are "
                    f"{listed(schema.quasi_names)}.{did_you_mean(name, schema.quasi_names)}"
                )

    def to_json(self) -> Entry:
        """Return its name and parameters; a definition of your own is written in words."""
        if not is_built_in(type(self)):
            return {"definition": home_of(type(self)), "text": str(self)}
        entry: Entry = {"definition": type(self).__name__}
        for item in fields(self):  # type: ignore[arg-type]  # every built-in is a dataclass
            value = getattr(self, item.name)
            entry[item.name] = list(value) if isinstance(value, tuple) else value
        return entry

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Self:
        """Return the instance that `to_json` wrote."""
        known = sorted(item.name for item in fields(cls))  # type: ignore[arg-type]  # as above
        given = {key: value for key, value in entry.items() if key != "definition"}
        strangers = sorted(set(given) - set(known))
        if strangers:
            raise ParameterError(
                f"{cls.__name__} has no parameter {', '.join(strangers)}; it has "
                f"{', '.join(known)}."
            )
        try:
            return cls(**given)
        except TypeError:
            raise ParameterError(
                f"{cls.__name__} needs {', '.join(known)}; given were "
                f"{', '.join(sorted(given)) or 'none'}."
            ) from None

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - for those who list them
        """Say in one sentence what is promised; `names` are the quasi-identifiers.

        Unless you say it better, that is the first line of the class's docstring.
        """
        written = cleandoc(type(self).__doc__ or "")
        if not written or written.startswith(f"{type(self).__name__}("):  # as dataclasses write it
            return f"{self} holds in every class."
        return written.splitlines()[0]

    def __str__(self) -> str:
        """Name it in messages and reports; a definition of your own may say it better."""
        return repr(self) if is_dataclass(self) else type(self).__name__

    def __and__(self, other: Definition) -> Definition:
        if not isinstance(other, Definition):
            raise ParameterError(
                f"A definition can be joined with another one, not with {other!r}."
            )
        return Conjunction((*self.parts, *other.parts))


@dataclass(frozen=True)
class Conjunction(Definition):
    """All of several definitions at once, made by `&`."""

    members: tuple[Definition, ...]

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Monotone when every part is.

        Which classes a promise about the whole release leaves out decides what remains of key
        combinations, so both together need not be.
        """
        whole = any(part.of_whole for part in self.members)
        spanning = any(part.combination for part in self.members)
        return all(part.monotone for part in self.members) and not (whole and spanning)

    @property
    def union_closed(self) -> bool:  # type: ignore[override]
        """Union-closed when every part is."""
        return all(part.union_closed or part.monotone for part in self.members)

    @property
    def needs_population(self) -> bool:  # type: ignore[override]
        """True when any part compares with a population."""
        return any(part.needs_population for part in self.members)

    @property
    def shapes(self) -> frozenset[str] | None:  # type: ignore[override]
        """Shapes for which every part makes sense."""
        narrow = [part.shapes for part in self.members if part.shapes is not None]
        return frozenset.intersection(*narrow) if narrow else None

    @property
    def per_class(self) -> bool:
        """True when every part can be judged class by class."""
        return all(part.per_class for part in self.members)

    @property
    def allows_suppression(self) -> bool:
        """True when every part allows it."""
        return all(part.allows_suppression for part in self.members)

    def check_shape(self, shape: str) -> None:
        """Refuse what a part refuses."""
        for part in self.members:
            part.check_shape(shape)

    def check_schema(self, schema: Schema) -> None:
        """Refuse what a part refuses."""
        for part in self.members:
            part.check_schema(schema)

    def to_json(self) -> Entry:
        """Return the parts in one mapping; a release lists them itself (`promise.to_json`)."""
        return {"all": [part.to_json() for part in self.members]}

    def in_words(self, names: Sequence[str] = ()) -> str:
        """Say one sentence per part."""
        return " ".join(part.in_words(names) for part in self.members)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Sensitive attributes of all parts, each once."""
        return tuple(dict.fromkeys(name for part in self.members for name in part.sensitive))

    @property
    def minimum_size(self) -> int:
        """The largest minimum of the parts."""
        return max(part.minimum_size for part in self.members)

    @property
    def parts(self) -> tuple[Definition, ...]:
        """The members."""
        return self.members

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where every part holds."""
        verdict = np.ones(len(classes), dtype=np.bool_)
        for part in self.members:
            verdict &= part.judge(classes)
        return verdict

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Sum of the parts' shortfalls."""
        total = np.zeros(len(classes))
        for part in self.members:
            total += part.shortfall(classes)
        return total

    def __str__(self) -> str:
        return " and ".join(str(part) for part in self.members)


@dataclass(frozen=True)
class AsRead(Definition):
    """A promise that must hold for values as they are, and for those that a reader takes for one.

    Algorithms are given it where data have values such as `hiv` and `HIV`, for verification asks
    for both. It is never the promise of a release, which states what it is made of.
    """

    member: Definition

    @property
    def sensitive(self) -> tuple[str, ...]:
        """What the promise judges."""
        return self.member.sensitive

    @property
    def minimum_size(self) -> int:
        """No class smaller than this can hold."""
        return self.member.minimum_size

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """As the promise is, whatever the values are."""
        return self.member.monotone

    @property
    def union_closed(self) -> bool:  # type: ignore[override]
        """As the promise is, whatever the values are."""
        return self.member.union_closed

    @property
    def allows_suppression(self) -> bool:
        """As the promise does."""
        return self.member.allows_suppression

    def judge(self, classes: Classes) -> NDArray[np.bool_]:
        """Hold where it holds in both ways to take the values."""
        verdict: NDArray[np.bool_] = self.member.judge(classes)
        return verdict & self.member.judge(self._read(classes))

    def shortfall(self, classes: Classes) -> NDArray[np.float64]:
        """Return the larger of both."""
        plain, read = self.member.shortfall(classes), self.member.shortfall(self._read(classes))
        return np.maximum(plain, read)

    def _read(self, classes: Classes) -> Classes:
        seen = {name: classes.sensitive[name].as_read() for name in self.sensitive}
        return replace(classes, sensitive={**classes.sensitive, **seen})

    def __str__(self) -> str:
        return str(self.member)


def as_read(promise: Definition, values: Mapping[str, Sequence[str]]) -> Definition:
    """Ask of every part about values that look alike to hold for these taken together, too."""
    from sfumato.anonymize.definitions.classes import read_as  # noqa: PLC0415 - loads NumPy

    alike = {
        name
        for name, texts in values.items()
        if len({read_as(text) for text in texts}) < len(texts)
    }
    if not alike:
        return promise
    parts = tuple(
        AsRead(part) if alike.intersection(part.sensitive) and part.per_class else part
        for part in promise.parts
    )
    return parts[0] if len(parts) == 1 else Conjunction(parts)


class SensitiveDefinition(Definition):
    """A promise about one sensitive attribute inside each class."""

    attribute: str

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The one attribute judged."""
        return (self.attribute,)

    def histogram(self, classes: Classes) -> SensitiveHistogram:
        """Return the histogram of the attribute, or say that it is absent."""
        try:
            return classes.sensitive[self.attribute]
        except KeyError:
            raise ParameterError(
                f"{self} needs the sensitive attribute '{self.attribute}', which the data does "
                f"not have; available: {', '.join(classes.sensitive) or 'none'}."
            ) from None


def positive_integer(name: str, value: object) -> int:
    """Return `value` as an integer of at least 1, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}.")
    if value > LARGEST:
        raise ParameterError(f"{name} must be at most {LARGEST}, not {value!r}.")
    return int(value)


def number_between(
    name: str, value: object, low: float, high: float, *, open_low: bool = False
) -> float:
    """Return `value` as a float within [low, high], or raise."""
    allowed = f"{'more than' if open_low else 'at least'} {low:g} and at most {high:g}"
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise ParameterError(f"{name} must be a number of {allowed}, not {value!r}.")
    number = float(value)
    if not (low <= number <= high) or (open_low and number == low):
        raise ParameterError(f"{name} must be {allowed}, not {value!r}.")
    return number
