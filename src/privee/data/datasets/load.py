"""Load, fetch and describe datasets by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from privee.data.datasets.base import Dataset, Labels
from privee.data.datasets.fetch import ProgressFunction, download_files, verified_bytes
from privee.data.datasets.info import DatasetInfo
from privee.data.datasets.registry import dataset_info
from privee.data.datasets.search import Found, absence, by_hand, cache_folder, locate
from privee.errors import PriveeError


class Fetched(NamedTuple):
    """Where a dataset's verified files are, and whether they were there before."""

    name: str
    status: str  # "embedded", "already here" or "fetched"
    source: str
    paths: tuple[Path, ...]


def load_dataset(
    name: str,
    *,
    data_dir: Path | None = None,
    fetch: bool = True,
    seed: int = 0,
    progress: ProgressFunction | None = None,
) -> Dataset:
    """Read a dataset; every file is checked against its pinned checksum first.

    Args:
        name: One of `known_datasets()`.
        data_dir: Folder to look in before that of PRIVEE_DATA_DIR and the cache.
        fetch: Whether a dataset that is not found is downloaded into the cache.
        seed: Fixes the split of datasets that have no official one.
        progress: Called with bytes done and bytes in all during a download.

    Example:
        >>> load_dataset("digits").x_train.shape
        (899, 64)
    """
    info = dataset_info(name)
    found = locate(info, data_dir)
    if found is None:
        if not fetch:
            raise PriveeError(absence(info, data_dir))
        found = _download(info, data_dir, progress)
    parts = found.layout.read(_contents(found), seed)
    return Dataset(name=name, source=found.source, **parts._asdict())


def fetch_dataset(name: str, *, data_dir: Path | None = None, progress: ProgressFunction | None = None) -> Fetched:
    """Make sure that a dataset is here and unbroken; downloads it if it is not found."""
    info = dataset_info(name)
    found, status = locate(info, data_dir), "embedded" if info.embedded else "already here"
    if found is None:
        found, status = _download(info, data_dir, progress), "fetched"
    _contents(found)  # raises if one of them is broken
    return Fetched(name, status, found.source, found.paths)


def where_is(name: str, data_dir: Path | None = None) -> tuple[str, str]:
    """`embedded`, `found` or `not here`, and the place in words."""
    info = dataset_info(name)
    found = locate(info, data_dir)
    if found is None:
        return "not here", ""
    return "embedded" if info.embedded else "found", found.source


def describe(name: str, data_dir: Path | None = None) -> dict[str, Any]:
    """What is known of a dataset, and its shapes and class counts if it is here. Nothing is downloaded."""
    where, source = where_is(name, data_dir)
    facts = dataset_info(name).as_dict() | {"where": where, "source": source}
    return facts if where == "not here" else facts | _counted(load_dataset(name, data_dir=data_dir, fetch=False))


def _counted(data: Dataset) -> dict[str, Any]:
    def by_class(labels: Labels) -> dict[str, int]:
        return dict(zip(data.class_names, np.bincount(labels, minlength=data.n_classes).tolist(), strict=True))

    return {
        "x_train": data.x_train.shape,
        "x_test": data.x_test.shape,
        "image_shape": data.image_shape,
        "features": data.n_features,
        "train_counts": by_class(data.y_train),
        "test_counts": by_class(data.y_test),
    }


def _download(info: DatasetInfo, data_dir: Path | None, progress: ProgressFunction | None) -> Found:
    layout = info.layouts[0]
    if not layout.downloadable:
        raise PriveeError(absence(info, data_dir))
    folder = cache_folder().joinpath(*info.folders[:1])
    try:
        download_files([file for file in layout.files if not (folder / file.name).is_file()], folder, progress)
    except PriveeError as error:
        raise PriveeError(f"{error}; try again later, or {by_hand(info, data_dir)}") from None
    return Found(layout, tuple(folder / file.name for file in layout.files))


def _contents(found: Found) -> dict[str, bytes]:
    pairs = zip(found.layout.files, found.paths, strict=True)
    return {file.name: verified_bytes(path, file) for file, path in pairs}
