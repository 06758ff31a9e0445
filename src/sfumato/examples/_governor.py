"""The Governor's case with people who do not exist: hospital records and a voters' list.

In 1997 Latanya Sweeney bought a voters' list for twenty dollars and found the Governor of
Massachusetts in hospital records without names, by zip code, birth date and sex. Here is the
same with made-up people: `records` are released without names, `voters` is public, and one
person is in both and on the front page. Nobody is real, and nothing here is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.errors import ParameterError
from sfumato.examples._people import DIAGNOSES, FIRST_NAMES, LAST_NAMES, diagnosis_odds
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.schema import Schema

NAME = "William of the Front Page"
HOME, BORN, SEX = "02138", "1945-07-31", "male"


@dataclass(frozen=True, eq=False)
class GovernorsCase(Shown):
    """Released records without names, the public voters' list, and whom to look for."""

    records: dict[str, NDArray[Any]]
    voters: dict[str, NDArray[Any]]
    name: str
    schema: Schema

    @property
    def known(self) -> dict[str, str]:
        """What every newspaper says about the Governor."""
        return {"zip": HOME, "born": BORN, "sex": SEX}


def governors_case(n: int, seed: int) -> GovernorsCase:
    """Return `n` patients and twice as many voters; the patients are among the voters."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 10:
        raise ParameterError(f"The number of patients must be a whole number from 10, not {n!r}.")
    generator = np.random.Generator(np.random.PCG64(seed))
    voters = _voters(2 * n, generator)
    inside = np.concatenate([[0], 1 + generator.permutation(2 * n - 1)[: n - 1]])
    age = 1997 - voters["born"][inside].astype("U4").astype(np.int64)
    female = (voters["sex"][inside] == "female").astype(np.int64)
    odds = diagnosis_odds()[female * 10 + np.clip(age // 10, 0, 9)]
    limits = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    drawn = (generator.random(n)[:, None] > limits).sum(axis=1)
    diagnosis = np.array([*DIAGNOSES], dtype=object)[np.minimum(drawn, len(DIAGNOSES) - 1)]
    order = generator.permutation(n)
    records = {name: voters[name][inside][order] for name in ("zip", "born", "sex")}
    return GovernorsCase({**records, "diagnosis": diagnosis[order]}, voters, NAME, _schema())


def _voters(n: int, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
    female = generator.integers(0, 2, n)
    first = FIRST_NAMES[female, generator.integers(0, FIRST_NAMES.shape[1], n)]
    last = LAST_NAMES[generator.integers(0, len(LAST_NAMES), n)]
    day = np.datetime64("1910-01-01") + generator.integers(0, 25_000, n)
    voters: dict[str, NDArray[Any]] = {
        "name": first + " " + last,
        "zip": np.array([f"0213{d}" for d in generator.integers(0, 10, n)], dtype=object),
        "born": day.astype("datetime64[D]").astype(str).astype(object),
        "sex": np.array(["male", "female"], dtype=object)[female],
    }
    # Six people share his birthday; three are men, and he alone lives where he does.
    for i, (zip_code, sex) in enumerate(
        [(HOME, SEX), ("02139", SEX), ("02137", SEX)] + 3 * [(HOME, "female")]
    ):
        voters["zip"][i], voters["born"][i], voters["sex"][i] = zip_code, BORN, sex
    alike = (voters["zip"] == HOME) & (voters["born"] == BORN) & (voters["sex"] == SEX)
    alike[0] = False
    voters["born"][alike] = "1945-08-01"
    voters["name"][0] = NAME
    return voters


def _schema() -> Schema:
    from sfumato.data.schema import Schema  # noqa: PLC0415 - pydantic loads when used

    return Schema(
        identifiers=[],
        quasi={
            "zip": Hierarchy.mask(5),
            "born": Hierarchy.dates(levels=("month", "year", "decade")),
            "sex": {"flat": None},
        },
        sensitive=["diagnosis"],
    )
