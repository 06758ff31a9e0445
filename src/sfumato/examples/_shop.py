"""Baskets of a shop that does not exist: what people buy together, and where goods stand.

Baskets follow habits: a breakfast, a pasta dinner, a baby at home, a sweet tooth. A few goods are
rare and telling. Nobody is real; the numbers come from a seeded generator.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.sets.line_files import write_lines
from sfumato.errors import OutputError, ParameterError
from sfumato.representation import Shown

GOODS: dict[str, dict[str, list[str]]] = {
    "food": {
        "dairy": ["milk", "butter", "yoghurt", "cream", "feta", "gouda"],
        "bakery": ["bread", "rolls", "croissant", "rye", "bagel"],
        "pantry": ["pasta", "rice", "flour", "sugar", "oil", "lentils", "honey"],
        "produce": ["apples", "bananas", "tomatoes", "onions", "salad", "lemons", "mango"],
        "sweets": ["chocolate", "biscuits", "liquorice", "ice-cream"],
    },
    "drink": {
        "alcohol": ["beer", "wine", "gin", "cider"],
        "soft": ["water", "juice", "cola", "tea", "coffee"],
    },
    "household": {
        "baby": ["diapers", "formula", "wipes"],
        "health": ["plasters", "painkillers", "pregnancy-test", "nicotine-gum", "folic-acid"],
        "cleaning": ["soap", "detergent", "sponges", "bleach"],
        "pets": ["cat-food", "dog-food", "parrot-seed"],
    },
}
HABITS: tuple[tuple[float, tuple[str, ...]], ...] = (
    (0.30, ("milk", "bread", "butter", "coffee", "yoghurt", "rolls")),
    (0.22, ("pasta", "tomatoes", "onions", "oil", "gouda", "wine")),
    (0.12, ("apples", "bananas", "salad", "lemons", "water", "feta")),
    (0.12, ("chocolate", "biscuits", "cola", "ice-cream", "juice")),
    (0.10, ("diapers", "wipes", "formula", "milk", "beer")),
    (0.08, ("detergent", "soap", "sponges", "bleach", "cat-food")),
    (0.06, ("flour", "sugar", "butter", "cream", "lemons", "honey")),
)
RARE = ("pregnancy-test", "nicotine-gum", "folic-acid", "parrot-seed", "gin", "liquorice", "mango")


@dataclass(frozen=True, eq=False)
class Shop(Shown):
    """Baskets, one per customer, and the departments of the goods."""

    baskets: list[list[str]]
    hierarchy: Hierarchy

    def write(self, folder: str | Path) -> Path:
        """Write `baskets.dat`, a basket per line, and `goods.csv`, the departments."""
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
            write_lines(target / "baskets.dat", self.baskets)
        except OSError as error:
            raise OutputError(f"{target} cannot be written ({error.strerror}).") from None
        self.hierarchy.write(target / "goods.csv")
        return target / "baskets.dat"


def shop(count: int = 2_000, seed: int = 1) -> Shop:
    """Make up the baskets of a shop's customers."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ParameterError(f"count must be a whole number of at least 1, not {count!r}.")
    rng = np.random.default_rng(seed)
    goods = [item for part in GOODS.values() for shelf in part.values() for item in shelf]
    chances = np.array([weight for weight, _ in HABITS])
    baskets = []
    for _ in range(count):
        basket: set[str] = set()
        for habit in rng.choice(len(HABITS), size=rng.integers(1, 3), p=chances / chances.sum()):
            usual = HABITS[int(habit)][1]
            basket |= {item for item in usual if rng.random() < 0.45}
        basket |= {str(item) for item in rng.choice(goods, size=rng.integers(0, 3))}
        if rng.random() < 0.05:
            basket.add(str(rng.choice(RARE)))
        baskets.append(sorted(basket) or ["milk"])
    return Shop(baskets, Hierarchy.tree(GOODS))
