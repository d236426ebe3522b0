"""Rows as one flat run of columns, the attacker's first, and who holds which of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privee.data.datasets.base import Dataset
from privee.data.datasets.load import load_dataset
from privee.data.partition import split_columns, split_image

ADULT_RANGES = {
    "age": (17, 90),
    "fnlwgt": (12285, 1484705),
    "education-num": (1, 16),
    "capital-gain": (0, 99999),
    "capital-loss": (0, 4356),
    "hours-per-week": (1, 99),
}
"""Smallest and largest value among Adult's training rows: what its columns were scaled by."""


Rows = NDArray[np.float32]


@dataclasses.dataclass(frozen=True, eq=False)
class Columns:
    """A dataset laid out for a model of several parties.

    Attributes:
        train, test: (n, columns), in the order of the parties.
        widths: how many columns each party holds.
        picture: (channels, height) of pictures that are cut in vertical strips; rows then run strip by strip.
    """

    train: Tensor
    test: Tensor
    train_labels: Tensor
    test_labels: Tensor
    widths: tuple[int, ...]
    n_classes: int
    picture: tuple[int, int] | None = None


def lay_out(dataset: str, *, known: float, parties: int, unscaled: bool = False, data_dir: Path | None) -> Columns:
    """Contiguous columns, so that any number of parties works; CIFAR in vertical strips, which its network needs."""
    data = load_dataset(dataset, data_dir=data_dir)
    if data.x_train.ndim == 4 and data.x_train.shape[1] > 1:
        channels, height, width = data.x_train.shape[1:]
        split = split_image((1, 1, width), parties=parties)
        widths = tuple(len(part.features) * channels * height for part in split.parts)
        return _made(data, _strips(data.x_train), _strips(data.x_test), widths, (channels, height))
    train, test = (x.reshape(len(x), -1) for x in (data.x_train, data.x_test))
    groups = data.groups or None
    if unscaled:
        train, test, groups = _as_it_stands(train, data), _as_it_stands(test, data), None
    split = split_columns(train.shape[1], parties=parties, adversary_fraction=known, groups=groups)
    return _made(data, train, test, tuple(len(part.features) for part in split.parts))


def _made(
    data: Dataset, train: Rows, test: Rows, widths: tuple[int, ...], picture: tuple[int, int] | None = None
) -> Columns:
    return Columns(
        train=torch.from_numpy(np.ascontiguousarray(train)),
        test=torch.from_numpy(np.ascontiguousarray(test)),
        train_labels=torch.from_numpy(data.y_train),
        test_labels=torch.from_numpy(data.y_test),
        widths=widths,
        n_classes=len(data.class_names),
        picture=picture,
    )


def _strips(x: Rows) -> Rows:
    """(n, C, H, W) to rows that run from left to right: the first share of a row is the left share of the picture."""
    return x.transpose(0, 3, 1, 2).reshape(len(x), -1)


def _as_it_stands(x: Rows, data: Dataset) -> Rows:
    """Original columns: numbers unscaled, categories by their place in the alphabet."""
    found = []
    for name, group in zip(data.column_names, data.groups, strict=True):
        low, high = ADULT_RANGES.get(name, (0, 0))
        some = x[:, list(group)]
        found.append(some[:, 0] * (high - low) + low if high else some.argmax(axis=1))
    return np.stack(found, axis=1).astype(np.float32)
