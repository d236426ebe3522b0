"""Turning columns into features in [0, 1]. Everything is learned from the training rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as arrow_compute
from numpy.typing import NDArray

from privee.data.datasets.base import Features


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
