"""MNIST: handwritten digits, 28 x 28 grey."""

from __future__ import annotations

import gzip
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from privee.data.datasets.base import Features, Labels, Parts, pictures_to_unit
from privee.data.datasets.info import DataFile, DatasetInfo, Layout, register
from privee.errors import PriveeError

_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_IDX_OF_BYTES = b"\0\0\x08"


def parse_idx(contents: bytes) -> NDArray[np.uint8]:
    """An array of bytes in the idx format: a magic number, the number of dimensions, their sizes, the bytes."""
    if contents[:3] != _IDX_OF_BYTES:
        raise PriveeError("this is not an idx file of bytes")
    dimensions = contents[3]
    shape = np.frombuffer(contents, dtype=">i4", count=dimensions, offset=4)
    return np.frombuffer(contents, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def read(contents: Mapping[str, bytes], seed: int) -> Parts:
    """Official split; the seed is not used."""

    def part(prefix: str) -> tuple[Features, Labels]:
        images = parse_idx(gzip.decompress(contents[f"{prefix}-images-idx3-ubyte.gz"]))
        labels = parse_idx(gzip.decompress(contents[f"{prefix}-labels-idx1-ubyte.gz"]))
        return pictures_to_unit(images[:, None]), labels.astype(np.int64)

    return Parts(*part("train"), *part("t10k"), class_names=tuple("0123456789"))


def _file(name: str, sha256: str, md5: str, size: int) -> DataFile:
    return DataFile(name=name, sha256=sha256, md5=md5, size=size, url=_URL + name)


MNIST = DatasetInfo(
    name="mnist",
    place=20,
    title="MNIST handwritten digits",
    rows=70_000,
    columns=784,
    classes=10,
    licence="CC BY-SA 3.0",
    home="http://yann.lecun.com/exdb/mnist/",
    folders=("mnist", "MNIST/raw"),
    layouts=(
        Layout(
            "official files",
            (
                _file(
                    "train-images-idx3-ubyte.gz",
                    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                    9_912_422,
                ),
                _file(
                    "train-labels-idx1-ubyte.gz",
                    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                    "d53e105ee54ea40749a09fcbcd1e9432",
                    28_881,
                ),
                _file(
                    "t10k-images-idx3-ubyte.gz",
                    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                    "9fb629c4189551a2d022fa330f9573f3",
                    1_648_877,
                ),
                _file(
                    "t10k-labels-idx1-ubyte.gz",
                    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                    "ec29112dd5afa0611ce80d1b7f02629c",
                    4_542,
                ),
            ),
            read,
        ),
    ),
    picture=(1, 28, 28),
)

register(MNIST)
