"""The attacks that `precheck` tries on a synthetic table before it leaves.

They need people to guess about: those in the data (``original``), and ``outsiders`` of the same
population, who tell how good a guess is about anybody. ``secret`` names the columns that are
guessed; all of them if absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.attack.attack import Knowledge, NamedAttack
from sfumato.attack.finding import Outcome
from sfumato.attack.releases import synthetic

if TYPE_CHECKING:
    from sfumato.attack.attack import Attack

_REMEDY = "a smaller ε, for all that was released of these people together"
_OWNERS = "an exact fact about the real data, for the owner alone: not to be published"


def synthetic_attacks(view: Any, knowledge: Knowledge) -> tuple[Attack, ...]:
    """Return membership, singling out, and inference of each secret column."""
    return (
        NamedAttack("membership by the nearest row", _membership, _misfit, twice=False),
        NamedAttack("singling out", _singling_out, _misfit, twice=False),
        *(_inference(name) for name in _secrets(view, knowledge)),
    )


def _secrets(view: Any, knowledge: Knowledge) -> tuple[str, ...]:
    named = knowledge.further.get("secret")
    if named is not None:
        return tuple(part.strip() for part in named.split(",")) if isinstance(named, str) else tuple(named)  # fmt: skip  # noqa: E501
    return tuple(view.rows or ()) or ("a column",)


def _misfit(view: Any, knowledge: Knowledge) -> str | None:
    if view.rows is None:
        return "only synthetic rows of a table are compared with people"
    if knowledge.original is None or knowledge.further.get("outsiders") is None:
        return (
            "it needs original=, the people in the data, and outsiders=, others of the same "
            "population who are not"
        )
    return None


def _people(view: Any, knowledge: Knowledge) -> tuple[Any, Any, Any]:
    return view.rows, knowledge.original, knowledge.further["outsiders"]


def _membership(view: Any, knowledge: Knowledge) -> Outcome:
    return _outcome(synthetic.synthetic_membership(*_people(view, knowledge)), "all their cells")


def _singling_out(view: Any, knowledge: Knowledge) -> Outcome:
    found = synthetic.synthetic_singling_out(*_people(view, knowledge))
    return _outcome(found, "nothing but the copy", unit="claims")


def _inference(secret: str) -> NamedAttack:
    def infer(view: Any, knowledge: Knowledge) -> Outcome:
        found = synthetic.synthetic_inference(*_people(view, knowledge), secret=secret)
        return _outcome(found, f"all their cells but {secret}")

    return NamedAttack(f"inference of {secret}", infer, _misfit, twice=False)


def _outcome(found: synthetic.Excess, knows: str, unit: str = "people") -> Outcome:
    """Count as exposed only what succeeds more often about members than chance explains."""
    exposed = round((found.members - found.outsiders) * found.targets) if found.succeeds else 0
    return Outcome(
        attack=found.attack,
        knows=f"the copy, and {knows}",
        measure="being right more often than about outsiders",
        people=found.targets,
        exposed=exposed,
        prior=found.outsiders,
        posterior=found.members,
        threshold=found.error,
        findings=(),
        remedy=_REMEDY,
        figures={"excess risk": found.risk},
        notes=(_OWNERS,),
        unit=unit,
    )
