"""What can be asked about a column before anything is released: `sfumato hierarchy`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from sfumato.requests.request import Request, argument, option, piece


class RuleName(StrEnum):
    """The rules by which a hierarchy can be built."""

    automatic = "automatic"
    intervals = "intervals"
    quantiles = "quantiles"
    cuts = "cuts"
    mask = "mask"
    dates = "dates"
    frequency = "frequency"
    flat = "flat"


class Side(StrEnum):
    """Where masking begins."""

    left = "left"
    right = "right"


class Rule(Request):
    """A rule, and the parameters of those rules that have some."""

    width: Annotated[float | None, option(help="intervals: width of the narrowest ones.")] = None
    fanout: Annotated[
        int | None, option(help="intervals, quantiles: neighbours joined per level.")
    ] = None
    levels: Annotated[
        str | None,
        option(help="intervals: how many; dates: which, such as month,year,decade."),
    ] = None
    low: Annotated[float | None, option(help="intervals: where they start.")] = None
    high: Annotated[float | None, option(help="intervals: where they end.")] = None
    n: Annotated[int | None, option("-n", help="quantiles: number of groups.")] = None
    points: Annotated[
        str | None, option(help="cuts: cut points, levels apart by a slash: 20,40,60/40.")
    ] = None
    length: Annotated[int | None, option(help="mask: number of positions.")] = None
    side: Annotated[Side | None, option(help="mask: where hiding begins.")] = None
    groups: Annotated[str | None, option(help="frequency: groups left on each level: 8,4,2.")] = (
        None
    )
    format: Annotated[str | None, option(help="dates: how they are written, such as %d.%m.%Y.")] = (
        None
    )

    def parameters(self, rule: RuleName) -> dict[str, Any]:
        """Return what is stated, as the rule takes it."""
        found: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        if "levels" in found and rule is RuleName.dates:
            found["levels"] = found["levels"].split(",")
        if "groups" in found:
            found["groups"] = found["groups"].split(",")
        if "points" in found:
            found["points"] = [part.split(",") for part in found["points"].split("/")]
        return found


class HierarchyCommand(Request):
    """`sfumato hierarchy`: a column, a rule, and where the hierarchy is written."""

    data: Annotated[Path, argument(help="The data: a CSV or Parquet file.")]
    column: Annotated[str, argument(help="The column to build a hierarchy over.")]
    rule: Annotated[RuleName, option(help="How to join values; automatic goes by the values.")] = (
        RuleName.automatic
    )
    output: Annotated[
        Path | None,
        option("--output", "-o", help="File to write (.csv or .yaml); default: print the CSV."),
    ] = None
    force: Annotated[bool, option("--force", help="Replace an existing file.")] = False
    stated: Rule = piece(Rule)
    delimiter: Annotated[str | None, option(help="What separates the cells.")] = None
    encoding: Annotated[str | None, option(help="The file's encoding.")] = None
