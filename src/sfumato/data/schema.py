"""What each attribute is: the schema of a data set of people.

A `Schema` says for every attribute its role (identifier, quasi, sensitive, insensitive),
and may say its type, domain, hierarchy and weight; for the whole data set it names the
privacy unit and the purposes. It is one YAML file beside the data (`Schema.read`,
`schema.write`), or built in code by roles (`Schema(quasi=[...], sensitive=[...])`).

Others rely on: a schema never changes; names keep the order in which they were given; an
attribute that the schema does not name has no role and must not be released.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from sfumato.data.domains import Range, domain_leaves, natural_order, refuse_strangers
from sfumato.data.hierarchies.hierarchy import MISSING, Hierarchy, HierarchyRule
from sfumato.data.hierarchies.rule_specs import automatic_rule, rule_of, spec_of
from sfumato.data.schema_files import load_schema, write_schema
from sfumato.data.wording import did_you_mean, explained, its_columns, listed
from sfumato.errors import SchemaError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from sfumato.data.hierarchies.files import Reach

Role = Literal["identifier", "quasi", "sensitive", "insensitive"]
CellType = Literal["text", "integer", "number", "date"]
Type = CellType | Literal["set", "place"]
Origin = Literal["declared", "data", "paid"]

ROW_UNIT = "row"
"""The privacy unit where every record is a person; any other text names the person's column."""


def _as_rule(value: Any, info: ValidationInfo) -> Any:
    if value is None or value == "" or hasattr(value, "over"):
        return None if value == "" else value
    said = info.context or {}
    return rule_of(value, folder=said.get("folder"), files=said.get("files", "anywhere"))


def _as_domain(value: Any) -> Any:
    """Tell a range from a list: a tuple of two numbers in code, `{low, high}` in YAML."""
    if isinstance(value, tuple) and [type(v) in {int, float, Decimal} for v in value] == [True] * 2:
        return Range(low=value[0], high=value[1])
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        return tuple(MISSING if item is None else str(item) for item in value)
    return None if value == "" else value


def _or_none(value: Any) -> Any:
    return None if value == "" else value


class Attribute(Shown, BaseModel):
    """One column: what it is to an attacker, and how it may be made coarser."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, populate_by_name=True
    )

    role: Role = Field(
        description="its role: 'identifier' (never released), 'quasi' (can be known to others, "
        "generalised), 'sensitive' (to be protected) or 'insensitive' (released as it is)"
    )
    type: Annotated[Type | None, BeforeValidator(_or_none)] = None
    hierarchy: Annotated[
        Any,
        BeforeValidator(_as_rule),
        PlainSerializer(lambda rule: None if rule is None else spec_of(rule)),
        WithJsonSchema({"description": "a file, a rule or a tree; automatic where none is given"}),
    ] = None
    domain: Annotated[
        Annotated[Range | tuple[str, ...], Field(union_mode="left_to_right")] | None,
        BeforeValidator(_as_domain),
    ] = None
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    separator: str = Field(
        default="|",
        min_length=1,
        description="what parts the items within a cell of type 'set', where it is no list",
    )

    origin: Origin = Field(
        default="declared",
        validation_alias="from",
        description="where its type and domain, or that it names the person, come from: 'declared' "
        "by the owner, found in the 'data', or 'paid' for with a budget",
    )

    linkable: Annotated[
        str | None,
        BeforeValidator(_or_none),
        Field(
            description="'accepted, <reason>' for an insensitive attribute with nearly as many "
            "values as records: why no other file has it"
        ),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _role_alone(cls, value: Any) -> Any:
        return {"role": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _accepted_with_a_reason(self) -> Attribute:
        if self.linkable is not None and (self.role != "insensitive" or not self.accepted):
            raise ValueError(
                "'linkable' belongs to an insensitive attribute and says 'accepted, ' and the "
                'reason, such as linkable: "accepted, drawn at random for this file"'
            )
        return self

    @property
    def accepted(self) -> str:
        """Why it may be released although nearly unique; empty where that was not accepted."""
        word, _, reason = (self.linkable or "").partition(",")
        return reason.strip() if word.strip() == "accepted" else ""

    @property
    def cell_type(self) -> CellType | None:
        """The type where a cell is one value: neither a set nor a place."""
        return None if self.type in {"set", "place"} else self.type  # type: ignore[return-value]  # excluded above

    @property
    def rule(self) -> HierarchyRule:
        """The declared hierarchy, or the one chosen by the values and the declared type."""
        declared: HierarchyRule | None = self.hierarchy
        return automatic_rule(self.type) if declared is None else declared


class Schema(Shown, BaseModel):
    """The attributes of a data set, its privacy unit and its purposes.

    >>> import sfumato as sf
    >>> sf.Schema(quasi=["age"], sensitive=["disease"]).quasi_names
    ('age',)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    attributes: dict[str, Attribute]
    unit: str = "row"
    purposes: tuple[str, ...] = ()
    public_types: bool | tuple[str, ...] = False
    _source: str = PrivateAttr(default="The schema")

    def __str__(self) -> str:
        """Tell roles, types and rules in a line per attribute."""
        lines = [
            f"  {name}: {', '.join(filter(None, [a.role, a.type, a.hierarchy and 'generalised']))}"
            for name, a in self.attributes.items()
        ]
        unit = "" if self.unit == ROW_UNIT else f", a person is a {self.unit}"
        return "\n".join([f"Schema of {len(lines)} attributes{unit}", *lines])

    def __repr__(self) -> str:
        return str(self)

    def __init__(
        self,
        *,
        identifiers: Iterable[str] = (),
        quasi: Mapping[str, Any] | Iterable[str] = (),
        sensitive: Mapping[str, Any] | Iterable[str] = (),
        insensitive: Iterable[str] = (),
        weights: Mapping[str, float] | None = None,
        purposes: Iterable[str] = (),
        unit: str = "row",
        public_types: bool | Iterable[str] = False,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Name the attributes by role.

        `quasi` and `sensitive` may map a name to its hierarchy; a quasi-identifier without
        one gets a hierarchy chosen by its values. `attributes` gives whole `Attribute`s.
        `public_types` names the columns, or says of all, of which it may be known what their
        cells look like, so that questions need no declared type.
        """
        merged: dict[str, Any] = dict(attributes or {})
        roles = {
            "identifier": identifiers,
            "quasi": quasi,
            "sensitive": sensitive,
            "insensitive": insensitive,
        }
        for role, names in roles.items():
            for name, rule in _named(names, role):
                if name in merged:
                    raise SchemaError(
                        f"Attribute '{name}' is named twice in the schema; each attribute has "
                        "one role."
                    )
                merged[name] = {"role": role, "hierarchy": rule}
        merged = {n: {"role": v} if isinstance(v, str) else v for n, v in merged.items()}
        _put_weights(merged, weights or {})
        try:
            super().__init__(
                attributes={name: _attribute(name, value) for name, value in merged.items()},
                unit=unit,
                purposes=tuple(purposes),
                public_types=public_types is True or tuple(public_types or ()) or False,
            )
        except ValidationError as error:
            raise SchemaError(f"The schema: {explained(error, Schema)}") from None

    # -- files ------------------------------------------------------------------------

    @classmethod
    def read(
        cls, path: str | Path, *, text: str | None = None, files: Reach = "anywhere"
    ) -> Schema:
        """Read a YAML schema; hierarchy files are found relative to it.

        `text` is what the file is going to hold, where it is not there yet; `files` says where
        hierarchy files may lie: "anywhere", "beneath" its folder, or "nowhere".
        """
        file = Path(path)
        raw = load_schema(file, text)
        attributes = {
            name: _read_attribute(name, value, file, files)
            for name, value in raw["attributes"].items()
        }
        schema = cls(
            attributes=attributes, unit=raw["unit"], purposes=raw["purposes"],
            public_types=raw["public_types"],
        )  # fmt: skip
        return schema.named(f"Schema {file}")

    def write(self, path: str | Path, *, replace: bool = True) -> None:
        """Write the schema as YAML; `Schema.read` gives an equal one back."""
        write_schema(self, path, replace=replace)

    def named(self, source: str) -> Schema:
        """Return the same schema, to be called `source` in messages."""
        copy = self.model_copy()
        copy._source = source  # noqa: SLF001 - a copy of our own
        return copy

    @property
    def source(self) -> str:
        """What messages call it: its file, where it was read from one."""
        return self._source

    # -- asking it --------------------------------------------------------------------

    def _names(self, role: Role) -> tuple[str, ...]:
        return tuple(name for name, a in self.attributes.items() if a.role == role)

    @property
    def identifier_names(self) -> tuple[str, ...]:
        """Attributes that name a person: removed, or replaced by pseudonyms."""
        return self._names("identifier")

    @property
    def quasi_names(self) -> tuple[str, ...]:
        """Attributes others may know of a person: generalised."""
        return self._names("quasi")

    @property
    def sensitive_names(self) -> tuple[str, ...]:
        """Attributes nobody may learn of a person: kept, and protected."""
        return self._names("sensitive")

    @property
    def insensitive_names(self) -> tuple[str, ...]:
        """Attributes that tell nothing about a person: released as they are."""
        return self._names("insensitive")

    @property
    def accepted(self) -> dict[str, str]:
        """Insensitive attributes that may be nearly unique, and the reason that was given."""
        return {name: a.accepted for name, a in self.attributes.items() if a.accepted}

    @property
    def weights(self) -> tuple[float, ...]:
        """How much each quasi-identifier matters, aligned with `quasi_names`."""
        return tuple(self.attributes[name].weight for name in self.quasi_names)

    def attribute(self, name: str) -> Attribute:
        """Return the attribute, or say that the schema does not name it."""
        if name not in self.attributes:
            raise SchemaError(
                f"{self._source} has no attribute '{name}'; it names {listed(self.attributes)}."
                f"{did_you_mean(name, self.attributes)}"
            )
        return self.attributes[name]

    def hierarchy_for(
        self, name: str, values: Iterable[str], counts: Mapping[str, int] | None = None
    ) -> Hierarchy:
        """Return the attribute's hierarchy bound to the values it has (and may have).

        `counts` says how often each value occurs, for rules that go by frequency.
        """
        attribute = self.attribute(name)
        present = list(values)
        refuse_strangers(attribute.domain, present, name, self._source)
        leaves = dict.fromkeys([*domain_leaves(attribute.domain, attribute.type), *present])
        return attribute.rule.over(list(leaves), name, counts)

    def sensitive_hierarchy(
        self, name: str, values: Iterable[str], counts: Mapping[str, int] | None = None
    ) -> Hierarchy | None:
        """Return the declared hierarchy bound to the values, or None where none is declared."""
        if self.attribute(name).hierarchy is None:
            return None
        return self.hierarchy_for(name, values, counts)

    def order_of(self, name: str, values: Iterable[str]) -> tuple[str, ...]:
        """Return the distinct values in their natural order, a missing cell last.

        That is the order of the declared domain; else numbers by size; else the order of
        the leaves of the declared hierarchy; else the order of the text.
        """
        attribute = self.attribute(name)
        distinct = list(dict.fromkeys(values))
        refuse_strangers(attribute.domain, distinct, name, self._source)
        return natural_order(
            distinct, attribute.domain, lambda: self.sensitive_hierarchy(name, distinct)
        )

    def check_public(self, stated: bool | Collection[str] = False) -> None:
        """Refuse facts that come from the data, where what is released must not depend on them.

        One record may have made them what they are. `stated` names columns, or says of all, of
        which the owner says elsewhere that they may be known.
        """
        if True in (stated, self.public_types):
            return
        public = {*(stated or ()), *(self.public_types or ())}  # type: ignore[misc]  # no True
        found = [n for n, a in self.attributes.items() if a.origin == "data" and n not in public]
        if found:
            raise SchemaError(
                f"{self._source} says of {listed(found)} what was found in the data, where one "
                "record may have made the difference; look at it, then remove 'from: data' where "
                "it is right, or name the columns in 'public_types' (True for all) where it may be "
                "known."
            )

    def check_columns(self, columns: Sequence[str], source: str) -> tuple[str, ...]:
        """Check that the data has what the schema names; return the columns it does not name.

        Those columns have no role, so a release leaves them out.
        """
        repeated = [name for name, number in Counter(columns).items() if number > 1]
        if repeated:
            raise SchemaError(
                f"{source} has more than one column called {listed(repeated)}; give each column "
                "a name of its own."
            )
        for name, attribute in self.attributes.items():
            if name not in columns:
                raise SchemaError(
                    f"{self._source} names the {attribute.role} attribute '{name}', which "
                    f"{source} does not have; {its_columns(columns, name)}"
                )
        return tuple(name for name in columns if name not in self.attributes)


def _named(names: Mapping[str, Any] | Iterable[str], role: str) -> list[tuple[str, Any]]:
    if isinstance(names, str):
        raise SchemaError(
            f"The {role} attributes must be a list of names, but the text '{names}' was given; "
            f"write ['{names}']."
        )
    if isinstance(names, Mapping):
        return list(names.items())
    return [(name, None) for name in names]


def _put_weights(merged: dict[str, Any], weights: Mapping[str, float]) -> None:
    roles = {n: v.get("role") if isinstance(v, dict) else v.role for n, v in merged.items()}
    quasi = [name for name, role in roles.items() if role == "quasi"]
    for name, weight in weights.items():
        if name not in quasi:
            raise SchemaError(
                f"A weight is given for '{name}', which is not among the quasi-identifiers "
                f"({listed(quasi)}); only they are generalised.{did_you_mean(name, quasi)}"
            )
        given = merged[name]
        merged[name] = {**(given if isinstance(given, dict) else dict(given)), "weight": weight}


def _read_attribute(name: str, value: Any, path: Path, files: Reach) -> Attribute:
    where = f"Schema {path}, attribute '{name}'"
    if not isinstance(value, dict | str):
        raise SchemaError(
            f"{where}: expected a role, such as 'quasi', or a mapping with at least 'role'."
        )
    try:
        return Attribute.model_validate(value, context={"folder": path.parent, "files": files})
    except ValidationError as error:
        raise SchemaError(f"{where}: {explained(error, Attribute)}") from None


def _attribute(name: Any, value: Any) -> Attribute:
    if not isinstance(name, str) or not name:
        raise SchemaError(f"An attribute's name must be a text that is not empty, not {name!r}.")
    if isinstance(value, Attribute):
        return value
    try:
        return Attribute.model_validate(value)
    except ValidationError as error:
        raise SchemaError(
            f"The schema, attribute '{name}': {explained(error, Attribute)}"
        ) from None
