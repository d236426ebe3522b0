"""Splitting rows into training and test, the same way for the same seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privee.randomness import seeded

Positions = NDArray[np.intp]


def stratified_split(labels: NDArray[np.int64], test_share: float, seed: int) -> tuple[Positions, Positions]:
    """Positions of training and test rows, shuffled, each class divided in the same proportion.

    Example:
        >>> train, test = stratified_split(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.25, seed=0)
        >>> len(train), len(test)
        (6, 2)
    """
    choice, shuffle = seeded(seed, "split").uniform((2, len(labels)))
    in_test = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        places = np.flatnonzero(labels == label)
        by_chance = places[np.argsort(choice[places], kind="stable")]
        in_test[by_chance[: round(test_share * len(places))]] = True
    # Draws of its own: in the order of the choice, the first training rows would be those of few classes.
    order = np.argsort(shuffle, kind="stable")
    return order[~in_test[order]], order[in_test[order]]
