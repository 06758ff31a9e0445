"""What can be said of sets in a command: how they are read, anonymised and attacked."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SetFileOptions(_Options):
    """How a file of sets is read."""

    hierarchy: str | None = Field(
        default=None,
        description="Item hierarchy: a CSV file with a row per item, or a whole number of "
        "neighbours to join per level. Without one, items found in the same sets are joined.",
    )
    person: str | None = Field(
        default=None, description="Column of the person, for a file with one row per item."
    )
    items: str | None = Field(default=None, description="Column of the item, or of the list.")
    separator: str | None = Field(
        default=None, description="What parts items within a cell, such as '|'."
    )
    form: Literal["lines", "long", "list"] | None = Field(
        default=None,
        description="'lines' for a CSV file with one set per line and as many cells as items.",
    )


class SetOptions(_Options):
    """How sets are anonymised."""

    meaning: Literal["set", "bag"] | None = Field(
        default=None,
        description="Of a group in a set, for k-anonymity: 'set' shows it once and hides the size "
        "of the set, 'bag' shows it once for each of its items.",
    )
    deletion: bool | None = Field(
        default=None,
        description="Algorithm 'global': whether single items may be deleted from odd sets.",
    )
    cluster: int | None = Field(
        default=None, description="Algorithm 'disassociation': most sets of a cluster."
    )
    seed: int | None = Field(
        default=None, description="Repeat the random order; not for what you publish."
    )


class KnownItemsOptions(_Options):
    """What an attacker knows of a person's set."""

    known: int | None = Field(
        default=None, ge=1, description="How many items an attacker knows; as promised if absent."
    )
    absent: int | None = Field(
        default=None, ge=0, description="How many items an attacker knows not to be in a set."
    )
