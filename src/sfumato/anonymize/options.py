"""What may be asked of `sf.anonymize` beside the promise, as a type checker and an editor know it.

Contract: `Options` names every option of every built-in algorithm, so that a slip is found before
the program runs; which algorithm takes which is checked when it is called, by `check_options`. The
options of a shape of your own are not here: hand them on as a ``dict[str, Any]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.anonymize.tables.algorithms.progress import Progress


class Options(TypedDict, total=False):
    """Every option of the built-in algorithms; each is explained where `sf.anonymize` is."""

    progress: Progress | None
    seed: int | None
    # tables
    suppression: float
    objective: str
    population: Any
    pseudonym_key: bytes | None
    order: Literal["shuffle", "keep"]
    time_limit: float | None
    heuristic: bool
    width: int | None
    strict: bool
    ranges: bool
    scope: Literal["local", "full-domain"]
    steps: Literal["loss", "fewest-children", "information-gain"]
    target: str | None
    # sets
    deletion: bool
    meaning: Literal["set", "bag"]
    cluster: int | None
    # hybrid records
    strategy: Literal["both", "rows", "sets"]
    row_bound: float | None
    set_bound: float
    # trees
    cut: bool
    # graphs
    edits: Literal["both", "add", "remove"]
    keep: Sequence[str]
    # trajectories
    places: int
    levels: int | Mapping[str, tuple[int, int] | int]  # of tables, lowest and highest per attribute
    time_bin: float | None
    metres: float
    seconds: float
    speed: float
    cuts: int | None
    price: float
