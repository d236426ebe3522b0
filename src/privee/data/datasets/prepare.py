"""Turning columns into features in [0, 1]. Everything is learned from the training rows alone.

Splitting rows into training and test, the same way for the same seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as arrow_compute
from numpy.typing import NDArray

from privee.data.datasets.base import Features
from privee.randomness import seeded


def scale_to_unit(train: NDArray[Any], test: NDArray[Any]) -> tuple[Features, Features]:
    """Scale each column by the least and largest value of its training rows; test rows beyond them are clipped.

    Example:
        >>> scale_to_unit(np.array([[0.0], [10.0]]), np.array([[5.0], [20.0]]))[1].tolist()
        [[0.5], [1.0]]
    """
    low = train.min(axis=0)
    span = train.max(axis=0) - low
    span = np.where(span > 0, span, 1)  # a constant column becomes zero

    def scaled(x: NDArray[Any]) -> Features:
        return np.asarray(np.clip((x - low) / span, 0, 1), dtype=np.float32)

    return scaled(train), scaled(test)


def one_hot(train: Any, test: Any) -> tuple[Features, Features]:
    """One feature per category of the training rows (Arrow columns of text), in alphabetical order.

    A category that only test rows have gets zeros everywhere.
    """
    categories = train.unique().sort()

    def encoded(column: Any) -> Features:
        codes = arrow_compute.index_in(column, value_set=categories).fill_null(-1).to_numpy()
        return np.asarray(codes[:, None] == np.arange(len(categories)), dtype=np.float32)

    return encoded(train), encoded(test)


def pictures_to_unit(pixels: NDArray[np.uint8]) -> Features:
    """Bytes to [0, 1]."""
    return np.divide(pixels, 255, dtype=np.float32)


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
