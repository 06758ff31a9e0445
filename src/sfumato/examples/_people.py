"""The facts behind the fictional patients: names, countries, jobs, diagnoses and their odds.

Only rough proportions are meant, enough for quasi-identifiers that single people out and
for sensitive values that follow from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MEN_CALLED = """
Adrian Ahmed Andrei Ben Carlo Daniel Emil Felix Giorgio Hugo Ivan Jakub Jonas Karim Lars
Luca Marco Mateo Milan Nikos Omar Paul Pedro Rafael Samuel Tariq Thomas Viktor William Yusuf
"""
_WOMEN_CALLED = """
Agnes Amira Anna Beatriz Carla Chiara Clara Daria Elena Emma Fatima Giulia Hanna Ines Irina
Julia Katarina Laura Leila Lucia Maria Marta Mia Nadia Olga Petra Rosa Sara Sofia Yasmin
"""
_FAMILIES = """
Abel Adams Bakker Barbieri Becker Bianchi Brandt Carvalho Clark Costa Demir Dubois Eder Ekberg
Farouk Ferrari Fischer Fontana Garcia Gruber Haddad Hansen Hofer Horvat Ivanova Jansen Jensen
Kaya Keller Kim Kovac Kowalski Lang Larsen Lehner Lopez Mancini Marino Meier Mendes Moser Murphy
Nagy Novak Nowak Oliveira Pereira Petrov Pichler Popescu Rinaldi Romano Rossi Santos Schmid Silva
Singh Smith Sokolov Stein Suzuki Tanaka Thaler Turner Varga Vidal Wagner Walker Weber Wolf Yilmaz
Zanetti Ziegler
"""
FIRST_NAMES = np.array([_MEN_CALLED.split(), _WOMEN_CALLED.split()], dtype=object)
LAST_NAMES = np.array(_FAMILIES.split(), dtype=object)

NATIONALITIES: dict[str, tuple[str, float]] = {
    "Italian": ("Europe", 60),
    "German": ("Europe", 12),
    "Austrian": ("Europe", 8),
    "French": ("Europe", 3),
    "Romanian": ("Europe", 4),
    "Polish": ("Europe", 2),
    "Ukrainian": ("Europe", 2),
    "Albanian": ("Europe", 2),
    "Chinese": ("Asia", 1.5),
    "Indian": ("Asia", 1.5),
    "Pakistani": ("Asia", 1),
    "Japanese": ("Asia", 0.3),
    "Moroccan": ("Africa", 2),
    "Egyptian": ("Africa", 0.8),
    "Nigerian": ("Africa", 0.7),
    "Senegalese": ("Africa", 0.5),
    "American": ("Americas", 1),
    "Brazilian": ("Americas", 0.9),
    "Peruvian": ("Americas", 0.6),
    "Canadian": ("Americas", 0.2),
}
"""Nationality: the continent above it and its share."""

JOBS: dict[str, tuple[str, float]] = {
    "nurse": ("health and teaching", 30_000),
    "physician": ("health and teaching", 78_000),
    "teacher": ("health and teaching", 34_000),
    "engineer": ("technical", 52_000),
    "programmer": ("technical", 50_000),
    "technician": ("technical", 34_000),
    "clerk": ("office and trade", 29_000),
    "accountant": ("office and trade", 41_000),
    "shop assistant": ("office and trade", 23_000),
    "lawyer": ("office and trade", 66_000),
    "farmer": ("manual", 24_000),
    "builder": ("manual", 27_000),
    "driver": ("manual", 26_000),
    "cleaner": ("manual", 18_000),
    "cook": ("manual", 23_000),
    "writer": ("arts", 27_000),
    "dancer": ("arts", 21_000),
    "student": ("not working", 8_000),
    "retired": ("not working", 20_000),
    "unemployed": ("not working", 10_000),
}
"""Job: the branch above it and its typical pay."""

DIAGNOSES: dict[str, tuple[str, float]] = {
    "hypertension": ("circulation", 16),
    "heart failure": ("circulation", 6),
    "stroke": ("circulation", 4),
    "influenza": ("breathing", 9),
    "asthma": ("breathing", 7),
    "pneumonia": ("breathing", 5),
    "diabetes": ("metabolism", 10),
    "thyroid disorder": ("metabolism", 5),
    "gastritis": ("digestion", 8),
    "hepatitis": ("digestion", 1.5),
    "fracture": ("injury", 8),
    "sprain": ("injury", 7),
    "breast cancer": ("cancer", 3),
    "prostate cancer": ("cancer", 3),
    "lung cancer": ("cancer", 2),
    "depression": ("mind", 6),
    "anxiety": ("mind", 6),
    "dementia": ("mind", 3),
    "HIV": ("infection", 0.5),
    "tuberculosis": ("infection", 0.5),
}
"""Diagnosis: the chapter above it and its share."""

_OLD = (
    "hypertension",
    "heart failure",
    "stroke",
    "pneumonia",
    "diabetes",
    "dementia",
    "lung cancer",
)
_YOUNG = ("asthma", "sprain", "anxiety", "depression", "influenza", "HIV")
_WOMEN = {"nurse": 3.0, "teacher": 2.5, "cleaner": 2.5, "dancer": 2.0, "clerk": 1.8}
_MEN = {"builder": 4.0, "driver": 3.5, "technician": 2.5, "engineer": 2.5, "programmer": 2.0}


def nationality_odds(areas: int) -> NDArray[np.float64]:
    """Return the odds per area: the first areas are the city, where the world lives."""
    share = np.array([weight for _, weight in NATIONALITIES.values()])
    foreign = np.arange(len(share)) > 0
    return np.stack([np.where(foreign, share * (1.8 - 0.2 * area), share) for area in range(areas)])


def job_odds() -> NDArray[np.float64]:
    """Return the odds per sex and decade of age (ten rows for men, then ten for women)."""
    names = list(JOBS)
    rows = []
    for women in (False, True):
        tilted = _WOMEN if women else _MEN
        usual = np.array([tilted.get(name, 1.0) for name in names])
        usual[names.index("physician")] = usual[names.index("lawyer")] = 0.5
        for decade in range(10):
            odds = usual.copy()
            odds[names.index("student")] = 40.0 if decade <= 1 else 9.0 if decade == 2 else 0.05
            odds[names.index("retired")] = {6: 25.0}.get(decade, 400.0 if decade > 6 else 0.02)
            rows.append(odds)
    return np.stack(rows)


def diagnosis_odds() -> NDArray[np.float64]:
    """Return the odds per sex and decade of age, in the order of `job_odds`."""
    names = list(DIAGNOSES)
    share = np.array([weight for _, weight in DIAGNOSES.values()])
    rows = []
    for women in (False, True):
        for decade in range(10):
            odds = share.copy()
            odds[[names.index(name) for name in _OLD]] *= 0.15 * 1.6 ** (decade - 2)
            odds[[names.index(name) for name in _YOUNG]] *= 2.0 * 0.75 ** (decade - 2)
            odds[names.index("dementia")] *= 0.02 if decade < 6 else 1.0
            odds[names.index("breast cancer")] *= (1.0 + 0.2 * decade) if women else 0.01
            odds[names.index("prostate cancer")] *= 0.0 if women else 0.3 * decade
            rows.append(odds)
    return np.stack(rows)
