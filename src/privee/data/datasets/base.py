"""What a dataset is once it is in memory: checked arrays, and which features belong to which original column.

Columns become features in [0, 1] by what the training rows say alone; rows are split the same way for the same seed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as arrow_compute
from numpy.typing import NDArray

from privee.errors import PriveeError
from privee.randomness import seeded

Features = NDArray[np.float32]
Labels = NDArray[np.int64]
Groups = tuple[tuple[int, ...], ...]


class Parts(NamedTuple):
    """What a reader makes of a dataset's files."""

    x_train: Features
    y_train: Labels
    x_test: Features
    y_test: Labels
    class_names: tuple[str, ...]
    column_names: tuple[str, ...] = ()
    groups: Groups = ()
    values: Mapping[str, tuple[str, ...]] = {}


@dataclasses.dataclass(frozen=True, eq=False)
class Dataset:
    """Features in [0, 1] and labels 0..K-1, for training and for testing.

    Tables are (n, features), pictures (n, channels, height, width). `groups` holds, for each of `column_names`, the
    positions of its features in a row, so that a one-hot encoded column stays together; both are empty for pictures.
    `values` names what the features of such a column stand for.
    """

    name: str
    x_train: Features = dataclasses.field(repr=False)
    y_train: Labels = dataclasses.field(repr=False)
    x_test: Features = dataclasses.field(repr=False)
    y_test: Labels = dataclasses.field(repr=False)
    class_names: tuple[str, ...] = dataclasses.field(repr=False)
    column_names: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    groups: Groups = dataclasses.field(default=(), repr=False)
    values: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict, repr=False)
    source: str = ""

    def __post_init__(self) -> None:
        for part, x, y in (("train", self.x_train, self.y_train), ("test", self.x_test, self.y_test)):
            _check_features(f"{self.name}: x_{part}", x)
            _check_labels(f"{self.name}: y_{part}", y, len(x), self.n_classes)
        if self.x_train.shape[1:] != self.x_test.shape[1:]:
            raise PriveeError(f"{self.name}: x_train and x_test have rows of different shapes")
        _check_groups(self.name, self.column_names, self.groups, self.n_features, needed=self.image_shape is None)

    @property
    def n_classes(self) -> int:
        """How many classes there are, K."""
        return len(self.class_names)

    @property
    def n_features(self) -> int:
        """How many numbers a row holds."""
        return math.prod(self.x_train.shape[1:])

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """(channels, height, width) of pictures, None for tables."""
        if self.x_train.ndim == 2:
            return None
        channels, height, width = self.x_train.shape[1:]
        return channels, height, width


def one_feature_each(columns: int) -> Groups:
    """Groups of a table in which every column is one feature.

    Example:
        >>> one_feature_each(3)
        ((0,), (1,), (2,))
    """
    return tuple((position,) for position in range(columns))


def _check_features(what: str, x: Features) -> None:
    if x.dtype != np.float32 or x.ndim not in (2, 4):
        raise PriveeError(f"{what} must be float32 of shape (n, d) or (n, C, H, W), not {x.dtype} of shape {x.shape}")
    if 0 in x.shape:
        raise PriveeError(f"{what} is empty: shape {x.shape}")
    if not (x.min() >= 0 and x.max() <= 1):  # written so that NaN fails too
        raise PriveeError(f"{what} holds values outside [0, 1] or not finite")


def _check_labels(what: str, y: Labels, rows: int, classes: int) -> None:
    if y.dtype != np.int64 or y.shape != (rows,):
        raise PriveeError(f"{what} must be int64 of shape ({rows},), not {y.dtype} of shape {y.shape}")
    if y.min() < 0 or y.max() >= classes:
        raise PriveeError(f"{what} holds labels outside 0..{classes - 1}")


def _check_groups(name: str, columns: tuple[str, ...], groups: Groups, features: int, *, needed: bool) -> None:
    if len(columns) != len(groups):
        raise PriveeError(f"{name}: {len(columns)} column names for {len(groups)} groups of features")
    if not groups and not needed:
        return
    if sorted(position for group in groups for position in group) != list(range(features)):
        raise PriveeError(f"{name}: the groups must hold each of the {features} features exactly once")


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
