"""Tables of people: one row per record."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.data.reading_options import TableReading, check_reading
from sfumato.shape import Shape, find_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sfumato.anonymize.tables.artefact import TableArtefact
    from sfumato.anonymize.tables.decision import TableDecision
    from sfumato.attack.attack import Attack, Knowledge
    from sfumato.audit.verification.tables import TableVerification
    from sfumato.data.tables.table import Table
    from sfumato.promise import StatedPromise
    from sfumato.release import Release
    from sfumato.released.tables import TableView


def has_sets(schema: Any) -> bool:
    """Tell whether a schema has attributes of type set or place."""
    kinds = {attribute.type for attribute in getattr(schema, "attributes", {}).values()}
    return bool(kinds & {"set", "place"})


class Tables(Shape):
    """Rows and columns, in any engine that can count them."""

    name: ClassVar[str] = "table"
    files: ClassVar[tuple[str, ...]] = ("release.csv", "release.parquet")
    extras: ClassVar[tuple[str, ...]] = ("policy.yaml",)

    def read(self, source: Any, *, schema: Any = None, **options: Any) -> Any:
        """Bring a file, a frame or a mapping of columns in; with sets in it, hybrid records."""
        from sfumato.data.schema import Schema  # noqa: PLC0415 - loaded when used
        from sfumato.data.tables.sources import read  # noqa: PLC0415 - loaded when used

        rules = Schema.read(schema) if isinstance(schema, str | Path) else schema
        if has_sets(rules):
            return find_shape("hybrid").read(source, schema=rules, **options)
        check_reading(TableReading, options)
        return read(source, schema=rules, **options)

    def algorithms(self) -> Mapping[str, Callable[..., TableDecision]]:
        """Return the families of algorithms, and the best of those that are cheap."""
        from sfumato.anonymize.tables.release import ALGORITHMS, AUTO, decide  # noqa: PLC0415 - heavy

        return {name: partial(decide, algorithm=name) for name in (*ALGORITHMS, AUTO)}

    def apply(self, data: Table, decision: Any) -> TableArtefact:
        """Make the rows."""
        from sfumato.anonymize.tables.release import apply  # noqa: PLC0415 - heavy

        return apply(data, decision)

    def warnings(self, data: Table) -> Iterable[str]:
        """Say which columns released as they are tell people apart by themselves."""
        from sfumato.data.tables.singling_out import nearly_unique  # noqa: PLC0415 - loaded when used
        from sfumato.data.tables.unit import person_column  # noqa: PLC0415 - loaded when used

        person, schema = person_column(data), data.schema
        who = () if person is None else (person,)
        names = [n for n in schema.insensitive_names if n not in schema.accepted]
        return [found.warning for found in nearly_unique(data, names, who)] if names else []

    def losses(self, data: Table, decision: Any, artefact: Any) -> Mapping[str, float]:  # noqa: ARG002 - a decision tells its cost
        """Return the losses of the field."""
        from sfumato.anonymize.tables.release import measure  # noqa: PLC0415 - heavy

        return measure(data, decision)

    def view(self, source: Any, *, schema: Any = None, **options: Any) -> TableView:
        """Group a released file into its classes."""
        from sfumato.released.tables import see_table  # noqa: PLC0415 - loaded when used

        return see_table(source, schema=schema, **options)

    def verify(self, view: TableView, promise: StatedPromise, **options: Any) -> TableVerification:
        """Measure every class by formulas of its own."""
        from sfumato.audit.verification.tables import verify_table  # noqa: PLC0415 - loaded when used

        return verify_table(view, promise, **options)

    def evidence_options(self, release: Release) -> dict[str, Any]:
        """Return the population that a promise compares with."""
        people = release.decision.problem.population_source
        return {} if people is None else {"population": people}

    def original(self, release: Release) -> Table:
        """Return the quasi-identifiers and judged attributes of the original records."""
        from sfumato.anonymize.tables.original import original_table  # noqa: PLC0415 - loaded when used

        decision = release.decision
        return original_table(decision.problem, decision.people, release.schema.unit)

    def attacks(self, view: TableView, knowledge: Knowledge) -> Iterable[Attack]:
        """Return the attacks on classes and on people who are known."""
        from sfumato.attack.releases.tables import table_attacks  # noqa: PLC0415 - loads every attack

        return table_attacks(view, knowledge)

    def sections(self) -> tuple[Any, ...]:
        """Return what the report says of classes, attributes, risk and the search."""
        from sfumato.report.tables.sections import SECTIONS  # noqa: PLC0415 - loaded when used

        return SECTIONS

    def known(self, release: Release) -> Sequence[str]:
        """Name the quasi-identifiers."""
        artefact: Any = release.artefact
        return tuple(artefact.quasi)

    def save_to_database(self, release: Release, address: str, **options: Any) -> str:
        """Let the database that an address names write the rows."""
        from sfumato.release_table import save_table  # noqa: PLC0415 - rarely needed

        return save_table(release, address, **options).path

    def write_extras(self, release: Release, folder: Path) -> None:
        """Write the policy with which the next batch is treated alike."""
        if release.levels is None:
            return
        from sfumato.anonymize.tables.policy import Policy  # noqa: PLC0415 - loaded when used

        Policy.of(release).write(folder / "policy.yaml")


TABLES = Tables()
