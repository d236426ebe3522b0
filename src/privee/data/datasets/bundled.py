"""Datasets that come with scikit-learn: nothing to download."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from privee.data.datasets.base import Parts, one_feature_each, scale_to_unit, stratified_split
from privee.data.datasets.info import DatasetInfo, Layout, register
from privee.extras import needed

_BUNDLED = "scikit-learn's bundled copy"
TEST_SHARE = 0.5  # they are small, and what is measured is measured on the test rows


def read_digits(contents: Mapping[str, bytes], seed: int) -> Parts:
    """Handwritten digits as a table of 64 pixels, each 0 to 16."""
    bunch = needed("sklearn.datasets", "scikit-learn").load_digits()
    x = (bunch.data / 16).astype(np.float32)
    train, test = stratified_split(bunch.target.astype(np.int64), TEST_SHARE, seed)
    return _parts(bunch, x[train], x[test], train, test)


def read_breast_cancer(contents: Mapping[str, bytes], seed: int) -> Parts:
    """Thirty measurements of cell nuclei, scaled by the training rows."""
    bunch = needed("sklearn.datasets", "scikit-learn").load_breast_cancer()
    train, test = stratified_split(bunch.target.astype(np.int64), TEST_SHARE, seed)
    return _parts(bunch, *scale_to_unit(bunch.data[train], bunch.data[test]), train, test)


def _parts(bunch: Any, x_train: Any, x_test: Any, train: Any, test: Any) -> Parts:
    y = bunch.target.astype(np.int64)
    return Parts(
        x_train,
        y[train],
        x_test,
        y[test],
        class_names=tuple(str(name) for name in bunch.target_names),
        column_names=tuple(str(name) for name in bunch.feature_names),
        groups=one_feature_each(x_train.shape[1]),
    )


DIGITS = DatasetInfo(
    name="digits",
    place=10,
    title="Handwritten digits, 8 x 8",
    rows=1_797,
    columns=64,
    classes=10,
    licence="CC BY 4.0",
    home="https://archive.ics.uci.edu/dataset/80",
    layouts=(Layout(_BUNDLED, (), read_digits),),
    picture=(1, 8, 8),
)
BREAST_CANCER = DatasetInfo(
    name="breast-cancer",
    place=11,
    title="Breast Cancer Wisconsin (Diagnostic)",
    rows=569,
    columns=30,
    classes=2,
    licence="CC BY 4.0",
    home="https://archive.ics.uci.edu/dataset/17",
    layouts=(Layout(_BUNDLED, (), read_breast_cancer),),
)

register(DIGITS)
register(BREAST_CANCER)
