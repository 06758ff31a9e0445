"""A policy: one release's decision, to be repeated on the next batch of the same data.

A policy holds the level of every quasi-identifier, the hierarchies as they were, the promise,
and how much may be suppressed. `apply` generalises a new batch in exactly the same way,
suppresses the classes that fail, within the limit, and judges what is left; if the promise
cannot be kept like that, nothing is released. Each batch keeps the promise on its own.

The same value is generalised in the same way in every batch: hierarchies are stored row by
row, and a rule may place a new value only if no old one moves (`data.pinned_hierarchy`). A
value that cannot be placed is an error.

A policy contains no counts and no records. It does list the values of the quasi-identifiers,
because its hierarchies do, so it stays in the house.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.anonymize.definitions.definition import number_between
from sfumato.anonymize.loss.measures import check_objective
from sfumato.anonymize.run import assemble
from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluator
from sfumato.anonymize.tables.apply.rows import RowSettings
from sfumato.anonymize.tables.policy_files import bound_hierarchy, read_policy, write_policy
from sfumato.anonymize.tables.recoding import FullDomain, SearchRecord
from sfumato.anonymize.tables.release import prepare, settle_decision
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.pinned_hierarchy import pinned
from sfumato.data.hierarchies.rule_specs import spec_of
from sfumato.data.schema import Schema
from sfumato.data.tables.sources import read
from sfumato.data.tables.table import value_counts
from sfumato.data.wording import listed
from sfumato.errors import HierarchyError, ParameterError, SchemaError, Unsatisfiable
from sfumato.representation import Shown
from sfumato.shape import find_shape

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.data.hierarchies.hierarchy import HierarchyRule
    from sfumato.data.schema import Attribute
    from sfumato.release import Release

LABEL = "levels of an earlier release, applied to a new batch; the promise was judged again"


@dataclass(frozen=True, eq=False)
class Policy(Shown):
    """Levels, hierarchies and promise of a release, ready for the next batch.

    `levels` maps each quasi-identifier to its level; the quasi-identifiers of `schema` carry
    their hierarchies bound. `suppression` is the share of records that may be left out.

    >>> import sfumato as sf
    >>> people = sf.read({"age": [30, 30, 41, 41]}, schema=sf.Schema(quasi=["age"]))
    >>> sf.Policy.of(sf.anonymize(people, sf.KAnonymity(2))).levels
    {'age': 0}
    """

    promise: Definition
    levels: Mapping[str, int]
    schema: Schema
    suppression: float = 0.0
    objective: str = "LM"

    def __post_init__(self) -> None:
        number_between("suppression", self.suppression, 0, 1)
        check_objective(self.objective)
        _check_levels(self.levels, self.schema)

    @classmethod
    def of(cls, release: Release) -> Policy:
        """Return the policy a full-domain release was made by."""
        problem, recoding = release.decision.problem, release.decision.recoding
        if not isinstance(recoding, FullDomain):
            raise ParameterError(
                "Only a full-domain release has a policy; the classes of this one "
                f"(algorithm '{recoding.record.algorithm}') exist only in its own data. Use "
                "algorithm='optimal' for what is to be repeated."
            )
        schema = _pinned_schema(release.schema, problem)
        levels = dict(zip(schema.quasi_names, map(int, recoding.levels), strict=True))
        share = release.settings.get("suppression", problem.suppression_limit / problem.rows)
        return cls(problem.definition, levels, schema, float(share), problem.objective)

    # -- files ------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | Path, *, promise: Definition | None = None) -> Policy:
        """Read a policy; a promise with a definition of your own has to be given again."""
        return read_policy(cls, path, promise)

    def write(self, path: str | Path) -> None:
        """Write the policy as YAML; it appears whole or not at all."""
        write_policy(self, path)

    # -- the next batch -----------------------------------------------------------------

    def apply(
        self,
        data: Any,
        schema: Schema | str | Path | None = None,
        *,
        suppression: float | None = None,
        population: Any = None,
        pseudonym_key: bytes | None = None,
        order: Literal["shuffle", "keep"] = "shuffle",
        seed: int | None = None,
    ) -> Release:
        """Return a release of a new batch, generalised as the first one was.

        `schema` may give the other attributes new roles; the quasi-identifiers must be those of
        the policy, and their hierarchies are always the policy's. The remaining options are
        those of `sf.anonymize`; `suppression` replaces the policy's limit for this batch.
        """
        table = read(data, schema=schema)
        table = table.with_schema(self._merged(table.known_schema))
        if order not in {"shuffle", "keep"}:
            raise ParameterError(f"The order must be 'shuffle' or 'keep', not {order!r}.")
        settings = RowSettings(pseudonym_key, order, seed)
        share = number_between(
            "suppression", self.suppression if suppression is None else suppression, 0, 1
        )
        prepared = prepare(table, self.promise, settings, population, self.objective, share)
        recoding = (
            self._recoding(prepared.problem, share)
            if prepared.source is None
            else self._levels(prepared.problem)  # people are counted exactly when it is settled
        )
        asked = {"algorithm": "policy", "suppression": share, "objective": self.objective}
        decision = settle_decision(prepared, recoding, settings, asked, fixed=True)
        return assemble(find_shape("table"), table, self.promise, decision, algorithm="policy")

    def uncovered(
        self, data: Any, schema: Schema | str | Path | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Return the values of a batch that have no place in the policy, by quasi-identifier.

        For the owner, who adds them to the hierarchies: they are cells of the data.
        """
        table = read(data, schema=schema)
        table = table.with_schema(self._merged(table.known_schema))
        found = {}
        for name in self.schema.quasi_names:
            rule = self.schema.attributes[name].hierarchy
            assert rule is not None
            values = value_counts(table.count([name]), 0)
            unplaced = tuple(value for value in values if not _is_placed(rule, value, name))
            if unplaced:
                found[name] = unplaced
        return found

    def _merged(self, given: Schema | None) -> Schema:
        """Return the roles of the given schema with the policy's quasi-identifiers."""
        if given is None:
            return self.schema
        mine, theirs = set(self.schema.quasi_names), set(given.quasi_names)
        if mine != theirs:
            raise SchemaError(
                f"{given.source} names {listed(sorted(theirs))} as quasi-identifiers, but the "
                f"policy generalises {listed(sorted(mine))}; they must be the same. Change the "
                "roles, or anonymise anew."
            )
        if given.unit != self.schema.unit:
            raise SchemaError(
                f"{given.source} names '{given.unit}' as the privacy unit, but the policy protects "
                f"one '{self.schema.unit}'; a policy keeps its unit. Anonymise anew."
            )
        attributes = {
            name: self.schema.attributes[name] if name in mine else attribute
            for name, attribute in given.attributes.items()
        }
        schema = Schema(attributes=attributes, unit=given.unit, purposes=given.purposes)
        return schema.named(given.source)

    def _levels(self, problem: Problem) -> FullDomain:
        """Return the policy's levels with nobody left out."""
        levels = tuple(self.levels[name] for name in problem.table.quasi_names)
        record = SearchRecord("policy", label=LABEL, facts={"objective": self.objective})
        return FullDomain(levels, np.zeros(problem.table.distinct, dtype=np.bool_), record)

    def _recoding(self, problem: Problem, share: float) -> FullDomain:
        """Judge the batch at the policy's levels; raise where too much must be suppressed."""
        levels = tuple(self.levels[name] for name in problem.table.quasi_names)
        evaluator = Evaluator(problem)
        found = evaluator.evaluate(levels)
        if found.suppressed > problem.suppression_limit or found.kept_classes == 0:
            raise Unsatisfiable(
                f"At the levels of the policy this batch does not keep {self.promise}: "
                f"{found.suppressed:,} of {problem.rows:,} records would have to be suppressed, "
                f"and {problem.suppression_limit:,} may be (suppression {share:g}). Wait for a "
                "larger batch, allow more suppression, or anonymise it anew."
            )
        facts = {"suppressed": found.suppressed, "objective": self.objective}
        record = SearchRecord("policy", label=LABEL, facts=facts)
        return FullDomain(levels, evaluator.suppressed_tuples(levels), record)


def _is_placed(rule: HierarchyRule, value: str, name: str) -> bool:
    try:
        rule.over([value], name)
    except HierarchyError:
        return False
    return True


def _check_levels(levels: Mapping[str, int], schema: Schema) -> None:
    if set(levels) != set(schema.quasi_names):
        raise SchemaError(
            f"A policy needs a level for each quasi-identifier ({listed(schema.quasi_names)}), "
            f"but has levels for {listed(levels)}."
        )
    for name, level in levels.items():
        hierarchy = bound_hierarchy(schema.attributes[name])
        if hierarchy is None:
            raise SchemaError(
                f"The hierarchy of '{name}' in a policy must list its rows, so that the next "
                "batch is generalised as this one was."
            )
        if not 0 <= level < hierarchy.height:
            raise SchemaError(
                f"The level of '{name}' must be from 0 to {hierarchy.height - 1}, the root of its "
                f"hierarchy, not {level}."
            )


def _pinned_schema(schema: Schema, problem: Problem) -> Schema:
    """Return the schema with the hierarchies of the quasi-identifiers as they were used."""
    used = dict(zip(schema.quasi_names, problem.hierarchies, strict=True))
    attributes = {}
    for name, attribute in schema.attributes.items():
        rule: HierarchyRule | None
        if name in used:
            rule = pinned(replace(used[name], source="the policy"), attribute.rule, name)
        else:
            rule = _writable(attribute, problem.sensitive_hierarchies.get(name))
        attributes[name] = attribute.model_copy(update={"hierarchy": rule})
    return Schema(attributes=attributes, unit=schema.unit, purposes=schema.purposes)


def _writable(attribute: Attribute, bound: Hierarchy | None) -> HierarchyRule | None:
    """Return a rule that a file can hold; one that exists only in code as it was bound."""
    rule: HierarchyRule | None = attribute.hierarchy
    if rule is None or isinstance(rule, Hierarchy):
        return None if rule is None else replace(rule, source="the policy")
    try:
        spec_of(rule)
    except ParameterError:
        return bound
    return rule
