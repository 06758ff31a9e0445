"""The lecture's patients, as they are and as they were released, and people to look for."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato as sf

PATIENTS = [
    ("13053", 28, "Russian", "Heart"), ("13068", 29, "American", "Heart"),
    ("13068", 21, "Japanese", "Flu"), ("13053", 23, "American", "Flu"),
    ("14853", 50, "Indian", "Cancer"), ("14853", 55, "Russian", "Heart"),
    ("14850", 47, "American", "Flu"), ("14850", 59, "American", "Flu"),
    ("13053", 31, "American", "Cancer"), ("13053", 37, "Indian", "Cancer"),
    ("13068", 36, "Japanese", "Cancer"), ("13068", 32, "American", "Cancer"),
]  # fmt: skip
COUNTRIES = sf.Hierarchy.tree(
    {"*": {"Europe": ["Russian"], "America": ["American"], "Asia": ["Japanese", "Indian"]}}
)


@pytest.fixture(scope="session")
def patients():
    return pd.DataFrame(PATIENTS, columns=["zip", "age", "nationality", "disease"])


@pytest.fixture(scope="session")
def schema():
    return sf.Schema(
        quasi={
            "zip": sf.Hierarchy.mask(5),
            "age": sf.Hierarchy.intervals(width=10, low=0, high=100),
            "nationality": COUNTRIES,
        },
        sensitive=["disease"],
    )


@pytest.fixture(scope="session")
def four_anonymous(patients):
    """Three classes of four; the third is all Cancer."""
    release = patients.copy()
    release["zip"] = ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4
    release["age"] = ["<30"] * 4 + [">=40"] * 4 + ["[30,40)"] * 4
    release["nationality"] = "*"
    return release
