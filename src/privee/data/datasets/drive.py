"""Sensorless Drive Diagnosis: 48 measurements of an electric drive, 11 conditions."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping

import numpy as np
import pyarrow.csv as arrow_csv

from privee.data.datasets.base import Parts, one_feature_each, scale_to_unit, stratified_split
from privee.data.datasets.info import DataFile, DatasetInfo, Layout, register

_NAME = "Sensorless_drive_diagnosis.txt"
_COLUMNS = 48
TEST_SHARE = 0.2


def read(contents: Mapping[str, bytes], seed: int) -> Parts:
    """There is no official split and rows are sorted by class: a fifth of every class is kept for testing."""
    ((name, raw),) = contents.items()
    table = arrow_csv.read_csv(
        io.BytesIO(gzip.decompress(raw) if name.endswith(".gz") else raw),
        read_options=arrow_csv.ReadOptions(autogenerate_column_names=True),
        parse_options=arrow_csv.ParseOptions(delimiter=" "),
    )
    columns = [np.asarray(column.to_numpy(), dtype=np.float64) for column in table.columns]
    x, y = np.stack(columns[:_COLUMNS], axis=1), columns[_COLUMNS].astype(np.int64) - 1
    train, test = stratified_split(y, TEST_SHARE, seed)
    x_train, x_test = scale_to_unit(x[train], x[test])
    return Parts(
        x_train,
        y[train],
        x_test,
        y[test],
        class_names=tuple(str(k) for k in range(1, 12)),
        column_names=tuple(f"column_{k}" for k in range(1, _COLUMNS + 1)),
        groups=one_feature_each(_COLUMNS),
    )


DRIVE = DatasetInfo(
    name="drive",
    place=40,
    title="Sensorless Drive Diagnosis",
    rows=58_509,
    columns=_COLUMNS,
    classes=11,
    licence="CC BY 4.0",
    home="https://archive.ics.uci.edu/dataset/325",
    folders=("drive", "sensorless"),
    layouts=(
        Layout(
            "official file",
            (
                DataFile(
                    name=_NAME,
                    sha256="366b8c5c564a5a4d07600db9180d2871f51489104b554f6320781514059f35a9",
                    md5="56f2eb659cc1b8a2c9c13fdaab870500",
                    size=25_619_870,
                    url="https://archive.ics.uci.edu/ml/machine-learning-databases/00325/" + _NAME,
                ),
            ),
            read,
        ),
        Layout(
            "packed copy of the official file",
            (
                DataFile(
                    name=_NAME + ".gz",
                    sha256="5190cc6a208e3d841dd0a90dbeba7cacb9e290ad91601c0a65e235afa53f9a43",
                    size=8_442_261,
                ),
            ),
            read,
        ),
    ),
)

register(DRIVE)
