"""Adult (Census Income): 14 columns about a person, and whether the income is above 50,000 dollars."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from privee.data.datasets.base import Features, Groups, Labels, Parts, one_hot, scale_to_unit
from privee.data.datasets.info import DataFile, DatasetInfo, Layout, register

_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country"
)
COLUMN_NAMES = tuple(_COLUMNS.split())
CLASS_NAMES = ("<=50K", ">50K")


def read(contents: Mapping[str, bytes], seed: int) -> Parts:
    """Official split; the seed is not used. `?` is a category like any other."""
    text = {name: gzip.decompress(raw) if name.endswith(".gz") else raw for name, raw in contents.items()}
    train, test = (_table(text[name]) for name in sorted(text))  # adult.data before adult.test
    x_train, x_test, groups = _encode(train, test)
    values = {name: tuple(train[name].unique().sort().to_pylist()) for name in COLUMN_NAMES if name not in _NUMBERS}
    return Parts(x_train, _labels(train), x_test, _labels(test), CLASS_NAMES, COLUMN_NAMES, groups, values)


def _table(text: bytes) -> Any:
    types = {name: pa.float64() if name in _NUMBERS else pa.string() for name in (*COLUMN_NAMES, "income")}
    if text.startswith(b"|"):  # the test file starts with a remark
        text = text.partition(b"\n")[2]
    return arrow_csv.read_csv(
        io.BytesIO(text.replace(b", ", b",")),
        read_options=arrow_csv.ReadOptions(column_names=list(types)),
        convert_options=arrow_csv.ConvertOptions(column_types=types),
    )


def _labels(table: Any) -> Labels:
    above = [income.rstrip(".") == CLASS_NAMES[1] for income in table["income"].to_pylist()]
    return np.array(above, dtype=np.int64)


def _encode(train: Any, test: Any) -> tuple[Features, Features, Groups]:
    blocks, groups, width = [], [], 0
    for name in COLUMN_NAMES:
        if name in _NUMBERS:
            block = scale_to_unit(train[name].to_numpy()[:, None], test[name].to_numpy()[:, None])
        else:
            block = one_hot(train[name], test[name])
        blocks.append(block)
        groups.append(tuple(range(width, width := width + block[0].shape[1])))
    x_train, x_test = (np.concatenate(part, axis=1) for part in zip(*blocks, strict=True))
    return x_train, x_test, tuple(groups)


ADULT = DatasetInfo(
    name="adult",
    place=50,
    title="Adult (Census Income)",
    rows=48_842,
    columns=14,
    classes=2,
    licence="CC BY 4.0",
    home="https://archive.ics.uci.edu/dataset/2",
    folders=("adult",),
    layouts=(
        Layout(
            "official files",
            (
                DataFile(
                    name="adult.data",
                    sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                    md5="5d7c39d7b8804f071cdd1f2a7c460872",
                    size=3_974_305,
                    url=_URL + "adult.data",
                ),
                DataFile(
                    name="adult.test",
                    sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                    md5="35238206dfdf7f1fe215bbb874adecdc",
                    size=2_003_153,
                    url=_URL + "adult.test",
                ),
            ),
            read,
        ),
        Layout(
            "packed copies of the official files",
            (
                DataFile(
                    name="adult.data.gz",
                    sha256="fb9b6b419c38dd70d75d31f014b7f0905bf76e9625473c593455e31679a93184",
                    size=409_337,
                ),
                DataFile(
                    name="adult.test.gz",
                    sha256="5dd8e51005f6a86e42f058d66a957721196362cf8e8dde3efc8508532af4a083",
                    size=205_510,
                ),
            ),
            read,
        ),
    ),
)

register(ADULT)
