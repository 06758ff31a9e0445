"""What can be said of hybrid records in a command."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class HybridOptions(BaseModel):
    """How clusters are merged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    strategy: Literal["both", "rows", "sets"] | None = Field(
        default=None,
        description="Merge clusters whose rows are closest, whose sets are most alike, or both.",
    )
    row_bound: float | None = Field(
        default=None, ge=0, le=1, description="What rows may lose at most, 0 to 1."
    )
    set_bound: float | None = Field(
        default=None, ge=0, le=1, description="Stop merging when sets lose no more than this."
    )
    seed: int | None = Field(
        default=None, description="Repeat the random order; not for what you publish."
    )
