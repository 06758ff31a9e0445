"""The small tables of a lecture on privacy, each in a line, so that a teacher shows one and asks.

Every function returns made-up data that fit on a slide. `docs/tutorial/a-lecture-in-code.md` works
through them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.examples.hospital import Example

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.schema import Schema


def twelve_patients() -> Example:
    """Return twelve patients: zip code, age, nationality and disease.

    Released in three classes of four by zip code and age, they are 4-anonymous, and whoever is in
    the third class has cancer.

    >>> twelve_patients().rows
    12
    """
    rows = [
        ("13053", 28, "Russian", "Heart"),
        ("13068", 29, "American", "Heart"),
        ("13068", 21, "Japanese", "Flu"),
        ("13053", 23, "American", "Flu"),
        ("14853", 50, "Indian", "Cancer"),
        ("14853", 55, "Russian", "Heart"),
        ("14850", 47, "American", "Flu"),
        ("14850", 59, "American", "Flu"),
        ("13053", 31, "American", "Cancer"),
        ("13053", 37, "Indian", "Cancer"),
        ("13068", 36, "Japanese", "Cancer"),
        ("13068", 32, "American", "Cancer"),
    ]
    columns = _columns(("zip", "age", "nationality", "disease"), rows)
    ages = {"<30": ["28", "29", "21", "23"], "30–40": ["31", "37", "36", "32"],
            ">40": ["50", "55", "47", "59"]}  # fmt: skip
    hierarchies = {
        "zip": Hierarchy.from_rows(
            [
                (code, f"{code[:4]}*", f"{code[:3]}**", "*")
                for code in ("13053", "13068", "14850", "14853")
            ]
        ),
        "age": Hierarchy.tree(ages),
        "nationality": Hierarchy.flat(["Russian", "American", "Japanese", "Indian"]),
    }
    return Example("patients", columns, _schema(hierarchies, ["disease"]))


def jobs() -> Example:
    """Return seven people with job, sex and age, and trees for each.

    >>> jobs().rows
    7
    """
    rows = [("Engineer", "Male", 35), ("Engineer", "Male", 38), ("Lawyer", "Male", 38),
            *[("Writer", "Female", 30)] * 2, *[("Dancer", "Female", 30)] * 2]  # fmt: skip
    hierarchies = {
        "job": Hierarchy.tree(
            {"Professional": ["Engineer", "Lawyer"], "Artist": ["Writer", "Dancer"]}
        ),
        "sex": Hierarchy.flat(["Male", "Female"]),
        "age": Hierarchy.tree({"[30,35)": ["30"], "[35,40)": ["35", "38"]}),
    }
    return Example("jobs", _columns(("job", "sex", "age"), rows), _schema(hierarchies, []))


def workclasses() -> Hierarchy:
    """Return the tree of work classes with eight leaves, on which loss is explained.

    >>> workclasses().size
    8
    """
    return Hierarchy.tree(
        {
            "government": ["state", "local", "federal"],
            "private": ["private-sector"],
            "self-employed": ["inc", "not-inc"],
            "unemployed": ["without-pay", "never-worked"],
        }
    )


def votes() -> dict[str, int]:
    """Return how many want what for lunch: for the exponential mechanism.

    >>> max(votes(), key=votes().get)
    'pizza'
    """
    return {"pizza": 27, "salad": 23, "hamburger": 9, "pie": 0}


def salaries() -> dict[str, NDArray[Any]]:
    """Return the salaries of a faculty with one newcomer: two averages reveal hers exactly.

    >>> int((salaries()["hired"] == 2020).sum())
    1
    """
    return {
        "name": np.array(["Ada", "Bela", "Chen", "Dora", "Emil", "Fay"], dtype=object),
        "hired": np.array([2001, 2005, 2010, 2014, 2018, 2020]),
        "salary": np.array([98_000, 91_000, 87_000, 83_000, 76_000, 71_500]),
    }


def friends() -> list[tuple[str, str]]:
    """Return who knows whom: A stands out by her degree until B and E are joined.

    >>> len(friends())
    3
    """
    return [("A", "B"), ("A", "C"), ("D", "E")]


def baskets() -> list[set[str]]:
    """Return four baskets of beer, wine, diapers and pregnancy tests.

    >>> len(baskets())
    4
    """
    return [
        {"Beer", "Diapers"},
        {"Wine", "Diapers", "Pregnancy Test"},
        {"Beer", "Wine", "Pregnancy Test"},
        {"Beer", "Wine", "Diapers", "Pregnancy Test"},
    ]


def basket_items() -> Hierarchy:
    """Return the tree of the items of `baskets`.

    >>> basket_items().size
    4
    """
    return Hierarchy.tree(
        {"Alcohol": ["Beer", "Wine"], "Health Care": ["Diapers", "Pregnancy Test"]}
    )


def _columns(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, NDArray[Any]]:
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return {
        name: np.array(cells, dtype=object if isinstance(cells[0], str) else np.int64)
        for name, cells in columns.items()
    }


def _schema(hierarchies: dict[str, Hierarchy], sensitive: list[str]) -> Schema:
    from sfumato.data.schema import Attribute, Schema  # noqa: PLC0415 - pydantic loads when used

    attributes = {
        name: Attribute(role="quasi", hierarchy=tree) for name, tree in hierarchies.items()
    }
    return Schema(attributes=attributes | {name: Attribute(role="sensitive") for name in sensitive})
