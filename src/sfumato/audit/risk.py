"""Re-identification risk of a release, by what the adversary knows.

* Prosecutor: knows that the target is in the release. Risk of a record: 1 / size of its
  class.
* Journalist: wants to re-identify anybody, and knows the population the release is drawn
  from. Risk of a record: 1 / people of the population who fit its class.
* Marketer: links the whole release with the population and wants many right matches. Risk:
  the expected share of right matches, Σ over classes of size / people who fit, over all
  records; without a population, the number of classes over the records.

(El Emam: Guide to the De-Identification of Personal Health Information, 2013.) Sample
uniqueness is the share of records that are alone in their class. How many of them are
alone in the population can only be estimated: see `uniqueness`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.anonymize.definitions.definition import number_between
from sfumato.errors import DataError, ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Risk(Shown):
    """Risks between 0 and 1; `journalist` figures are None where no population was given.

    `prosecutor_above` and `journalist_above` are shares of records whose risk exceeds
    `threshold`.
    """

    threshold: float
    prosecutor: float
    prosecutor_mean: float
    prosecutor_above: float
    marketer: float
    sample_uniqueness: float
    journalist: float | None = None
    journalist_mean: float | None = None
    journalist_above: float | None = None
    population_uniqueness: float | None = None

    def rows(self) -> list[tuple[str, float]]:
        """Return name and figure of everything that is known, to be printed."""
        named: list[tuple[str, float | None]] = [
            ("prosecutor risk, highest", self.prosecutor),
            ("prosecutor risk, mean", self.prosecutor_mean),
            (f"records with prosecutor risk above {self.threshold:g}", self.prosecutor_above),
            ("journalist risk, highest", self.journalist),
            ("journalist risk, mean", self.journalist_mean),
            (f"records with journalist risk above {self.threshold:g}", self.journalist_above),
            ("marketer risk", self.marketer),
            ("records unique in the release", self.sample_uniqueness),
            ("records unique in the population", self.population_uniqueness),
        ]
        return [(name, value) for name, value in named if value is not None]


def reidentification_risk(
    sizes: NDArray[np.int64],
    population: NDArray[np.int64] | None = None,
    *,
    threshold: float = 0.2,
) -> Risk:
    """Return the risks of classes of these sizes.

    `population` is the number of people who fit each class. A record fits itself, so a
    class that more records than people fit shows a population that is not one.
    """
    number_between("threshold", threshold, 0, 1)
    if not len(sizes) or sizes.min() < 1:
        raise ParameterError("Risk needs at least one class, and every class at least one record.")
    records = int(sizes.sum())
    mean = len(sizes) / records
    known = {
        "prosecutor": float(1 / sizes.min()),
        "prosecutor_mean": mean,
        "prosecutor_above": float(sizes[1 / sizes > threshold].sum() / records),
        "marketer": mean,
        "sample_uniqueness": float((sizes == 1).sum() / records),
    }
    if population is None:
        return Risk(threshold, **known)
    if (population < sizes).any():
        raise DataError(
            f"{int((population < sizes).sum())} class(es) of the release have more records than "
            "people of the population who fit them; the population must contain everybody in "
            "the release."
        )
    expected = float((sizes / population).sum() / records)
    known["marketer"] = expected
    return Risk(
        threshold,
        **known,
        journalist=float(1 / population.min()),
        journalist_mean=expected,
        journalist_above=float(sizes[1 / population > threshold].sum() / records),
        population_uniqueness=float((population == 1).sum() / records),
    )
