"""CIFAR-10 and CIFAR-100: small photographs, 32 x 32 in colour.

The official *binary* archives are read. The python archives are pickles, which run code when they are read, so they
are not. A compact .npz copy with fewer training images is read too.
"""

from __future__ import annotations

import dataclasses
import io
import tarfile
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from privee.data.datasets.base import Features, Labels, Parts, pictures_to_unit
from privee.data.datasets.info import DataFile, DatasetInfo, Layout, register
from privee.errors import PriveeError

_HOME = "https://www.cs.toronto.edu/~kriz/"
_SHAPE = (3, 32, 32)
_PIXELS = 3 * 32 * 32
_COMPACT = "compact copy with the first 20,000 of 50,000 training images"


@dataclasses.dataclass(frozen=True)
class BinaryArchive:
    """Where things are in an official archive; a record is `label_bytes` labels (the last one counts), then pixels."""

    name: str
    train: tuple[str, ...]
    test: str
    class_names: str
    label_bytes: int

    def read(self, contents: Mapping[str, bytes], seed: int) -> Parts:
        """Official split; the seed is not used."""
        members = _members(contents[self.name], {*self.train, self.test, self.class_names})
        names = tuple(members[self.class_names].decode("ascii").split())
        train = b"".join(members[name] for name in self.train)
        return Parts(*self._records(train), *self._records(members[self.test]), class_names=names)

    def _records(self, raw: bytes) -> tuple[Features, Labels]:
        records = np.frombuffer(raw, dtype=np.uint8).reshape(-1, self.label_bytes + _PIXELS)
        pixels = records[:, self.label_bytes :].reshape(-1, *_SHAPE)
        return pictures_to_unit(pixels), records[:, self.label_bytes - 1].astype(np.int64)


def _members(archive: bytes, wanted: set[str]) -> dict[str, bytes]:
    """Files of a .tar.gz, read in one pass and into memory: nothing is unpacked to disk."""
    members = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r|gz") as tar:
        for member in tar:
            if member.name in wanted and (opened := tar.extractfile(member)) is not None:
                members[member.name] = opened.read()
    absent = sorted(wanted - set(members))
    if absent:
        raise PriveeError(f"the archive has no {', '.join(absent)}")
    return members


def decode_planes(code: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pixels (n, 3, 32, 32) from planes G, R-G, B-G modulo 256, each differenced along rows, then columns."""
    green, red_less_green, blue_less_green = code.cumsum(2, dtype=np.uint8).cumsum(3, dtype=np.uint8)
    return np.stack([red_less_green + green, green, blue_less_green + green], axis=1)


def read_compact(contents: Mapping[str, bytes], seed: int) -> Parts:
    """The one .npz file of a compact copy; the seed is not used."""
    (packed,) = contents.values()
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:

        def part(name: str) -> tuple[Features, Labels]:
            pixels = decode_planes(arrays[f"x_{name}_code"])
            return pictures_to_unit(pixels), arrays[f"y_{name}"].astype(np.int64)

        names = tuple(str(name) for name in arrays["class_names"])
        return Parts(*part("train"), *part("test"), class_names=names)


TEN = BinaryArchive(
    name="cifar-10-binary.tar.gz",
    train=tuple(f"cifar-10-batches-bin/data_batch_{k}.bin" for k in range(1, 6)),
    test="cifar-10-batches-bin/test_batch.bin",
    class_names="cifar-10-batches-bin/batches.meta.txt",
    label_bytes=1,
)
HUNDRED = BinaryArchive(
    name="cifar-100-binary.tar.gz",
    train=("cifar-100-binary/train.bin",),
    test="cifar-100-binary/test.bin",
    class_names="cifar-100-binary/fine_label_names.txt",
    label_bytes=2,  # coarse, then fine
)


def _info(classes: int, archive: BinaryArchive, official: DataFile, compact: DataFile, pickled: str) -> DatasetInfo:
    return DatasetInfo(
        name=f"cifar{classes}",
        place=30,
        title=f"CIFAR-{classes} photographs",
        rows=60_000,
        columns=_PIXELS,
        classes=classes,
        licence="none stated; cite Krizhevsky 2009",
        home=_HOME + "cifar.html",
        folders=(f"cifar{classes}",),
        pickled=(f"cifar-{classes}-python.tar.gz", pickled),
        picture=(3, 32, 32),
        layouts=(
            Layout("official binary archive", (official,), archive.read),
            Layout(_COMPACT, (compact,), read_compact),
        ),
    )


CIFAR10 = _info(
    10,
    TEN,
    DataFile(
        name=TEN.name,
        sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        md5="c32a1d4ab5d03f1284b67883e8d87530",
        size=170_052_171,
        url=_HOME + TEN.name,
    ),
    DataFile(
        name="cifar10.npz",
        sha256="d16951ad9689e79a67420ee52daa09babcd47e5738b19ce8970a01fd554f4a28",
        size=51_855_194,
    ),
    pickled="cifar-10-batches-py",
)
CIFAR100 = _info(
    100,
    HUNDRED,
    DataFile(
        name=HUNDRED.name,
        sha256="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
        md5="03b5dce01913d631647c71ecec9e9cb8",
        size=168_513_733,
        url=_HOME + HUNDRED.name,
    ),
    DataFile(
        name="cifar100.npz",
        sha256="9f5fdff75ee0f5fb0953c8f97ff09215f859beaff96e639dd10936cca022ee33",
        size=52_764_387,
    ),
    pickled="cifar-100-python",
)

register(CIFAR10)
register(CIFAR100)
