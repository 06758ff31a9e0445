"""People who do not exist: example data with its schema and hierarchies.

`patients(n, seed=…)` makes a table of fictional patients in which age, place, sex,
nationality, job, diagnosis and salary hang together as they do in life: diagnoses follow
age and sex, salaries follow job, age and place, nationalities follow place. Nothing is
downloaded and nobody is real. `visits(n, seed=…)` makes their visits of a year, several each.

The numbers come from a seeded generator so that everybody sees the same fiction. That is
right for examples and wrong for releases: nothing here is private or meant to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.hierarchies.hierarchy import MISSING, Hierarchy
from sfumato.errors import OutputError, ParameterError
from sfumato.examples._people import (
    DIAGNOSES,
    FIRST_NAMES,
    JOBS,
    LAST_NAMES,
    NATIONALITIES,
    diagnosis_odds,
    job_odds,
    nationality_odds,
)
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.schema import Schema
    from sfumato.examples._governor import GovernorsCase

AREAS = 8
STREETS = 25
"""Areas share the first three digits of a postal code; each has so many codes."""

YOUNGEST, OLDEST = 18, 97


@dataclass(frozen=True, eq=False)
class Example(Shown):
    """A made-up data set: its columns, and the schema that belongs to it."""

    name: str
    columns: dict[str, NDArray[Any]]
    schema: Schema

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(next(iter(self.columns.values())))

    def write(self, folder: str | Path) -> Path:
        """Write data, schema and hierarchies into a folder; return the path of the data."""
        from sfumato.data.schema import Schema  # noqa: PLC0415 - pydantic loads when used

        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{target} cannot be made a folder ({error.strerror}).") from None
        attributes = dict(self.schema.attributes)
        for name, attribute in attributes.items():
            if isinstance(attribute.hierarchy, Hierarchy):
                file = target / f"{name}.csv"
                attribute.hierarchy.write(file)
                update = {"hierarchy": Hierarchy.read(file)}
                attributes[name] = attribute.model_copy(update=update)
        schema = Schema(attributes=attributes, unit=self.schema.unit, purposes=self.schema.purposes)
        data = target / f"{self.name}.csv"
        _write_csv(self.columns, data)
        schema.write(target / f"{self.name}.yaml")
        return data


def _write_csv(columns: dict[str, NDArray[Any]], path: Path) -> None:
    """Write through the engine into a temporary name, so that the file appears whole."""
    from sfumato.data.engines.duckdb import DuckDB, quoted, quoted_text  # noqa: PLC0415 - loaded when used

    engine = DuckDB()
    part = path.with_name(f".{path.name}.part")
    try:
        cells = ", ".join(
            f"nullif({quoted(name)}, '') AS {quoted(name)}"
            if column.dtype == object
            else quoted(name)
            for name, column in columns.items()
        )
        engine.connection.execute("SET preserve_insertion_order = true")
        query = f"SELECT {cells} FROM {engine.register(columns)}"  # noqa: S608 - names are quoted
        engine.connection.execute(
            f"COPY ({query}) TO {quoted_text(str(part))} (FORMAT csv, HEADER)"
        )
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
        engine.close()


def patients(n: int = 1_000, seed: int = 0) -> Example:
    """Return `n` fictional patients; the same seed gives the same people."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ParameterError(f"The number of patients must be a whole number from 1, not {n!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterError(f"The seed must be a whole number from 0, not {seed!r}.")
    return Example("patients", _people(n, np.random.Generator(np.random.PCG64(seed))), _schema())


def visits(n: int = 1_000, seed: int = 0) -> Example:
    """Return a year of visits of `n` fictional patients, several rows each."""
    from sfumato.examples._visits import visits_of, visits_schema  # noqa: PLC0415 - loaded when used

    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ParameterError(f"The number of patients must be a whole number from 1, not {n!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterError(f"The seed must be a whole number from 0, not {seed!r}.")
    generator = np.random.Generator(np.random.PCG64(seed))
    return Example("visits", visits_of(n, generator), visits_schema())


def governor(n: int = 4_000, seed: int = 0) -> GovernorsCase:
    """Return the Governor's case: `n` hospital records without names, and a voters' list."""
    from sfumato.examples._governor import governors_case  # noqa: PLC0415 - loaded when used

    return governors_case(n, seed)


def _people(n: int, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
    def chance() -> NDArray[np.float64]:
        return generator.random(n)

    age = _ages(chance(), chance())
    area = _drawn(np.array([[8, 6, 5, 4, 3, 2, 1, 1]], float), np.zeros(n, np.int64), chance())
    street = (chance() ** 1.5 * STREETS).astype(np.int64)
    female = (chance() < 0.49 + 0.002 * np.maximum(age - 50, 0)).astype(np.int64)
    nationality = _drawn(nationality_odds(AREAS), area, chance())
    decade = age // 10
    job = _drawn(job_odds(), female * 10 + decade, chance())
    diagnosis = _drawn(diagnosis_odds(), female * 10 + decade, chance())
    salary = _salaries(job, age, female, area, chance(), chance())
    jobs = np.array([*JOBS], dtype=object)[job]
    jobs[chance() < 0.01] = MISSING
    first = FIRST_NAMES[female, (chance() * FIRST_NAMES.shape[1]).astype(np.int64)]
    last = LAST_NAMES[(chance() ** 1.3 * len(LAST_NAMES)).astype(np.int64)]
    postal = np.array(
        [str(13000 + 150 * a + s) for a in range(AREAS) for s in range(STREETS)], object
    )
    return {
        "patient": _numbers(n, generator),
        "name": first + " " + last,
        "age": age,
        "zip": postal[area * STREETS + street],
        "sex": np.array(["male", "female"], dtype=object)[female],
        "nationality": np.array([*NATIONALITIES], dtype=object)[nationality],
        "job": jobs,
        "diagnosis": np.array([*DIAGNOSES], dtype=object)[diagnosis],
        "salary": salary,
    }


def _numbers(n: int, generator: np.random.Generator) -> NDArray[Any]:
    """Return a number for each patient that tells nothing about the order of the rows."""
    width = max(6, len(str(n - 1)))
    order = np.argsort(generator.random(n), kind="stable")
    return np.char.add("P", np.char.zfill(order.astype(str), width)).astype(object)


def _ages(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return ages of patients: adults of all ages, and more of the old than among all people."""
    working = YOUNGEST + first * 50
    old = 60 + first**0.8 * (OLDEST - 60)
    return np.where(second < 0.72, working, old).astype(np.int64)


def _drawn(
    odds: NDArray[np.float64], group: NDArray[np.int64], chance: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return a category for each record, drawn with the odds of its group."""
    limits = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    drawn = np.zeros(len(group), dtype=np.int64)
    for category in range(odds.shape[1] - 1):
        drawn += chance >= limits[group, category]
    return drawn


def _salaries(
    job: NDArray[np.int64],
    age: NDArray[np.int64],
    female: NDArray[np.int64],
    area: NDArray[np.int64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return yearly salaries in whole thousands: by job, age, area, a gap, and luck."""
    typical = np.array([pay for _, pay in JOBS.values()], dtype=np.float64)[job]
    luck = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)
    experience = 1 + 0.01 * np.clip(age - 25, 0, 30)
    place = 1.12 - 0.03 * area
    gap = np.where(female == 1, 0.93, 1.0)
    salary = typical * experience * place * gap * np.exp(0.2 * luck)
    thousands: NDArray[np.int64] = np.rint(salary / 1000).astype(np.int64)
    return np.clip(thousands, 6, 400) * 1000


def _schema() -> Schema:
    from sfumato.data.schema import Schema  # noqa: PLC0415 - pydantic loads when used

    roles = {
        "patient": ("identifier", "text", None),
        "name": ("identifier", "text", None),
        "age": ("quasi", "integer", Hierarchy.intervals(width=5, levels=4, low=0, high=100)),
        "zip": ("quasi", "text", Hierarchy.mask(5)),
        "sex": ("quasi", "text", {"flat": None}),
        "nationality": ("quasi", "text", _tree({n: (r,) for n, (r, _) in NATIONALITIES.items()})),
        "job": ("quasi", "text", _tree({name: (branch,) for name, (branch, _) in JOBS.items()})),
        "diagnosis": ("sensitive", "text", _tree({n: (c,) for n, (c, _) in DIAGNOSES.items()})),
        "salary": ("sensitive", "integer", Hierarchy.intervals(width=10_000, levels=4, low=0)),
    }
    return Schema(
        attributes={
            name: {"role": role, "type": type_, "hierarchy": hierarchy}
            for name, (role, type_, hierarchy) in roles.items()
        },
        purposes=["research"],
    )


def _tree(above: dict[str, tuple[str, ...]]) -> Hierarchy:
    return Hierarchy.from_rows([(leaf, *nodes, "*") for leaf, nodes in above.items()])
