"""Surveys that the office runs: which there are, and whether they are open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, text, update

from sfumato.errors import ParameterError
from sfumato.govern.ledger.statements import Statement
from sfumato.govern.office.office import now
from sfumato.govern.office.tables import survey_rules, surveys

if TYPE_CHECKING:
    from sfumato.govern.office.office import Office

_STATE = Statement(text("SELECT state FROM sfumato_office_surveys WHERE id = :id"))


@dataclass(frozen=True)
class SurveyRules:
    """What the owner of a survey states about how it is answered.

    ``together`` is how many reports a device may send at once: one, so that a message with a
    thousand forged ones is no thousand votes. ``embed`` names the sites that may show its page.
    """

    together: int = 1
    embed: tuple[str, ...] = ()


def add_survey(
    office: Office, id_: str, *, owner: str, file: str, rules: SurveyRules | None = None
) -> None:
    """Add a survey, open for reports."""
    if find_survey(office, id_) is not None:
        raise ParameterError("There is a survey of this id already; choose another.")
    stated = rules or SurveyRules()
    office.change(
        insert(surveys).values(id=id_, owner=owner, file=file, state="open", made=now()),
        insert(survey_rules).values(
            id=id_, together=stated.together, embed=" ".join(stated.embed)
        ),
    )  # fmt: skip


def find_rules(office: Office, id_: str) -> SurveyRules:
    """Read what was stated about a survey; one that was made earlier has the usual rules."""
    row = office.row(select(survey_rules).where(survey_rules.c.id == id_))
    return SurveyRules() if row is None else SurveyRules(row["together"], (*row["embed"].split(),))


def find_survey(office: Office, id_: str) -> dict[str, Any] | None:
    """Read a survey."""
    return office.row(select(surveys).where(surveys.c.id == id_))


def is_open(office: Office, id_: str) -> bool:
    """Tell whether a survey takes reports."""
    return any(state == "open" for (state,) in office.quick.peek(_STATE, id=id_))


def list_surveys(office: Office) -> list[dict[str, Any]]:
    """List all surveys, the latest first."""
    return office.rows(select(surveys).order_by(surveys.c.made.desc()))


def close_survey(office: Office, id_: str) -> None:
    """Take no more reports."""
    office.change(update(surveys).where(surveys.c.id == id_).values(state="closed"))
