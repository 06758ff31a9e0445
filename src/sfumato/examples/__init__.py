"""People who do not exist: example data with its schema and hierarchies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.examples._cabs import cabs as cabs
    from sfumato.examples._governor import GovernorsCase as GovernorsCase
    from sfumato.examples._shop import Shop as Shop
    from sfumato.examples._shop import shop as shop
    from sfumato.examples._traffic import traffic as traffic
    from sfumato.examples.hospital import Example as Example
    from sfumato.examples.hospital import governor as governor
    from sfumato.examples.hospital import patients as patients
    from sfumato.examples.hospital import visits as visits
    from sfumato.examples.lecture import basket_items as basket_items
    from sfumato.examples.lecture import baskets as baskets
    from sfumato.examples.lecture import friends as friends
    from sfumato.examples.lecture import jobs as jobs
    from sfumato.examples.lecture import salaries as salaries
    from sfumato.examples.lecture import twelve_patients as twelve_patients
    from sfumato.examples.lecture import votes as votes
    from sfumato.examples.lecture import workclasses as workclasses

_HOME = {
    "Example": "hospital",
    "GovernorsCase": "_governor",
    "Shop": "_shop",
    "basket_items": "lecture",
    "baskets": "lecture",
    "cabs": "_cabs",
    "friends": "lecture",
    "governor": "hospital",
    "jobs": "lecture",
    "patients": "hospital",
    "salaries": "lecture",
    "traffic": "_traffic",
    "shop": "_shop",
    "twelve_patients": "lecture",
    "visits": "hospital",
    "votes": "lecture",
    "workclasses": "lecture",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)
